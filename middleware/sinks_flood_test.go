package middleware_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestFloodLeavesNothing: thousands of refused requests with ids of their own and then a
// handler that panics have one record each, and nothing of them is kept (case 7). It is
// the legacy transport, on which requests are found again by their ids.
func TestFloodLeavesNothing(t *testing.T) {
	const n = middleware.ManyRequests
	book := newRecordBook()
	r := newWatched(func(context.Context, string) { panic("no luck") })
	g, err := middleware.New(r.server, book.config())
	if err != nil {
		t.Fatal(err)
	}
	h, err := g.SSE()
	if err != nil {
		t.Fatal(err)
	}
	l := listenSSE(t, h, r.ran)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < n; i += 4 {
				req := watchedRequests[i%len(watchedRequests)].request.with([]string{labelX, "", labelMalformed}[i%3])
				req.id = strconv.Itoa(i)
				l.send(t, req.body(eras[i%2]))
			}
		})
	}
	for range n {
		if m := string(l.next(t)); !strings.Contains(m, keyFlowViolation) {
			t.Fatalf("%s", m)
		}
	}
	all.Wait()
	// On this transport mcp-go recovers from no panic; over HTTP net/http does.
	url, end := quietHTTP(t, g)
	req := call("tool", labelU)
	req.id = `"panics"`
	if err := postAnyhow(t, deadline(t), url, legacy, req); err == nil {
		t.Error("the panic was answered")
	}
	end()
	records := byID(book.take(t, n+1))
	for id, list := range records {
		if len(list) != 1 || (list[0].Verdict == decision.Accepted) != (id == req.id) || list[0].Requests() != 1 {
			t.Errorf("%s: %v", id, list)
		}
	}
	if len(records) != n+1 {
		t.Errorf("%d requests have records, want %d", len(records), n+1)
	}
	if left := middleware.Pending(h); left != 0 {
		t.Errorf("%d requests are kept", left)
	}
}

// TestNotificationsHaveNoRecord: a message without an id, or with null for one, is no
// request: it runs nothing and has no record (cases 21 and 22).
func TestNotificationsHaveNoRecord(t *testing.T) {
	book := newRecordBook()
	r := newRecipient()
	_, lines := everywhere(t, r, book.config())
	for _, l := range lines {
		for _, e := range eras {
			session := ""
			if web, ok := l.line.(*httpLine); ok && e == legacy {
				session = web.open(t)
			}
			for _, rt := range routes {
				for _, id := range []string{``, `"id":null,`} {
					body := strings.Replace(rt.request.with(labelU).body(e), `"id":1,`, id, 1)
					switch l := l.line.(type) {
					case *stdioLine:
						l.send(t, body)
						if a := l.flush(t, answer{}); len(a.messages) != 0 {
							t.Errorf("%s was answered %s", body, a.messages)
						}
					case *httpLine:
						resp := l.post(t, deadline(t), body, headers(e, rt.request, session))
						if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted || len(b) > 0 || err != nil {
							t.Errorf("%s was answered %d %s, %v", body, resp.StatusCode, b, err)
						}
						resp.Body.Close()
					}
				}
			}
		}
	}
	sameCounts(t, r.ran.take())
	if all := book.peek(); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

// TestNestedRequestsHaveTheirOwn: a request that a handler makes has a record of its own,
// also under the id of the outer one.
func TestNestedRequestsHaveTheirOwn(t *testing.T) {
	book := newRecordBook()
	r := newRecipient()
	nesting(r)
	_, lines := everywhere(t, r, book.config())
	for _, l := range lines {
		for _, e := range eras {
			for _, id := range []string{`"outer"`, `"inner"`} {
				inner := call("export", labelX)
				inner.id = id
				outer := nest(inner.body(legacy), labelU)
				outer.id = `"outer"`
				l.line.exchange(t, e, outer)
				got := book.take(t, 2)
				if len(got) != 2 || got[0].RequestID != outer.id || got[0].Verdict != decision.Accepted || got[0].Target != "nest" ||
					got[1].RequestID != id || got[1].Verdict != decision.Refused || got[1].Target != "export" {
					t.Errorf("on %s in %s: %v", l.name, e, got)
				}
			}
		}
	}
}

// snkTurnstile is a log handler that waits.
type snkTurnstile struct {
	snkTap
	at, release chan struct{}
}

func newTurnstile() *snkTurnstile {
	return &snkTurnstile{snkTap: snkTap{lines: map[string]int{}}, at: make(chan struct{}), release: make(chan struct{})}
}

// Handle waits with the line of the request that is called "blocked".
func (h *snkTurnstile) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == decision.KeyID && a.Value.String() == `"blocked"` {
			close(h.at)
			<-h.release
		}
		return true
	})
	return h.snkTap.Handle(ctx, r)
}

