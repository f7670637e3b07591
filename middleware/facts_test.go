package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Each test in the files facts_*_test.go pins one fact of mcp-go that the gate relies on. None
// involves the gate, but for TestFactGatedMethods. A test that fails after an upgrade of
// mcp-go says which part of the gate to look at before anything else.

// bxTrace is a server of mcp-go's alone, with one of everything, that writes down
// what runs in which order.
type bxTrace struct {
	srv *server.MCPServer
	mu  sync.Mutex
	log []string
}

type bxMark struct{}

func (b *bxTrace) say(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, what)
}

// sayIn also tells whether the propagator's context is the one in use.
func (b *bxTrace) sayIn(ctx context.Context, what string) {
	if ctx.Value(bxMark{}) == nil {
		what += " without the propagator's context"
	}
	b.say(what)
}

// ExtractMeta is the incoming half of a propagator.
func (b *bxTrace) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	if meta == nil {
		b.say("extract nil")
	} else {
		b.say("extract")
	}
	return context.WithValue(ctx, bxMark{}, true)
}

// InjectMeta is the outgoing half of a propagator.
func (b *bxTrace) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }

// CompletePromptArgument makes it a completion provider.
func (b *bxTrace) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	b.sayIn(ctx, "provider")
	return &mcp.Completion{}, nil
}

// CompleteResourceArgument makes it a completion provider.
func (b *bxTrace) CompleteResourceArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	b.sayIn(ctx, "provider")
	return &mcp.Completion{}, nil
}

func bxNewTrace(opts ...server.ServerOption) *bxTrace {
	b := &bxTrace{}
	h := &server.Hooks{}
	h.AddOnRequestInitialization(func(ctx context.Context, _ any, _ any) error {
		if ctx.Value(bxMark{}) != nil {
			b.say("init after the propagator")
			return nil
		}
		b.say("init")
		return nil
	})
	h.AddBeforeCallTool(func(ctx context.Context, _ any, _ *mcp.CallToolRequest) { b.sayIn(ctx, "before") })
	h.AddBeforeReadResource(func(ctx context.Context, _ any, _ *mcp.ReadResourceRequest) { b.sayIn(ctx, "before") })
	h.AddBeforeGetPrompt(func(ctx context.Context, _ any, _ *mcp.GetPromptRequest) { b.sayIn(ctx, "before") })
	h.AddBeforeComplete(func(ctx context.Context, _ any, _ *mcp.CompleteRequest) { b.sayIn(ctx, "before") })
	h.AddBeforeSubscribe(func(ctx context.Context, _ any, _ *mcp.SubscribeRequest) { b.sayIn(ctx, "before") })
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) { b.sayIn(ctx, "before") })
	tools := func(name string) server.ToolHandlerMiddleware {
		return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			b.say("make " + name)
			return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				b.sayIn(ctx, "middleware "+name)
				return next(ctx, req)
			}
		}
	}
	reads := func(name string) server.ResourceHandlerMiddleware {
		return func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			b.say("make " + name)
			return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				b.sayIn(ctx, "middleware "+name)
				return next(ctx, req)
			}
		}
	}
	prompts := func(name string) server.PromptHandlerMiddleware {
		return func(next server.PromptHandlerFunc) server.PromptHandlerFunc {
			b.say("make " + name)
			return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				b.sayIn(ctx, "middleware "+name)
				return next(ctx, req)
			}
		}
	}
	filter := func(name string) server.ToolFilterFunc {
		return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
			b.sayIn(ctx, fmt.Sprintf("filter %s of %d", name, len(tools)))
			return tools
		}
	}
	promptFilter := func(name string) server.PromptFilterFunc {
		return func(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt {
			b.sayIn(ctx, fmt.Sprintf("filter %s of %d", name, len(prompts)))
			return prompts
		}
	}
	b.srv = server.NewMCPServer("trace", "1", append([]server.ServerOption{
		server.WithHooks(h), server.WithMetaPropagator(b), server.WithToolFilter(filter("a")), server.WithToolFilter(filter("b")),
		server.WithPromptFilter(promptFilter("a")), server.WithPromptFilter(promptFilter("b")),
		server.WithToolHandlerMiddleware(tools("outer")), server.WithToolHandlerMiddleware(tools("inner")),
		server.WithResourceHandlerMiddleware(reads("outer")), server.WithResourceHandlerMiddleware(reads("inner")),
		server.WithPromptHandlerMiddleware(prompts("outer")), server.WithPromptHandlerMiddleware(prompts("inner")),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
		server.WithPromptCompletionProvider(b), server.WithResourceCompletionProvider(b),
	}, opts...)...)
	optional := mcp.NewTool("tool")
	optional.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}
	b.srv.AddTool(optional, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.sayIn(ctx, "handler")
		return mcp.NewToolResultText("x"), nil
	})
	b.srv.AddTool(mcp.NewTool("second"), nil)
	read := func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		b.sayIn(ctx, "handler")
		return nil, nil
	}
	b.srv.AddResource(mcp.NewResource("x://static", "x"), read)
	b.srv.AddResourceTemplate(mcp.NewResourceTemplate("y://{id}", "y"), read)
	b.srv.AddPrompt(mcp.NewPrompt("prompt"), func(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		b.sayIn(ctx, "handler")
		return &mcp.GetPromptResult{}, nil
	})
	return b
}

