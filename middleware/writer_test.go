package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// mute is a writer that cannot flush.
type mute struct{ http.ResponseWriter }

func muted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(mute{w}, r) })
}

// TestWriterThatCannotFlush: mcp-go answers with one JSON body where it cannot
// stream and refuses a GET, with the gate as without.
func TestWriterThatCannotFlush(t *testing.T) {
	r, c, leave := newRecipient(), newRecipient(), make(chan struct{})
	close(leave)
	slow(r, leave)
	slow(c, leave)
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, muted(h), r.ran)
	control := listenHTTP(t, muted(server.NewStreamableHTTPServer(plain(c.server))), c.ran)
	for _, e := range eras {
		a := l.exchange(t, e, call("slow", labelU))
		if a.contentType != "application/json" {
			t.Errorf("%s %s", a.contentType, a.messages)
		}
		sameAnswer(t, a, control.exchange(t, e, call("slow", labelU)))
		r.ran.take()
		checkRefused(t, namedLine{"HTTP JSON", l}, e, l.exchange(t, e, call("slow", labelX)), "1", refusal(rejectedX, byDefault))
	}
	for _, l := range []*httpLine{l, control} {
		resp, err := l.client.Get(l.url)
		if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET: %v %v", resp, err)
		}
		resp.Body.Close()
	}
}

// TestRequestsWithoutABody: net/http gives a server's handler a body always; other
// callers may not. No panic, with the hooks in place or not.
func TestRequestsWithoutABody(t *testing.T) {
	for _, whole := range []bool{true, false} {
		r := newRecipient()
		h, err := middleware.Handler(r.server, config())
		if err != nil {
			t.Fatal(err)
		}
		if !whole {
			server.WithHooks(nil)(r.server)
		}
		for _, m := range []string{"POST", "GET", "DELETE", "HEAD", "OPTIONS", "PUT", ""} {
			ctx := deadline(t)
			if m == "GET" {
				continue // a stream without an end
			}
			w := httptest.NewRecorder()
			req := (&http.Request{Method: m, URL: &url.URL{Path: "/"}, Header: http.Header{"Content-Type": {"application/json"}}}).WithContext(ctx)
			h.ServeHTTP(w, req)
			if m == "POST" && w.Code == http.StatusOK && w.Body.Len() == 0 {
				t.Errorf("%d %q", w.Code, w.Body)
			}
		}
	}
}

// TestOff: with the gate off nothing is judged and every answer is mcp-go's own.
func TestOff(t *testing.T) {
	cfg := config()
	cfg.Mode = middleware.DangerouslyOff
	_, lines := everywhere(t, newRecipient(), cfg)
	control := newRecipient()
	in := startInProcess(t, inProcessControl(control), control.ran)
	for _, l := range lines {
		for _, rt := range routes {
			if rt.endless || len(rt.effects) > 0 {
				continue
			}
			got, want := l.line.exchange(t, modern, rt.request.with(labelX)).reply(t), in.exchange(t, modern, rt.request.with(labelX)).reply(t)
			if got.Error != nil || l.name == "in process" && string(got.Result) != string(want.Result) {
				t.Errorf("%s on %s: %s %s", rt.name, l.name, got.Result, got.Error)
			}
			sameCounts(t, l.line.took(t), rt.runs)
		}
	}
}