func (h *snkTurnstile) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *snkTurnstile) WithGroup(string) slog.Handler      { return h }

// TestBlockedLogger: a request waits for its log line, so a logger that blocks holds it up,
// before the handler runs, while others go on and every sink has all records.
func TestBlockedLogger(t *testing.T) {
	for _, kind := range []string{"stdio", "legacy SSE", "HTTP"} {
		for _, label := range []string{labelU, labelX} {
			for _, blocked := range []request{call("export", label), read("records://customers", label)} {
				t.Run(kind+"/"+blocked.method, func(t *testing.T) {
					b := blockLogger(t, kind, blocked)
					for range 3 {
						b.send(b.other)
						if m := b.next(); !strings.Contains(m, "search ran") {
							t.Errorf("while the logger blocks: %s", m)
						}
					}
					sameCounts(t, b.r.ran.take(), "search", "search", "search")
					close(b.turnstile.release)
					if m := b.next(); !strings.Contains(m, `"blocked"`) || strings.Contains(m, `"result"`) != (label == labelU) {
						t.Errorf("the answer is %s", m)
					}
					if ran := len(b.r.ran.take()); ran != map[string]int{labelU: 1}[label] {
						t.Errorf("ran %d", ran)
					}
				})
			}
		}
	}
}

// TestBlockedLoggerAtTheWayOut: the record of a request that mcp-go turns away before any
// seam sees it is made where the answer leaves. On stdio and legacy SSE all answers of a
// connection leave by one way, so there the answers of others, which run meanwhile, wait
// with it.
func TestBlockedLoggerAtTheWayOut(t *testing.T) {
	for _, kind := range []string{"stdio", "legacy SSE"} {
		t.Run(kind, func(t *testing.T) {
			b := blockLogger(t, kind, request{method: "tools/call", params: `"name":7`, label: labelU})
			b.send(b.other)
			if !b.r.ran.wait(deadline(t), "search") {
				t.Fatal("another request does not run")
			}
			b.book.take(t, 1)
			close(b.turnstile.release)
			if m := b.next(); !strings.Contains(m, `"blocked"`) {
				t.Errorf("the first answer is %s", m)
			}
			if m := b.next(); !strings.Contains(m, "search ran") {
				t.Errorf("the second answer is %s", m)
			}
		})
	}
}

// blockedLine is a connection with a request whose log line waits.
type blockedLine struct {
	r         *recipient
	book      *recordBook
	turnstile *snkTurnstile
	other     request // that may go on
	send      func(request)
	next      func() string
}

func blockLogger(t *testing.T, kind string, blocked request) *blockedLine {
	t.Helper()
	b := &blockedLine{r: newRecipient(), book: newRecordBook(), turnstile: newTurnstile(), other: call("search", labelU)}
	cfg := b.book.config()
	cfg.Logger = slog.New(b.turnstile)
	g, err := middleware.New(b.r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.send, b.next = snkLine(t, kind, b.r, g)
	blocked.id = `"blocked"`
	b.send(blocked)
	<-b.turnstile.at
	if rec := b.book.one(t); rec.RequestID != blocked.id {
		t.Errorf("%v", rec)
	}
	sameCounts(t, b.r.ran.take())
	return b
}

// snkLine returns ways to send a request and to wait for the next answer.
func snkLine(t *testing.T, kind string, r *recipient, g *middleware.Gate) (send func(request), next func() string) {
	t.Helper()
	var l *stdioLine
	switch kind {
	case "stdio":
		l = listenPipe(t, r, g)
	case "legacy SSE":
		h, err := g.SSE()
		if err != nil {
			t.Fatal(err)
		}
		l = listenSSE(t, h, r.ran)
	default:
		h, err := g.Handler()
		if err != nil {
			t.Fatal(err)
		}
		web, answers := listenHTTP(t, h, r.ran), make(chan string, 10)
		return func(rq request) { go func() { answers <- web.exchange(t, modern, rq).raw }() }, func() string { return <-answers }
	}
	return func(rq request) { l.send(t, rq.body(legacy)) }, func() string { return string(l.next(t)) }
}

// floodServer is a gate over a server with one tool, for counting what a refusal costs.
func floodServer(t testing.TB, cfg middleware.Config) func() {
	t.Helper()
	r := newRecipient()
	if _, err := middleware.New(r.server, cfg); err != nil {
		t.Fatal(err)
	}
	msg := json.RawMessage(call("export", labelX).body(legacy))
	return func() {
		if _, refused := r.server.HandleMessage(context.Background(), msg).(mcp.JSONRPCError); !refused {
			t.Fatal("it was not refused")
		}
	}
}
