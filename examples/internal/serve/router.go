package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/mark3labs/mcp-go/mcp"
)

// router builds the routes. Each is one exact path; nothing cleans paths or
// redirects, so there is no second spelling that leads to the endpoint.
func (h *HTTP) router(streams context.Context) http.Handler {
	r := chi.NewRouter()
	r.Use(h.logRequests, h.recoverPanics)
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok\n") // the client went away: nobody to tell
	})
	if h.Calls != nil {
		r.Method(http.MethodGet, "/debug/invocations", h.Calls)
	}
	r.Group(func(r chi.Router) {
		// A page in the user's browser must not be able to call a local server.
		r.Use(http.NewCrossOriginProtection().Handler)
		r.Use(h.Protect...)
		r.Use(boundBody, endWith(streams))
		r.Handle("/mcp", h.MCP)
	})
	return r
}

// logRequests logs one line per request at debug level. It names the route and
// not the path, which is the client's own text.
func (h *HTTP) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor) // keeps Flush, so SSE works
		defer func() {
			h.Log.Debug("request",
				"method", r.Method,
				"route", chi.RouteContext(r.Context()).RoutePattern(),
				"status", ww.Status(),
				"bytes", ww.BytesWritten(),
				"took", time.Since(start))
		}()
		next.ServeHTTP(ww, r)
	})
}

// recoverPanics keeps one bad request from ending a connection without an
// answer. http.ErrAbortHandler is net/http's own signal and passes.
func (h *HTTP) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			h.Log.Error("panic in a handler", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			w.WriteHeader(http.StatusInternalServerError)
		}()
		next.ServeHTTP(w, r)
	})
}

// boundBody limits the size of a request's body and the time it takes to
// arrive, and lifts the deadline once it has: the connection is read on while
// a call streams, to notice that the client went away.
func boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every writer has deadlines
		r.Body = &timedBody{
			ReadCloser: http.MaxBytesReader(w, r.Body, maxBodyBytes),
			done:       func() { _ = rc.SetReadDeadline(time.Time{}) },
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody calls done when the body has been read to its end, or failed.
type timedBody struct {
	io.ReadCloser
	done func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

// endWith cancels the requests that never end by themselves when ctx ends: the
// GET stream of the earlier protocol era and subscriptions/listen of the later
// one, which must name its method in a header. Ordinary calls are left alone,
// so that a shutdown can wait for them.
func endWith(ctx context.Context) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			endless := r.Method == http.MethodGet ||
				r.Header.Get(mcp.HeaderMethod) == string(mcp.MethodSubscriptionsListen)
			if !endless {
				next.ServeHTTP(w, r)
				return
			}
			own, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			next.ServeHTTP(w, r.WithContext(own))
		})
	}
}
