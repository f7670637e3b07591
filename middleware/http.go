package middleware

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// HTTPHandler serves a gated server over Streamable HTTP, in both protocol eras.
// It is an http.Handler for net/http, chi and anything else that takes one.
type HTTPHandler struct {
	gate *Gate
	http *server.StreamableHTTPServer
}

// Handler makes the gate for s and an HTTP handler in one line. It takes the
// place of server.NewStreamableHTTPServer, with the same options.
func Handler(s *server.MCPServer, cfg Config, opts ...server.StreamableHTTPOption) (*HTTPHandler, error) {
	h, stored, optErr := newStreamable(s, cfg.Overrides.Mode.Or(cfg.Mode), opts)
	if optErr != nil {
		// Before the gate is in s, so that the caller may mend it and try again.
		return nil, optErr
	}
	g, err := New(s, cfg)
	if err != nil {
		return nil, err
	}
	return g.newHandler(h, stored)
}

// newHandler takes over a transport. One with resumable streams is served only as long as
// the gate is off.
func (g *Gate) newHandler(h *server.StreamableHTTPServer, stored bool) (*HTTPHandler, error) {
	if stored {
		g.reg.mu.Lock()
		defer g.reg.mu.Unlock()
		if st := g.now(); st.publishes() {
			_ = h.Shutdown(context.Background())
			return nil, fmt.Errorf("flowgate: %w", errResumable)
		}
		g.reg.resumable = true
	}
	return &HTTPHandler{gate: g, http: h}, nil
}

// newStreamable makes mcp-go's transport and refuses what the gate does not cover. stored
// says that its streams can be resumed.
func newStreamable(s *server.MCPServer, mode Mode, opts []server.StreamableHTTPOption) (h *server.StreamableHTTPServer, stored bool, err error) {
	h = server.NewStreamableHTTPServer(s, opts...)
	stored, err = hasEventStore(h)
	if err == nil && (!stored || mode == DangerouslyOff) {
		return h, stored, nil
	}
	if err == nil {
		err = errResumable
	}
	_ = h.Shutdown(context.Background()) // only to stop what the options may have started
	return nil, stored, fmt.Errorf("flowgate: %w", err)
}

// errResumable says why streams cannot be resumed.
var errResumable = &flowerrors.ConfigError{
	Path: "options.WithEventStore", Reason: flowerrors.ReasonUnsupported,
	Detail: "answers on a resumed stream do not pass the gate",
	Hint:   "leave WithEventStore out",
}

// MustHandler is [Handler] for wiring code that has nothing better to do with a
// mistake than to stop: it panics with the error.
func MustHandler(s *server.MCPServer, cfg Config, opts ...server.StreamableHTTPOption) *HTTPHandler {
	h, err := Handler(s, cfg, opts...)
	if err != nil {
		panic(err)
	}
	return h
}

// Handler returns an HTTP handler for the gated server.
//
// Resumable streams are refused here, unless the gate is off and stays so: what
// WithEventStore stores, and what a resumed stream is sent, does not pass the gate's way out.
func (g *Gate) Handler(opts ...server.StreamableHTTPOption) (*HTTPHandler, error) {
	if !g.made() {
		return nil, errZeroGate
	}
	h, stored, err := newStreamable(g.server, g.now().server, opts)
	if err != nil {
		return nil, err
	}
	return g.newHandler(h, stored)
}

// ServeHTTP serves one HTTP request. The zero HTTPHandler answers every request with
// status 500.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.gate.made() {
		http.Error(w, string(errBroken), http.StatusInternalServerError)
		return
	}
	if r.Method != http.MethodPost {
		// Only a POST carries requests of a client, and only its answer
		// carries theirs.
		h.http.ServeHTTP(w, r)
		return
	}
	out := &responseWriter{
		ResponseWriter: w, gate: h.gate,
		modern:     mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)),
		connection: w.Header()["Connection"], cacheControl: w.Header()["Cache-Control"],
	}
	out.edge.gate, out.edge.version = h.gate, r.Header.Get(mcp.HeaderProtocolVersion)
	defer out.edge.conclude() // also if a handler panics
	r = r.WithContext(h.gate.withEdge(r.Context(), &out.edge))
	if !h.gate.hooksIntact() {
		if done := h.withoutDoor(w, r, &out.edge); done {
			return
		}
	}
	var writer http.ResponseWriter = out
	if f, ok := w.(http.Flusher); ok {
		writer = flushWriter{out, f}
	}
	h.http.ServeHTTP(writer, r)
	out.finish()
}

// withoutDoor handles a request when mcp-go does not run the gate's hooks: a
// gated one is answered here, before mcp-go sees it. r is the handler's own copy.
func (h *HTTPHandler) withoutDoor(w http.ResponseWriter, r *http.Request, edge *singleEdge) bool {
	if r.Body == nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return true
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer, passed := h.gate.standIn(r.Context(), body)
	if answer == nil {
		req, _ := wire.ReadRequest(body)
		passed.mark(edge.open(req.ID, about{}))
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(answer, '\n'))
	return true
}

// standIn is the door's stand-in at the edge when the hooks are not in order: it
// returns the error for a message that the door would have judged. If the mode lets that
// pass all the same, it returns what the entry of the message has to know.
func (g *Gate) standIn(ctx context.Context, msg []byte) (answer []byte, passed *visit) {
	v := &visit{gate: g, ctx: ctx, now: g.now()}
	v.mode = v.now.floor()
	v.req, v.err = wire.ReadRequest(msg)
	if v.err == nil && (!gated(v.req.Method) || v.req.IDKind == wire.IDNone) {
		return nil, nil
	}
	if v.object(decision.Fault, decision.ReasonSeams, errHooks) == nil {
		if v.mode != DangerouslyOff {
			g.tell(ctx, v.now, *v.entry().finding, v.details(nil))
		}
		return nil, v
	}
	return g.appendAnswer(nil, v.req.ID, outcome{fate: fail}), nil
}

// mark tells an entry of a message that a stand-in has let pass; v is nil for one that the
// door does not judge either. The door, if it still runs, takes the same entry.
func (v *visit) mark(n *entry) {
	if n == nil {
		return
	}
	if v != nil {
		n.ctx, n.now, n.mode, n.about = v.ctx, v.now, v.mode, aboutRequest(&v.req)
		n.gated, n.standIn = true, true
		n.concluded.Store(true)
	}
	n.see()
}

// Gate returns the gate, to apply overrides to it while it serves, to flush its records, or
// to serve the same server on another transport. It is nil for the zero HTTPHandler.
func (h *HTTPHandler) Gate() *Gate { return h.gate }

// Shutdown stops the server as server.StreamableHTTPServer.Shutdown does.
func (h *HTTPHandler) Shutdown(ctx context.Context) error { return h.http.Shutdown(ctx) }

// CloseSessions ends all sessions as server.StreamableHTTPServer.CloseSessions
// does, so that an http.Server can shut down while clients listen.
func (h *HTTPHandler) CloseSessions(ctx context.Context) { h.http.CloseSessions(ctx) }
