package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestPeerOriginUnknown: where no initialize of the session has succeeded at this gate,
// nothing is claimed; a request that states its capabilities needs none.
func TestPeerOriginUnknown(t *testing.T) {
	var book logBook
	r := newRecipient()
	g, err := middleware.New(r.server, book.config())
	if err != nil {
		t.Fatal(err)
	}
	for name, send := range peersWithoutInitialize(t, g, r) {
		for _, e := range eras {
			q := call("export", labelX)
			q.caps = `{` + flowForm + `}`
			send(t, e, q)
			want := "unknown"
			if e == modern {
				want = "declared"
			}
			got := book.take(t)
			if len(got) != 1 || got[0].Origin != want {
				t.Errorf("%s, %s: logged %+v, want origin %q", name, e, got, want)
			}
		}
	}
}

// peersWithoutInitialize are the ways to ask without an initialize that counts.
func peersWithoutInitialize(t *testing.T, g *middleware.Gate, r *recipient) map[string]func(*testing.T, era, request) {
	over := func(h http.Handler, err error) *httpLine {
		if err != nil {
			t.Fatal(err)
		}
		return listenHTTP(t, h, r.ran)
	}
	started := func(tr transport.Interface) *inProcessLine {
		if err := tr.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tr.Close() })
		return &inProcessLine{transport: tr, ran: r.ran}
	}
	stateful, stateless := over(g.Handler()), over(g.Handler(server.WithStateLess(true)))
	bare := over(server.NewStreamableHTTPServer(r.server), nil)
	// mcp-go hands out and registers the session of an initialize that fails.
	failing := func(members string) *conversation {
		c := &conversation{namedLine: namedLine{line: stateful}}
		if a := c.initialize(t, members); a.reply(t).Error == nil || c.session == "" {
			t.Errorf("got %s and the session %q", a.messages, c.session)
		}
		return c
	}
	refused, failed := failing(saysOrigin+saysOrigin), failing(`,"capabilities":{"flow":{"origin":true},"extensions":[]}`)
	forgotten := &conversation{namedLine: namedLine{line: stateful}}
	forgotten.initialize(t, saysOrigin)
	forgotten.end(t)
	unwrapped := &conversation{namedLine: namedLine{line: bare}}
	unwrapped.initialize(t, saysOrigin)
	noSession := &conversation{namedLine: namedLine{line: stateless}}
	noSession.initialize(t, saysOrigin)
	noSession.session = "stdio" // where mcp-go checks no ids
	inside := started(g.InProcess())
	insideUnwrapped := startInProcess(t, transport.NewInProcessTransport(r.server), r.ran)
	insideUnwrapped.exchange(t, legacy, initializeWith(saysOrigin))
	return map[string]func(*testing.T, era, request){
		"HTTP, a session of another replica": func(t *testing.T, e era, q request) {
			stateful.exchangeIn(t, e, q, "mcp-session-00000000-0000-4000-8000-000000000000")
		},
		"HTTP, the initialize was ambiguous": func(t *testing.T, e era, q request) { refused.ask(t, e, q) },
		"HTTP, the initialize failed":        func(t *testing.T, e era, q request) { failed.ask(t, e, q) },
		"HTTP, the session has ended":        func(t *testing.T, e era, q request) { forgotten.ask(t, e, q) },
		"HTTP without sessions":              func(t *testing.T, e era, q request) { noSession.ask(t, e, q) },
		"HTTP past the gate":                 func(t *testing.T, e era, q request) { unwrapped.ask(t, e, q) },
		"in process":                         func(t *testing.T, e era, q request) { inside.exchange(t, e, q) },
		"in process, past the gate":          func(t *testing.T, e era, q request) { insideUnwrapped.exchange(t, e, q) },
		"HandleMessage":                      func(t *testing.T, e era, q request) { r.server.HandleMessage(deadline(t), json.RawMessage(q.body(e))) },
		"stdio":                              func(t *testing.T, e era, q request) { listenOnce(t, g, q.body(e)) },
		"stdio, after another connection": func(t *testing.T, e era, q request) {
			listenOnce(t, g, initializeWith(saysOrigin).body(legacy))
			listenOnce(t, g, q.body(e))
		},
	}
}

