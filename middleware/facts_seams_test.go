package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A _meta that cannot be decoded asks no propagator, and whatever has a seam that
// needs the record ends there; a completion does not, so its hook must see to it.
func TestFactUndecodableMeta(t *testing.T) {
	b := bxNewTrace()
	for _, meta := range []string{`"x"`, `7`, `[]`, `{"x":1e999}`, `true`} {
		for _, c := range []struct{ method, params, want string }{
			{"tools/call", `"name":"tool"`, "init"}, {"tools/call", `"name":"tool","task":{}`, "init"}, {"resources/read", `"uri":"x://static"`, "init"}, {"prompts/get", `"name":"prompt"`, "init"},
			{"tools/list", `"cursor":""`, "init"}, {"prompts/list", `"cursor":""`, "init"},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}`,
				"init, before without the propagator's context, provider without the propagator's context"},
			{"resources/subscribe", `"uri":"none:x"`, "init, before without the propagator's context"},
		} {
			answer, log := b.send(context.Background(), bxRequest(c.method, c.params+`,"_meta":`+meta))
			if got := strings.Join(log, ", "); got != c.want {
				t.Errorf("%s with _meta %s: ran %s, want %s (%s)", c.method, meta, got, c.want, answer)
			}
		}
	}
}

// The last filter is shown the very tool that a call will run: a session's own
// before the global one of its name, a task tool by its own declaration; and it
// is not asked when an earlier one has hidden the tool.
func TestFactLastFilterSeesTheToolThatRuns(t *testing.T) {
	var seen []string
	hide := false
	s := server.NewMCPServer("filter", "1", server.WithTaskCapabilities(true, true, true), server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
		if hide {
			return nil
		}
		return tools
	}), server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
		for _, tool := range tools {
			_, own := tool.Meta.AdditionalFields[policydecl.PolicyKey].(policydecl.Policy)
			seen = append(seen, fmt.Sprintf("%s %s %v", tool.Name, tool.Description, own))
		}
		return tools
	}))
	tool := func(name, what string, task mcp.TaskSupport) mcp.Tool {
		t := mcp.NewTool(name, mcp.WithDescription(what))
		t.Meta = &mcp.Meta{AdditionalFields: map[string]any{policydecl.PolicyKey: policydecl.AcceptFrom("user")}}
		t.Execution = &mcp.ToolExecution{TaskSupport: task}
		return t
	}
	answer := func(text string) server.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(text), nil
		}
	}
	s.AddTool(tool("both", "global", mcp.TaskSupportOptional), answer("global"))
	started := make(chan struct{}, 9)
	s.AddTaskTool(tool("task", "task", mcp.TaskSupportRequired), func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		started <- struct{}{}
		return &mcp.CreateTaskResult{}, nil
	})
	session := &bxSession{tools: map[string]server.ServerTool{"both": {Tool: tool("both", "session", mcp.TaskSupportForbidden), Handler: answer("session")}}}
	for _, c := range []struct {
		ctx          context.Context
		params, want string
		answer       string
	}{
		{context.Background(), `"name":"both"`, "both global true", `"text":"global"`},
		{s.WithContext(context.Background(), session), `"name":"both"`, "both session true", `"text":"session"`},
		{context.Background(), `"name":"task","task":{}`, "task task true", `"task":{`},
		{context.Background(), `"name":"none"`, "", `not found`},
	} {
		seen = nil
		resp, _ := json.Marshal(s.HandleMessage(c.ctx, json.RawMessage(bxRequest("tools/call", c.params))))
		if got := strings.Join(seen, ", "); got != c.want || !strings.Contains(string(resp), c.answer) {
			t.Errorf("{%s}: the filter saw %q, want %q; %s", c.params, got, c.want, resp)
		}
	}
	<-started
	seen = nil
	s.HandleMessage(context.Background(), json.RawMessage(bxRequest("tools/list", ``)))
	if got := strings.Join(seen, ", "); got != "both global true, task task true" {
		t.Errorf("for a list the filter saw %q", got)
	}
	hide, seen = true, nil
	resp, _ := json.Marshal(s.HandleMessage(context.Background(), json.RawMessage(bxRequest("tools/call", `"name":"both"`))))
	if len(seen) != 0 || !strings.Contains(string(resp), `"code":-32602`) {
		t.Errorf("a hidden tool was shown to the next filter: %q, %s", seen, resp)
	}
}

// bxSession is a session with tools of its own.
type bxSession struct{ tools map[string]server.ServerTool }

// SessionID and the rest make it a session.
func (s *bxSession) SessionID() string                                   { return "s" }
func (s *bxSession) Initialize()                                         {}
func (s *bxSession) Initialized() bool                                   { return true }
func (s *bxSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (s *bxSession) GetSessionTools() map[string]server.ServerTool       { return s.tools }
func (s *bxSession) SetSessionTools(tools map[string]server.ServerTool)  { s.tools = tools }

// One name cannot be an ordinary tool and a task tool, so the tool that is judged for
// a task is the one that becomes it.
func TestFactNoToolOfBothKinds(t *testing.T) {
	panics := func(f func()) (yes bool) {
		defer func() { yes = recover() != nil }()
		f()
		return false
	}
	s := server.NewMCPServer("kinds", "1")
	s.AddTool(mcp.NewTool("a"), nil)
	s.AddTaskTool(mcp.NewTool("b"), nil)
	for name, f := range map[string]func(){
		"AddTaskTool": func() { s.AddTaskTool(mcp.NewTool("a"), nil) }, "AddTool": func() { s.AddTool(mcp.NewTool("b"), nil) },
		"SetTools": func() { s.SetTools(server.ServerTool{Tool: mcp.NewTool("b")}) },
	} {
		if !panics(f) {
			t.Errorf("%s makes a tool of both kinds", name)
		}
	}
}

// bxMutex reaches one of mcp-go's locks.
func bxMutex(t *testing.T, s *server.MCPServer, field string) *sync.RWMutex {
	t.Helper()
	f := reflect.ValueOf(s).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[sync.RWMutex]() {
		t.Fatalf("server.MCPServer has no lock %s", field)
	}
	return (*sync.RWMutex)(unsafe.Pointer(f.UnsafeAddr()))
}

// Filters and constructors of middleware run while mcp-go holds its lock for that
// list, so the gate may look at the list there.
func TestFactListsAreLocked(t *testing.T) {
	var s *server.MCPServer
	asked := map[string]int{}
	locked := func(field string) {
		asked[field]++
		if m := bxMutex(t, s, field); m.TryLock() {
			m.Unlock()
			t.Errorf("%s is not held", field)
		}
	}
	s = server.NewMCPServer("locks", "1",
		server.WithToolFilter(func(_ context.Context, x []mcp.Tool) []mcp.Tool { locked("toolFiltersMu"); return x }),
		server.WithPromptFilter(func(_ context.Context, x []mcp.Prompt) []mcp.Prompt { locked("promptFiltersMu"); return x }),
		server.WithToolHandlerMiddleware(func(n server.ToolHandlerFunc) server.ToolHandlerFunc { locked("toolMiddlewareMu"); return n }),
		server.WithResourceHandlerMiddleware(func(n server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			locked("resourceMiddlewareMu")
			return n
		}),
		server.WithPromptHandlerMiddleware(func(n server.PromptHandlerFunc) server.PromptHandlerFunc { locked("promptMiddlewareMu"); return n }))
	s.AddTool(mcp.NewTool("x"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(""), nil
	})
	s.AddResource(mcp.NewResource("x:y", "x"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { return nil, nil })
	s.AddPrompt(mcp.NewPrompt("x"), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	for _, c := range [][2]string{{"tools/call", `"name":"x"`}, {"tools/list", ``}, {"prompts/get", `"name":"x"`}, {"prompts/list", ``}, {"resources/read", `"uri":"x:y"`}} {
		s.HandleMessage(context.Background(), json.RawMessage(bxRequest(c[0], c[1])))
	}
	want := map[string]int{"toolFiltersMu": 2, "promptFiltersMu": 2, "toolMiddlewareMu": 1, "resourceMiddlewareMu": 1, "promptMiddlewareMu": 1}
	if !maps.Equal(asked, want) {
		t.Errorf("ran %v, want %v", asked, want)
	}
}

// A hook may take away the wish for a task; the call then runs at once, through all
// middleware, and creates none.
func TestFactHookDropsTask(t *testing.T) {
	b := bxNewTrace()
	b.srv.GetHooks().AddBeforeCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest) { req.Params.Task = nil })
	answer, log := b.send(context.Background(), bxRequest("tools/call", `"name":"tool","task":{}`))
	if !strings.Contains(answer, `"text":"x"`) || !slices.Contains(log, "middleware inner") {
		t.Errorf("%s, ran %v", answer, log)
	}
	if answer, _ := b.send(context.Background(), bxRequest("tasks/list", ``)); !strings.Contains(answer, `"tasks":[]`) {
		t.Errorf("tasks: %s", answer)
	}
}

// A reference of a kind that mcp-go does not know is answered with an error and
// asks no provider, also when a hook put it there.
func TestFactUnknownReference(t *testing.T) {
	b := bxNewTrace()
	type other struct{}
	b.srv.GetHooks().AddBeforeComplete(func(_ context.Context, _ any, req *mcp.CompleteRequest) { req.Params.Ref = other{} })
	for _, ref := range []string{`{"type":"ref/prompt","name":"prompt"}`, `{"type":"ref/resource","uri":"x://static"}`} {
		answer, log := b.send(context.Background(), bxRequest("completion/complete", `"ref":`+ref+`,"argument":{"name":"a","value":""}`))
		if slices.Contains(log, "provider") || !strings.Contains(answer, `"code":-32600`) {
			t.Errorf("%s, ran %v", answer, log)
		}
	}
}

// A prompt without a policy check in front needs its handler to come from the same
// place as its declaration; a handler's context is asked for anew by a request that it
// makes itself.
func TestFactNestedRequestAsksThePropagatorAgain(t *testing.T) {
	b := bxNewTrace()
	b.srv.AddTool(mcp.NewTool("nesting"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.say("nest")
		b.srv.HandleMessage(ctx, json.RawMessage(bxRequest("resources/read", `"uri":"x://static"`)))
		return mcp.NewToolResultText(""), nil
	})
	_, log := b.send(context.Background(), bxRequest("tools/call", `"name":"nesting"`))
	i := slices.Index(log, "nest")
	if i < 0 || strings.Join(log[i:min(i+4, len(log))], ", ") != "nest, init after the propagator, extract nil, before" {
		t.Errorf("ran %v", log)
	}
}