func (b *bxTrace) send(ctx context.Context, msg string) (answer string, log []string) {
	b.mu.Lock()
	b.log = nil
	b.mu.Unlock()
	resp := b.srv.HandleMessage(ctx, json.RawMessage(msg))
	b.mu.Lock()
	defer b.mu.Unlock()
	log = slices.Clone(b.log)
	if resp == nil {
		return "", log
	}
	text, _ := json.Marshal(resp)
	return string(text), log
}

func bxRequest(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
}

// The door runs before everything, the propagator after it and before every other
// hook, filters before middleware, the middleware added last right before the handler;
// and all of them run in the propagator's context.
func TestFactOrderInsideHandleMessage(t *testing.T) {
	b := bxNewTrace()
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", `"name":"tool"`, "init, extract nil, before, filter a of 1, filter b of 1, make inner, make outer, middleware outer, middleware inner, handler"},
		{"tools/call", `"name":"tool","_meta":{}`, "init, extract, before, filter a of 1, filter b of 1, make inner, make outer, middleware outer, middleware inner, handler"},
		{"tools/call", `"name":"tool","_meta":null`, "init, extract nil, before, filter a of 1, filter b of 1, make inner, make outer, middleware outer, middleware inner, handler"},
		{"tools/call", `"name":"none"`, "init, extract nil, before"},
		{"resources/read", `"uri":"x://static"`, "init, extract nil, before, make inner, make outer, middleware outer, middleware inner, handler"},
		{"resources/read", `"uri":"y://1"`, "init, extract nil, before, make inner, make outer, middleware outer, middleware inner, handler"},
		{"prompts/get", `"name":"prompt"`, "init, extract nil, before, filter a of 1, filter b of 1, make inner, make outer, middleware outer, middleware inner, handler"},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}`, "init, extract nil, before, provider"},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"none:x"},"argument":{"name":"a","value":""}`, "init, extract nil, before, provider"},
		{"resources/subscribe", `"uri":"none:x"`, "init, extract nil, before"},
		{"tools/list", ``, "init, extract nil, filter a of 2, filter b of 2"},
		{"prompts/list", ``, "init, extract nil, filter a of 1, filter b of 1"},
		{"ping", ``, "init, extract nil"},
		{"nope", ``, "init, extract nil"},
	} {
		_, log := b.send(context.Background(), bxRequest(c.method, c.params))
		if got := strings.Join(log, ", "); got != c.want {
			t.Errorf("%s {%s}:\n got %s\nwant %s", c.method, c.params, got, c.want)
		}
	}
	// Messages that are no requests reach none of it.
	for _, msg := range []string{
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tool"}}`, `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"tool"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool"},"result":0}`, `{"jsonrpc":"1.0","id":1,"method":"tools/call"}`, `[]`,
	} {
		if _, log := b.send(context.Background(), msg); len(log) != 0 {
			t.Errorf("%s: %v", msg, log)
		}
	}
}

// What the door returns becomes an invalid-request error with that text, and
// nothing else runs.
func TestFactDoorRefuses(t *testing.T) {
	b := bxNewTrace()
	b.srv.GetHooks().AddOnRequestInitialization(func(context.Context, any, any) error { return io.ErrUnexpectedEOF })
	for _, method := range []string{"tools/call", "resources/subscribe", "subscriptions/listen", "ping"} {
		answer, log := b.send(context.Background(), bxRequest(method, `"name":"tool","uri":"x:y"`))
		if answer != `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"unexpected EOF"}}` || !slices.Equal(log, []string{"init"}) {
			t.Errorf("%s: %s, ran %v", method, answer, log)
		}
	}
}

// The door gets the message's own bytes, as a json.RawMessage, on every transport.
func TestFactDoorGetsRawMessage(t *testing.T) {
	var got []string
	s := server.NewMCPServer("raw", "1", server.WithToolCapabilities(true))
	h := &server.Hooks{}
	h.AddOnRequestInitialization(func(ctx context.Context, _ any, message any) error {
		raw, ok := message.(json.RawMessage)
		if !ok {
			t.Errorf("the hook gets a %T", message)
		}
		if server.ServerFromContext(ctx) != s {
			t.Error("the hook's context does not hold the server")
		}
		got = append(got, strings.TrimSpace(string(raw)))
		return nil
	})
	server.WithHooks(h)(s)
	for _, modern := range []bool{false, true} {
		msg := strings.Replace(bxMsg("1", "tools/list", ``, bxU, modern), `"id":1`, ` "id" : 1.50`, 1)
		want := []string{msg}
		check := func(transport string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", transport, got, want)
			}
			got = nil
		}
		s.HandleMessage(context.Background(), json.RawMessage(msg))
		check("HandleMessage")
		bxPost(server.NewStreamableHTTPServer(s, server.WithStateLess(true)), msg)
		check("HTTP")
		r, w := io.Pipe()
		done := make(chan error, 1)
		out := &bxTell{tell: make(chan struct{}, 1)}
		go func() { done <- server.NewStdioServer(s).Listen(context.Background(), r, out) }()
		_, _ = io.WriteString(w, msg+"\n")
		<-out.tell
		_ = w.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		check("stdio")
	}
	in := transport.NewInProcessTransport(s)
	if _, err := in.SendRequest(context.Background(), transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId("x"), Method: "ping"}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.Contains(got[0], `"id":"x"`) {
		t.Errorf("in process: %q", got)
	}
}

// bxTell tells about every write.
type bxTell struct {
	bytes.Buffer
	tell   chan struct{}
	writes int
}

// Write counts and tells.
func (b *bxTell) Write(p []byte) (int, error) {
	b.writes++
	n, err := b.Buffer.Write(p)
	b.tell <- struct{}{}
	return n, err
}