// listenOnce serves one stdio connection that brings one message.
func listenOnce(t testing.TB, g *middleware.Gate, msg string) {
	t.Helper()
	if err := g.Listen(deadline(t), strings.NewReader(msg+"\n"), io.Discard); err != nil {
		t.Errorf("Listen: %v", err)
	}
}

// TestPeersAreForgotten: a gate keeps what a peer has declared for as long as mcp-go
// keeps the session, and nothing of requests without one.
func TestPeersAreForgotten(t *testing.T) {
	var book logBook
	r := newRecipient()
	g, err := middleware.New(r.server, book.config())
	if err != nil {
		t.Fatal(err)
	}
	want := func(n int, what string) {
		t.Helper()
		if got := middleware.Peers(g); got != n {
			t.Errorf("%s: %d sessions are kept, want %d", what, got, n)
		}
	}
	h, err := g.Handler()
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	var ids []string
	for range 20 {
		c := &conversation{namedLine: namedLine{line: l}}
		c.initialize(t, saysOrigin)
		c.ask(t, legacy, call("export", labelX))
		c.ask(t, modern, call("export", labelX))
		ids = append(ids, c.session)
	}
	want(20, "open over HTTP")
	for _, id := range ids[:15] {
		l.close(t, id)
		l.close(t, id) // twice is nothing
		l.exchangeIn(t, legacy, call("export", labelX), id)
	}
	want(5, "after DELETE")
	h.CloseSessions(context.Background())
	want(0, "after CloseSessions")

	stateless, err := g.Handler(server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 {
		postTo(stateless, context.Background(), initializeWith(saysOrigin).body(legacy))
		postTo(h, gone, initializeWith(saysOrigin).body(legacy)) // the client has not waited
	}
	want(0, "without a session")

	for range 3 {
		listenOnce(t, g, initializeWith(saysOrigin).body(legacy))
		c := g.InProcess()
		if err := c.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		(&inProcessLine{transport: c, ran: r.ran}).exchange(t, legacy, initializeWith(saysOrigin))
		want(1, "in process")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want(0, "after the connections have ended")
}

// postTo sends one body to h without a network.
func postTo(h http.Handler, ctx context.Context, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "http://records.example/mcp", strings.NewReader(body)).WithContext(ctx)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// TestPeersOfStreamsAreForgotten: the end of a stream is the end of its session.
func TestPeersOfStreamsAreForgotten(t *testing.T) {
	r := newRecipient()
	r.hooks.AddOnUnregisterSession(func(context.Context, server.ClientSession) { r.ran.add("hook:unregistered") })
	g, h := serveSSE(t, r.server)
	t.Run("stream", func(t *testing.T) {
		(&conversation{namedLine: namedLine{line: listenSSE(t, h, r.ran)}}).initialize(t, saysOrigin)
		if n := middleware.Peers(g); n != 1 {
			t.Errorf("%d sessions are kept, want 1", n)
		}
	})
	if !r.ran.wait(deadline(t), "hook:unregistered") || middleware.Peers(g) != 0 {
		t.Errorf("%d sessions are kept", middleware.Peers(g))
	}
}

// TestAbandonedPeersAreForgotten: over HTTP a session that nobody ends lives as long as
// mcp-go keeps it, which WithSessionIdleTTL bounds.
func TestAbandonedPeersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 5
		r := newRecipient()
		gone := make(chan struct{}, sessions)
		r.hooks.AddOnUnregisterSession(func(context.Context, server.ClientSession) { gone <- struct{}{} })
		g, err := middleware.New(r.server, config())
		if err != nil {
			t.Fatal(err)
		}
		h, err := g.Handler(server.WithSessionIdleTTL(1), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		for range sessions {
			postTo(h, t.Context(), initializeWith(saysOrigin).body(legacy))
		}
		if n := middleware.Peers(g); n != sessions {
			t.Errorf("%d sessions are kept, want %d", n, sessions)
		}
		for range sessions {
			<-gone // when the bubble's clock gets there
		}
		if n := middleware.Peers(g); n != 0 {
			t.Errorf("%d sessions are kept", n)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPeerOriginOfConcurrentSessions: sessions on all transports at once, of which half
// label. Run it with -race.
func TestPeerOriginOfConcurrentSessions(t *testing.T) {
	var book logBook
	g, _, all := conversations(t, &book)
	web := all[0].line.(*httpLine)
	for range 16 {
		all = append(all, &conversation{namedLine: namedLine{"HTTP JSON", web}})
	}
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			says, says2 := saysOrigin, saysNothing
			if i%2 > 0 {
				says, says2 = saysNothing, saysOrigin
			}
			c.initialize(t, says2)
			defer c.end(t)
			c.end(t)
			c.initialize(t, says)
			for j := range 8 {
				principal := fmt.Sprintf("https://s%d.example/%d", i%2, j)
				c.ask(t, legacy, call("export", `{"contributors":[{"assurance":"unverified","principal":"`+principal+`"}],"complete":true}`))
			}
		})
	}
	wg.Wait()
	got := book.take(t)
	if len(got) != 8*len(all) {
		t.Errorf("%d refusals were logged, want %d", len(got), 8*len(all))
	}
	for _, r := range got {
		want := "declared"
		if strings.Contains(r.Rejected[0], "//s1.") {
			want = "undeclared"
		}
		if r.Origin != want {
			t.Errorf("logged %+v, want origin %q", r, want)
		}
	}
	if n := middleware.Peers(g); n != 3 { // stdio, in process, legacy SSE
		t.Errorf("%d sessions are kept, want 3", n)
	}
}

// TestPeerOriginOfHandlersRequests: an initialize that a handler makes with its own
// context says nothing about the peer, to this server or to another with the same hooks.
func TestPeerOriginOfHandlersRequests(t *testing.T) {
	var book logBook
	r := newRecipient()
	other := server.NewMCPServer("other", "1", server.WithHooks(r.hooks))
	r.server.AddTool(mcp.NewTool("nesting"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, s := range []*server.MCPServer{r.server, other} {
			if e := handled(t, s.HandleMessage(ctx, json.RawMessage(initializeWith(saysOrigin).body(legacy)))); e != nil {
				t.Errorf("initialize: %s", e)
			}
		}
		return mcp.NewToolResultText(""), nil
	})
	_, lines := everywhere(t, r, book.config())
	for _, l := range lines {
		c := &conversation{namedLine: l}
		c.initialize(t, saysNothing)
		if a := c.ask(t, legacy, call("nesting", labelU)); a.reply(t).Error != nil {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		c.ask(t, legacy, call("export", labelX))
		book.wantOrigin(t, "undeclared")
		c.end(t)
	}
}

// oddSession is a session that cannot be a key of a map.
type oddSession struct {
	server.ClientSession
	_ map[string]int
}

func (oddSession) SessionID() string { return "odd" }

// TestPeersOfOddSessions: an author's own kinds of session are served, whatever their
// type; what cannot be told apart is unknown, and one that a handler registers with the
// context of somebody's initialize is not theirs.
func TestPeersOfOddSessions(t *testing.T) {
	var book logBook
	r := newRecipient()
	own := server.NewInProcessSession("own", nil)
	r.hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		r.server.UnregisterSession(ctx, "own")
		if err := r.server.RegisterSession(ctx, own); err != nil {
			t.Error(err)
		}
	})
	g, lines := everywhere(t, r, book.config())
	(&conversation{namedLine: lines[0]}).initialize(t, saysOrigin)
	odd := oddSession{ClientSession: server.NewInProcessSession("odd", nil)}
	before := middleware.Peers(g)
	if err := r.server.RegisterSession(context.Background(), odd); err != nil {
		t.Fatal(err)
	}
	for _, session := range []server.ClientSession{own, odd} {
		ctx := r.server.WithContext(context.Background(), session)
		r.server.HandleMessage(ctx, json.RawMessage(call("export", labelX).body(legacy)))
		book.wantOrigin(t, "unknown")
		r.server.HandleMessage(ctx, json.RawMessage(initializeWith(saysNothing).body(legacy)))
		r.server.HandleMessage(ctx, json.RawMessage(call("export", labelX).body(legacy)))
		book.wantOrigin(t, "unknown")
	}
	r.server.UnregisterSession(context.Background(), "odd")
	if n := middleware.Peers(g); n != before {
		t.Errorf("%d sessions are kept, want %d", n, before)
	}
}
