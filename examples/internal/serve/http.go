package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// readHeaderTimeout and bodyTimeout bound a client that sends slowly.
	// http.Server.ReadTimeout would do both, but it also cancels the context
	// of a call that is still streaming when it expires.
	readHeaderTimeout = 10 * time.Second
	bodyTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	maxBodyBytes      = 16 << 20

	// drainTimeout is how long a shutdown waits for calls in flight before it
	// cancels them, closeTimeout how much longer before it cuts connections.
	drainTimeout = 5 * time.Second
	closeTimeout = 2 * time.Second
)

// Endpoint is an MCP endpoint that keeps sessions: [middleware.HTTPHandler].
type Endpoint interface {
	http.Handler
	Shutdown(context.Context) error
}

// HTTP serves one MCP endpoint at /mcp, /healthz, and /debug/invocations if
// Calls is set. There is no write timeout: an SSE stream is one long write.
type HTTP struct {
	MCP     Endpoint
	Protect []func(http.Handler) http.Handler // around /mcp only, outermost first
	Calls   *Invocations
	Log     *slog.Logger
	Stderr  io.Writer     // gets the line "listening on …"
	Drain   time.Duration // how long a shutdown waits for calls; 0 means 5 seconds
}

// Run listens on addr until ctx ends and then shuts down gracefully: no new
// connection, streams closed, calls in flight finished or, when they take too
// long, cancelled. The address must be chosen with care: without a token to
// ask for, whoever reaches it is served.
func (h *HTTP) Run(ctx context.Context, addr string) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), h.MCP.Shutdown(ctx))
	}
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	srv := &http.Server{
		Handler:           h.router(streams),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn),
	}
	fmt.Fprintf(h.Stderr, "listening on http://%s/mcp\n", ln.Addr())

	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err = <-served: // the listener failed
		return errors.Join(err, h.MCP.Shutdown(context.WithoutCancel(ctx)))
	case <-ctx.Done():
	}
	h.Log.Info("shutting down")
	endStreams()
	err = h.shutdown(srv, endCalls)
	<-served
	return err
}

// shutdown drains srv. It works with its own deadline, since the context that
// asked for it is over already.
func (h *HTTP) shutdown(srv *http.Server, endCalls func()) error {
	drain := h.Drain
	if drain == 0 {
		drain = drainTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain+closeTimeout)
	defer cancel()
	timer := time.AfterFunc(drain, endCalls)
	defer timer.Stop()

	err := h.MCP.Shutdown(ctx) // ends the sessions and their GET streams
	if stuck := srv.Shutdown(ctx); stuck != nil {
		err = errors.Join(err, fmt.Errorf("calls still running at shutdown: %w", stuck), srv.Close())
	}
	return err
}
