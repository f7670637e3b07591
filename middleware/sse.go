package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// SSEHandler serves a gated server over the legacy HTTP+SSE transport of 2024-11-05,
// on which a client posts its requests and reads the answers from one long stream.
type SSEHandler struct {
	gate *Gate
	sse  *server.SSEServer

	streams sync.Map // session id -> *sseStream
}

// SSE returns a handler for the legacy HTTP+SSE transport. It takes the place of
// server.NewSSEServer, with the same options, for clients that know nothing newer;
// others are better served by [Gate.Handler].
func (g *Gate) SSE(opts ...server.SSEOption) (*SSEHandler, error) {
	if !g.made() {
		return nil, errZeroGate
	}
	return &SSEHandler{gate: g, sse: server.NewSSEServer(g.server, opts...)}, nil
}

// ServeHTTP serves both endpoints at the paths that the options name. The zero
// SSEHandler answers every request with status 500.
func (h *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve(h.sse, w, r) }

// SSEHandler returns a handler for the stream alone, for a router that mounts it at
// a path of its own.
func (h *SSEHandler) SSEHandler() http.Handler { return h.around(h.sse.SSEHandler()) }

// MessageHandler returns a handler for the messages alone, for a router that mounts
// it at a path of its own.
func (h *SSEHandler) MessageHandler() http.Handler { return h.around(h.sse.MessageHandler()) }

// Gate returns the gate, as [HTTPHandler.Gate] does.
func (h *SSEHandler) Gate() *Gate { return h.gate }

// Shutdown stops the server as server.SSEServer.Shutdown does.
func (h *SSEHandler) Shutdown(ctx context.Context) error { return h.sse.Shutdown(ctx) }

// CloseSessions ends all streams as server.SSEServer.CloseSessions does.
func (h *SSEHandler) CloseSessions() { h.sse.CloseSessions() }

func (h *SSEHandler) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(next, w, r) })
}

func (h *SSEHandler) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.gate.made():
		http.Error(w, string(errBroken), http.StatusInternalServerError)
	case r.Method == http.MethodGet:
		h.serveStream(next, w, r)
	case r.Method == http.MethodPost:
		h.serveMessage(next, w, r)
	default:
		next.ServeHTTP(w, r)
	}
}

// serveStream serves the stream on which answers leave. mcp-go names its session in
// a hook that has the stream's context.
func (h *SSEHandler) serveStream(next http.Handler, w http.ResponseWriter, r *http.Request) {
	s := &sseStream{ResponseWriter: w, edge: newStreamEdge(h.gate)}
	s.flusher, _ = w.(http.Flusher)
	s.edge.joined = func(id string) {
		// The first is the stream's own. A handler of a posted message may open others
		// with the context that it was given.
		s.once.Do(func() {
			s.session = id
			h.streams.Store(id, s)
		})
	}
	defer func() {
		s.end()
		h.streams.CompareAndDelete(s.session, s)
		s.edge.conclude()
	}()
	var out http.ResponseWriter = s
	if s.flusher != nil {
		out = flushingStream{s}
	}
	next.ServeHTTP(out, r.WithContext(h.gate.withEdge(r.Context(), s.edge)))
}

// serveMessage notes what a posted message asks for before mcp-go answers it on the
// stream.
func (h *SSEHandler) serveMessage(next http.Handler, w http.ResponseWriter, r *http.Request) {
	v, ok := h.streams.Load(r.URL.Query().Get("sessionId"))
	if !ok {
		next.ServeHTTP(w, r) // mcp-go knows no such session either
		return
	}
	s := v.(*sseStream)
	r = r.WithContext(h.gate.withEdge(r.Context(), s.edge))
	// mcp-go takes the first JSON value and leaves what follows.
	var (
		msg  json.RawMessage
		read bytes.Buffer
	)
	body := &notingReader{Reader: r.Body}
	err := json.NewDecoder(io.TeeReader(body, &read)).Decode(&msg)
	r.Body = rest{io.MultiReader(&read, body), r.Body}
	if err == nil {
		intact := h.gate.hooksIntact()
		var passed *visit
		if !intact {
			var answer []byte
			if answer, passed = h.gate.standIn(r.Context(), msg); answer != nil {
				w.WriteHeader(http.StatusAccepted)
				s.send(answer)
				return
			}
		}
		if n := s.edge.register(msg); n != nil {
			if !intact {
				passed.mark(n)
			}
			status := &statusWriter{ResponseWriter: w}
			defer func() {
				if status.code != http.StatusAccepted {
					s.edge.withdraw(n) // turned away, so nothing will answer it
				}
			}()
			w = status
		}
	}
	next.ServeHTTP(w, r)
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	code int // 0 before there is one
}

// WriteHeader notes the first status that is final.
func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 && code >= http.StatusOK {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rest is a body of which a part was read already.
type rest struct {
	io.Reader
	io.Closer
}

// notingReader ends for good as it has ended once.
type notingReader struct {
	io.Reader
	err error
}

// Read reads, or returns the error that ended the reader before.
func (r *notingReader) Read(p []byte) (n int, err error) {
	if r.err == nil {
		n, r.err = r.Reader.Read(p)
	}
	return n, r.err
}

// sseStream is the way out of one stream. mcp-go writes one event at a time.
type sseStream struct {
	http.ResponseWriter
	edge    *streamEdge
	flusher http.Flusher // nil when the writer below cannot flush
	once    sync.Once
	session string // set once, by mcp-go's hook, in the goroutine that serves the stream

	mu    sync.Mutex
	ended bool
}

// flushingStream is an sseStream over a writer that can flush.
type flushingStream struct{ *sseStream }

// Flush sends what is written so far.
func (s flushingStream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flusher.Flush()
}

// Unwrap lets http.ResponseController reach deadlines and the like.
func (s *sseStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write passes one event on, or what replaces the answer in it.
func (s *sseStream) Write(event []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := event
	if strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		data := eventData(event)
		if resp := wire.ReadResponse(data); resp.Kind != wire.Other {
			if replacement := s.edge.answer(data, resp); replacement != nil {
				out = messageEvent(replacement)
			}
		}
	}
	if _, err := s.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(event), nil
}

// send writes an answer of the gate's own.
func (s *sseStream) send(answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		_, _ = s.ResponseWriter.Write(messageEvent(answer))
		if s.flusher != nil {
			s.flusher.Flush()
		}
	}
}

// end keeps others from writing once the stream is over.
func (s *sseStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// messageEvent frames one message as mcp-go does.
func messageEvent(msg []byte) []byte {
	return append(append([]byte("event: message\ndata: "), msg...), "\n\n"...)
}
