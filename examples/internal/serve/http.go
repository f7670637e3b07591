package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
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
	Open    string                            // the warning for an address that others reach; empty if Protect asks who calls
	Calls   *Invocations
	Log     *slog.Logger
	Stderr  io.Writer     // gets the line "listening on …"
	Drain   time.Duration // how long a shutdown waits for calls; 0 means 5 seconds
}

// Run listens on addr until ctx ends and then shuts down gracefully: no new
// connection, streams closed, calls in flight finished or, when they take too
// long, cancelled. Without a token to ask for, whoever reaches the address is
// served, so Run warns with h.Open when that is not only this machine.
func (h *HTTP) Run(ctx context.Context, addr string) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return errors.Join(listenError(err), h.MCP.Shutdown(ctx))
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
	host, local := callable(ln.Addr())
	if h.Open != "" && !local {
		h.Log.Warn(h.Open, "address", ln.Addr().String())
	}
	fmt.Fprintf(h.Stderr, "listening on http://%s/mcp\n", host)

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

// listenError adds what to do about err, which begins with "listen" by itself.
func listenError(err error) error {
	var malformed *net.AddrError
	switch {
	case errors.As(err, &malformed):
		return fmt.Errorf("%w; use host:port, such as 127.0.0.1:8080", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; use another port, or port 0 for a free one", err)
	}
	return err
}

// callable returns the host and port that a client on this machine can call,
// and whether only such a client can. An unspecified address (0.0.0.0 or ::)
// stands for all of the machine's and is no destination; 127.0.0.1 is one of
// them, and unlike ::1 it is there in most containers too.
func callable(addr net.Addr) (host string, local bool) {
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case !ok:
		return addr.String(), false
	case tcp.IP.IsUnspecified():
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port), false
	}
	return addr.String(), tcp.IP.IsLoopback()
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
