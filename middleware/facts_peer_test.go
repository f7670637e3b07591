package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mcp-go's type for a client's capabilities keeps extensions and drops flow, and takes
// the last of two members that are the same but for their case; so the gate reads the
// text of an initialize.
func TestFactClientCapabilities(t *testing.T) {
	var c mcp.ClientCapabilities
	if err := json.Unmarshal([]byte(`{`+flowForm+`,`+extensionForm+`,"EXTENSIONS":{"x":{}}}`), &c); err != nil {
		t.Fatal(err)
	}
	if out, err := json.Marshal(c); err != nil || strings.Contains(string(out), `"flow"`) || !strings.Contains(string(out), `"x":{}`) {
		t.Errorf("%s, %v", out, err)
	}
}

// factRequests are what a propagator and a hook see of each request.
type factRequests struct{ log []string }

func (f *factRequests) InjectMeta(_ context.Context, m *mcp.Meta) *mcp.Meta { return m }
func (f *factRequests) ExtractMeta(ctx context.Context, m *mcp.Meta) context.Context {
	caps := "no _meta"
	if m != nil {
		b, _ := json.Marshal(m.AdditionalFields[mcp.MetaKeyClientCapabilities])
		caps = string(b)
	}
	f.log = append(f.log, fmt.Sprintf("extract modern=%v %s", server.IsModernRequest(ctx), caps))
	return ctx
}

// The propagator is asked when the request's era is known, and sees every member of the
// capabilities that the request states.
func TestFactEraBeforeThePropagator(t *testing.T) {
	f := &factRequests{}
	s := server.NewMCPServer("era", "1", server.WithMetaPropagator(f))
	caps := `{"extensions":{"x":{"a":1}},"flow":{"origin":true}}`
	for _, meta := range []string{
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `}`,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":` + caps + `}`,
		`"_meta":{"io.modelcontextprotocol/clientCapabilities":` + caps + `}`,
		``,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, // not asked: an error
	} {
		s.HandleMessage(context.Background(), json.RawMessage(bxRequest("tools/list", meta)))
	}
	want := []string{"extract modern=true " + caps, "extract modern=false " + caps, "extract modern=false " + caps, "extract modern=false no _meta"}
	if !slices.Equal(f.log, want) {
		t.Errorf("got %q\nwant %q", f.log, want)
	}
}

// The hooks after an initialize run only when it has succeeded, with its own id and
// context.
func TestFactAfterInitialize(t *testing.T) {
	type key struct{}
	var ran []any
	h := &server.Hooks{}
	h.AddAfterInitialize(func(ctx context.Context, id any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		ran = append(ran, id, ctx.Value(key{}))
	})
	s := server.NewMCPServer("after", "1", server.WithHooks(h))
	for id, members := range map[string]string{
		"0": saysOrigin, `"a"`: "", "1": `,"capabilities":7`, "2": `,"capabilities":{"extensions":[]}`,
		"3": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
		"4": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
	} {
		ran = nil
		q := initializeWith(members)
		q.id = id
		s.HandleMessage(context.WithValue(context.Background(), key{}, id), json.RawMessage(q.body(legacy)))
		var want []any
		switch id {
		case "0":
			want = []any{0.0, id}
		case `"a"`:
			want = []any{"a", id}
		}
		if !slices.Equal(ran, want) {
			t.Errorf("initialize %s with %s: ran %v, want %v", id, members, ran, want)
		}
	}
}

// factSessions notes the sessions that mcp-go registers, uses and unregisters.
type factSessions struct {
	*server.MCPServer
	mu  sync.Mutex
	log []string
	ids map[server.ClientSession]int
}

func newFactSessions() *factSessions {
	f := &factSessions{ids: map[server.ClientSession]int{}}
	h := &server.Hooks{}
	h.AddOnRegisterSession(func(ctx context.Context, s server.ClientSession) {
		f.note("register", s, ", its own context", server.ClientSessionFromContext(ctx) == s)
	})
	h.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) { f.note("unregister", s, "", false) })
	h.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		f.note("initialized", server.ClientSessionFromContext(ctx), "", false)
	})
	h.AddBeforePing(func(ctx context.Context, _ any, _ *mcp.PingRequest) {
		f.note("ping", server.ClientSessionFromContext(ctx), "", false)
	})
	f.MCPServer = server.NewMCPServer("sessions", "1", server.WithHooks(h))
	return f
}

// note numbers the sessions by identity in the order of their appearance.
func (f *factSessions) note(what string, s server.ClientSession, more string, add bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.ids[s]
	if !ok {
		n = len(f.ids) + 1
		f.ids[s] = n
	}
	if !add {
		more = ""
	}
	f.log = append(f.log, fmt.Sprintf("%s %d%s", what, n, more))
}

