package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// bare is a way to serve a gated server past the gate's own transports. send
// returns the error object of the answer, nil for a result.
type bare struct {
	name string
	eras []era
	send func(t *testing.T, e era, r request) json.RawMessage
}

// TestUnwrappedTransports: a transport that is not wrapped still runs nothing that
// the policy refuses, and everything that it accepts; only the refusal's form is
// poorer (G6, cases 39 and 44).
func TestUnwrappedTransports(t *testing.T) {
	r := newRecipient()
	if _, err := middleware.New(r.server, config()); err != nil {
		t.Fatal(err)
	}
	for _, b := range bareTransports(t, r) {
		for _, e := range b.eras {
			for _, rt := range routes {
				if rt.endless {
					continue // see TestUnwrappedListen
				}
				for _, lb := range labels {
					t.Run(b.name+"/"+string(e)+"/"+rt.name+"/"+lb.name, func(t *testing.T) {
						object := b.send(t, e, rt.request.with(lb.label))
						if lb.refusalFor(rt.policy) != "" {
							if object == nil {
								t.Error("a result")
							}
							sameCounts(t, r.ran.take())
							return
						}
						checkBareAccepted(t, r, rt, e, object)
					})
				}
			}
		}
	}
}

func checkBareAccepted(t *testing.T, r *recipient, rt route, e era, object json.RawMessage) {
	if rt.only != "" && rt.only != e {
		r.ran.take()
		return
	}
	if object != nil {
		t.Errorf("error %s", object)
	}
	want := rt.effects
	if rt.runs != "" {
		want = append([]string{rt.runs}, want...)
	}
	if len(want) > 2 && !r.ran.wait(deadline(t), "task:ended") {
		t.Error("the task did not end")
	}
	sameCounts(t, r.ran.take(), want...)
}

// bareTransports lists the ways. StreamableHTTPServer.Start mounts the same
// handler as ServeHTTP.
func bareTransports(t *testing.T, r *recipient) []bare {
	web := server.NewStreamableHTTPServer(r.server)
	l := listenHTTP(t, web, r.ran)
	return []bare{
		{"ServeHTTP", eras, func(t *testing.T, e era, req request) json.RawMessage {
			return l.exchange(t, e, req).reply(t).Error
		}},
		{"Handle", []era{modern}, func(t *testing.T, e era, req request) json.RawMessage {
			h := headers(e, req, "")
			h.Set("Content-Type", "application/json")
			w := &bufferWriter{header: http.Header{}}
			web.Handle(w, &server.HTTPRequest{Method: "POST", Header: h, Body: []byte(req.body(e)), Context: deadline(t)})
			var got envelope
			if err := json.Unmarshal(w.body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %q", err, w.body.String())
			}
			return got.Error
		}},
		{"HandleMessage", eras, func(t *testing.T, e era, req request) json.RawMessage {
			return handled(t, r.server.HandleMessage(deadline(t), json.RawMessage(req.body(e))))
		}},
		{"in process", eras, func() func(*testing.T, era, request) json.RawMessage {
			in := startInProcess(t, transport.NewInProcessTransport(r.server), r.ran)
			return func(t *testing.T, e era, req request) json.RawMessage { return in.exchange(t, e, req).reply(t).Error }
		}()},
		{"SSE", []era{legacy}, legacySSE(t, r)},
	}
}

// handled returns the error object of a message that HandleMessage made.
func handled(t testing.TB, m mcp.JSONRPCMessage) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got envelope
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	return got.Error
}

// legacySSE serves r with mcp-go's older transport.
func legacySSE(t *testing.T, r *recipient) func(*testing.T, era, request) json.RawMessage {
	s := server.NewSSEServer(r.server)
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	c, err := transport.NewSSE(ts.URL + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	id := int64(0)
	return func(t *testing.T, e era, req request) json.RawMessage {
		id++
		resp, err := c.SendRequest(deadline(t), transport.JSONRPCRequest{
			JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: req.method, Params: json.RawMessage(req.paramsJSON(e)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Error == nil {
			return nil
		}
		b, _ := json.Marshal(resp.Error)
		return b
	}
}

// bufferWriter is what a framework other than net/http gives to Handle.
type bufferWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *bufferWriter) Header() http.Header         { return w.header }
func (w *bufferWriter) WriteHeader(status int)      { w.status = status }
func (w *bufferWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *bufferWriter) Flush()                      {}
func (w *bufferWriter) CanStream() bool             { return false }

// TestUnwrappedListen: the door refuses a listen on any transport.
func TestUnwrappedListen(t *testing.T) {
	r := newRecipient()
	if _, err := middleware.New(r.server, config()); err != nil {
		t.Fatal(err)
	}
	listen := routes[11].request
	if listen.method != "subscriptions/listen" {
		t.Fatal("the table of routes has changed")
	}
	l := listenHTTP(t, server.NewStreamableHTTPServer(r.server), r.ran)
	for _, lb := range []string{labelX, labelV, labelNone} {
		if got := l.exchange(t, modern, listen.with(lb)).reply(t); got.Error == nil {
			t.Errorf("%s: %s", lb, got.Result)
		}
		if got := handled(t, r.server.HandleMessage(deadline(t), json.RawMessage(listen.with(lb).body(modern)))); got == nil {
			t.Errorf("%s: a result", lb)
		}
		sameCounts(t, r.ran.take())
	}
}

// TestEventStoreIsRefused: resumable streams are refused at construction, with the
// reason, and accepted when the gate is off.
func TestEventStoreIsRefused(t *testing.T) {
	store := server.WithEventStore(server.NewInMemoryEventStore())
	h, err := middleware.Handler(newRecipient().server, config(), store)
	if h != nil || err == nil {
		t.Fatalf("%v, %v", h, err)
	}
	wantMistakes(t, err, "options.WithEventStore")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("MustHandler did not panic")
			}
		}()
		middleware.MustHandler(newRecipient().server, config(), store)
	}()
	cfg := config()
	cfg.Mode = middleware.DangerouslyOff
	if h, err := middleware.Handler(newRecipient().server, cfg, store); h == nil || err != nil {
		t.Errorf("off: %v, %v", h, err)
	}
}
