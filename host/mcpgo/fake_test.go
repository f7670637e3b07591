package mcpgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// fake is a transport to a server that says whatever a test wants.
type fake struct {
	// on answers by method; what has none is answered as a plain server does.
	on map[string]func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

	mu     sync.Mutex
	notify func(mcp.JSONRPCNotification)
	sent   []transport.JSONRPCRequest
	closed int
}

type handler = func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

// newFake returns a server with the tools that the JSON text lists.
func newFake(tools string) *fake {
	f := &fake{on: map[string]handler{}}
	f.on["initialize"] = reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"f","version":"1"}}`)
	f.on["server/discover"] = fail(mcp.METHOD_NOT_FOUND, "no such method")
	f.on["tools/list"] = reply(`{"tools":` + tools + `}`)
	f.on["tools/call"] = reply(`{"content":[{"type":"text","text":"done"}]}`)
	return f
}

// reply answers with a result.
func reply(result string) handler {
	return func(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(result)), nil
	}
}

// fail answers with an error.
func fail(code int, message string) handler {
	return func(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		return transport.NewJSONRPCErrorResponse(r.ID, code, message, nil), nil
	}
}

// hang answers when the context ends.
func hang(ctx context.Context, _ transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// pages answers with one page after the other, by cursors "1", "2" and so on.
func pages(member string, texts ...string) handler {
	return func(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		n := 0
		_, _ = fmt.Sscan(cursorOf(r), &n)
		next := ""
		if n+1 < len(texts) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
		}
		return reply(`{"`+member+`":`+texts[n]+next+`}`)(nil, r)
	}
}

func cursorOf(r transport.JSONRPCRequest) string {
	var p struct{ Cursor string }
	b, _ := json.Marshal(r.Params)
	_ = json.Unmarshal(b, &p)
	return p.Cursor
}

// Start does nothing.
func (f *fake) Start(context.Context) error { return nil }

// GetSessionId returns no session.
func (f *fake) GetSessionId() string { return "" }

// SendNotification does nothing.
func (f *fake) SendNotification(context.Context, mcp.JSONRPCNotification) error { return nil }

// Close counts.
func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// SetNotificationHandler sets the handler.
func (f *fake) SetNotificationHandler(h func(mcp.JSONRPCNotification)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notify = h
}

// SendRequest notes a request and answers it.
func (f *fake) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	f.mu.Lock()
	f.sent = append(f.sent, r)
	h := f.on[r.Method]
	f.mu.Unlock()
	if h == nil {
		h = fail(mcp.METHOD_NOT_FOUND, "no such method")
	}
	return h(ctx, r)
}

// say sends a notification.
func (f *fake) say(method string) {
	f.mu.Lock()
	h := f.notify
	f.mu.Unlock()
	h(mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{Method: method}})
}

// set changes an answer.
func (f *fake) set(method string, h handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[method] = h
}

// methods returns what was sent since the last call, without the handshake.
func (f *fake) methods() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for _, r := range f.sent {
		if r.Method != "initialize" && r.Method != "server/discover" {
			list = append(list, r.Method)
		}
	}
	f.sent = nil
	return strings.Join(list, " ")
}

// connect connects an agent with the fake, as a verified server.
func (f *fake) connect(t testing.TB, a *agent, opts ...client.ClientOption) (*client.Client, *host.Connection) {
	t.Helper()
	return f.connectAs(t, a, records(policydecl.Verified), opts...)
}

func (f *fake) connectAs(t testing.TB, a *agent, s host.Server, opts ...client.ClientOption) (*client.Client, *host.Connection) {
	t.Helper()
	c, conn, err := mcpgo.Connect(t.Context(), a.Host, s, f, mcp.Implementation{Name: "agent", Version: "1"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c, conn
}

// calm is turn without a deadline, for tests in a bubble.
func (a *agent) calm(t testing.TB, from ...host.Sources) (context.Context, *host.Partition) {
	p := a.Open(host.Turn{Name: t.Name(), From: append([]host.Sources{host.UserInput()}, from...), Shown: []*host.Connection{}})
	return host.WithPartition(t.Context(), p), p
}

// tool returns the JSON text of a declared tool; no tokens stand for no policy.
func toolText(name string, acceptFrom ...string) string {
	if acceptFrom == nil {
		return `{"name":"` + name + `","inputSchema":{"type":"object"}}`
	}
	tokens, _ := json.Marshal(acceptFrom)
	return `{"name":"` + name + `","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":` + string(tokens) + `}}`
}