func (f *factSessions) want(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.log, want) {
		t.Errorf("got  %q\nwant %q", f.log, want)
	}
	f.log = nil
	clear(f.ids)
}

// Over Streamable HTTP a session is one object from its initialize, which is before it is
// registered and whether it succeeds or not, until its end; a request of a session that
// is not registered has an object of its own. Only the answer that is plain JSON names
// the session.
func TestFactSessionsOverHTTP(t *testing.T) {
	f := newFactSessions()
	f.GetHooks().AddOnRequestInitialization(openStream)
	h := server.NewStreamableHTTPServer(f.MCPServer, server.WithHTTPContextFunc(markStream))
	l := listenHTTP(t, h, newTally())
	ping := request{method: "ping"}
	w := postTo(h, context.Background(), initializeWith(saysOrigin).body(legacy))
	id := w.Header().Get("Mcp-Session-Id")
	l.exchangeIn(t, legacy, ping, id)
	l.exchangeIn(t, legacy, ping, id)
	l.close(t, id)
	l.exchangeIn(t, legacy, ping, id)
	f.want(t, "initialized 1", "register 1, its own context", "ping 1", "ping 1", "unregister 1", "ping 2")

	w = postTo(h, context.Background(), initializeWith(`,"capabilities":7`).body(legacy))
	if w.Header().Get("Mcp-Session-Id") == "" || !strings.Contains(w.Body.String(), `"error"`) {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	f.want(t, "register 1, its own context")

	gone, cancel := context.WithCancel(context.Background())
	cancel()
	postTo(h, gone, initializeWith(saysOrigin).body(legacy))
	f.want(t, "initialized 1")

	stateless := server.NewStreamableHTTPServer(f.MCPServer, server.WithStateLess(true))
	for _, r := range []request{initializeWith(saysOrigin), ping} {
		postTo(stateless, context.Background(), r.body(legacy))
	}
	f.want(t, "initialized 1", "ping 2")

	const name = "fact-sessions"
	seen := make(chan struct{})
	streams.Store(name, seen)
	defer streams.Delete(name)
	resp := l.post(t, deadline(t), initializeWith(saysOrigin).body(legacy), http.Header{streamHeader: {name}})
	defer resp.Body.Close()
	once := sync.OnceFunc(func() { close(seen) })
	a := readAnswer(t, resp, func(json.RawMessage) { once() })
	if a.contentType != "text/event-stream" || a.header.Get("Mcp-Session-Id") != "" || len(a.messages) != 2 {
		t.Errorf("%v %s", a.header, a.messages)
	}
}

// On a connection the session is one object too, which is registered before its first
// request is read and unregistered at the end; that of stdio is the same for the whole
// process.
func TestFactSessionsOfConnections(t *testing.T) {
	f := newFactSessions()
	init, ping := initializeWith(saysOrigin).body(legacy), request{method: "ping"}.body(legacy)
	for range 2 {
		for _, msg := range []string{init, ping} { // one connection each: requests of one are served at once
			if err := server.NewStdioServer(f.MCPServer).Listen(deadline(t), strings.NewReader(msg+"\n"), io.Discard); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.want(t, "register 1", "initialized 1", "unregister 1", "register 1", "ping 1", "unregister 1",
		"register 1", "initialized 1", "unregister 1", "register 1", "ping 1", "unregister 1")

	in := transport.NewInProcessTransport(f.MCPServer)
	if err := in.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	l := &inProcessLine{transport: in}
	l.exchange(t, legacy, initializeWith(saysOrigin))
	l.exchange(t, legacy, request{method: "ping"})
	_ = in.Close()
	f.want(t, "register 1", "initialized 1", "ping 1", "unregister 1")

	gone := make(chan struct{})
	f.GetHooks().AddOnUnregisterSession(func(context.Context, server.ClientSession) { close(gone) })
	var sse http.Handler = server.NewSSEServer(f.MCPServer)
	t.Run("stream", func(t *testing.T) { listenSSE(t, sse, newTally()).exchange(t, legacy, request{method: "ping"}) })
	<-gone
	f.want(t, "register 1", "initialized 1", "ping 1", "ping 1", "unregister 1") // the second ping is the line's own
}

// mcp-go writes the capabilities of a request of the 2026-07-28 protocol to the session,
// so what an initialize has declared cannot be read from there.
func TestFactSessionCapabilitiesAreOverwritten(t *testing.T) {
	f := newFactSessions()
	s := server.NewInProcessSession("x", nil)
	ctx := f.WithContext(context.Background(), s)
	q := request{method: "tools/list", caps: `{}`}
	for _, msg := range []string{initializeWith(`,"capabilities":{` + extensionForm + `}`).body(legacy), q.body(modern)} {
		f.HandleMessage(ctx, json.RawMessage(msg))
	}
	if got := s.GetClientCapabilities().Extensions; got != nil {
		t.Errorf("the session still has %v", got)
	}
}
