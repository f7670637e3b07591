package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The tests of this file are attacks that once succeeded, each with the rule it broke.

// lenient accepts what the default does not.
var lenient = policydecl.AcceptFrom("user", "unverified")

// target is a server under attack.
type target struct {
	*server.MCPServer
	ran *tally
	url string
}

func newTarget(opts ...server.ServerOption) *target {
	return &target{ran: newTally(), MCPServer: server.NewMCPServer("target", "1", append([]server.ServerOption{
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
	}, opts...)...)}
}

// serve gates the target and puts it on HTTP.
func (s *target) serve(t *testing.T, cfg middleware.Config, opts ...server.StreamableHTTPOption) {
	t.Helper()
	h, err := middleware.Handler(s.MCPServer, cfg, append([]server.StreamableHTTPOption{server.WithStateLess(true)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	s.url = ts.URL
}

// send posts a request and returns the body of the answer.
func (s *target) send(t *testing.T, method, params, label string) string {
	t.Helper()
	resp, err := http.Post(s.url, "application/json", strings.NewReader(message("1", method, params, label)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// refused asserts that a request is refused and ran nothing.
func (s *target) refused(t *testing.T, method, params, label string) {
	t.Helper()
	if got := s.send(t, method, params, label); !strings.Contains(got, "flowPolicyViolation") {
		t.Errorf("%s {%s} was answered %s", method, params, got)
	}
	sameCounts(t, s.ran.take())
}

func (s *target) read(name string) server.ResourceHandlerFunc {
	return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		s.ran.add(name)
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: name}}, nil
	}
}

func (s *target) call(name string) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.ran.add(name)
		return mcp.NewToolResultText(name), nil
	}
}

// CompletePromptArgument counts completions.
func (s *target) CompletePromptArgument(_ context.Context, name string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	s.ran.add("complete " + name)
	return &mcp.Completion{Values: []string{"v"}}, nil
}

const completeP = `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`

func noop(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

// A declaration that comes while a read is being judged is not too late (D4): the
// handler that mcp-go finds afterwards is judged by its own policy.
func TestAttackDeclaredDuringTheVerdict(t *testing.T) {
	s := newTarget()
	s.AddResourceTemplate(mcp.NewResourceTemplate("m://{id}", "t"), server.ResourceTemplateHandlerFunc(s.read("template")))
	asked, answer := make(chan bool, 8), make(chan bool)
	cfg := config()
	cfg.Default = policydecl.AcceptFrom("user", "com.x.tier:gold")
	cfg.Matchers = map[string]policydecl.Matcher{"com.x.tier": func(context.Context, string, policydecl.Contributor) (bool, error) {
		asked <- true
		<-answer
		return true, nil
	}}
	cfg.MatcherBudget = patience
	s.serve(t, cfg)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.refused(t, "resources/read", `"uri":"m://new"`, labelV)
	}()
	<-asked
	if err := middleware.AddResource(s.MCPServer, mcp.NewResource("m://new", "n"), policydecl.AcceptFrom("user"), s.read("strict")); err != nil {
		t.Error(err)
	}
	close(answer)
	<-done
}

// A policy does not outlive the declaration it was given for (P4).
func TestAttackStalePolicies(t *testing.T) {
	s := newTarget()
	server.WithPromptCompletionProvider(s)(s.MCPServer)
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://helper", "a"), lenient, s.read("old"))
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://plain", "a"), lenient, s.read("old"))
	middleware.AddTool(s.MCPServer, mcp.NewTool("x"), lenient, s.call("old"))
	middleware.AddPrompt(s.MCPServer, mcp.NewPrompt("p"), lenient, noop)
	s.serve(t, config())

	s.RemoveResource("m://helper")
	s.RemoveResource("m://plain")
	s.DeleteTools("x")
	s.DeletePrompts("p")
	if err := middleware.AddResource(s.MCPServer, mcp.NewResource("m://helper", "a"), policydecl.Policy{}, s.read("new")); err != nil {
		t.Fatal(err)
	}
	s.AddResource(mcp.NewResource("m://plain", "a"), s.read("new"))
	s.AddTaskTool(mcp.NewTool("x", mcp.WithTaskSupport(mcp.TaskSupportRequired)), func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		s.ran.add("new")
		return &mcp.CreateTaskResult{}, nil
	})
	s.refused(t, "resources/read", `"uri":"m://helper"`, labelX)
	s.refused(t, "resources/read", `"uri":"m://plain"`, labelX)
	s.refused(t, "tools/call", `"name":"x","task":{}`, labelX)
	s.refused(t, "completion/complete", completeP, labelX)
	strict := mcp.NewPrompt("p")
	strict.Meta = &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"user"}}}}
	s.AddPrompt(strict, noop)
	s.refused(t, "completion/complete", completeP, labelV)
}

// What is published is enforced (D4), also when a declaration takes the place of one
// that a helper has made.
func TestAttackPublishedNotEnforced(t *testing.T) {
	s := newTarget()
	strict := func(uri string) mcp.Resource {
		r := mcp.NewResource(uri, "a")
		r.Meta = &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"user"}}}}
		return r
	}
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://before", "a"), lenient, s.read("old"))
	s.AddResource(strict("m://before"), s.read("new"))
	s.serve(t, config())
	s.refused(t, "resources/read", `"uri":"m://before"`, labelV)
	s.AddResource(strict("m://after"), s.read("new"))
	if got := s.send(t, "resources/list", `"x":1`, labelV); !strings.Contains(got, `"acceptFrom":["user"]`) {
		t.Errorf("the list is %s", got)
	}
	s.refused(t, "resources/read", `"uri":"m://after"`, labelV)
	s.refused(t, "resources/subscribe", `"uri":"m://after"`, labelV)
}

// A hook of the author's that gives a subscription another URI has it judged again.
func TestAttackSubscribeAlias(t *testing.T) {
	h := &server.Hooks{}
	h.AddBeforeSubscribe(func(_ context.Context, _ any, req *mcp.SubscribeRequest) {
		if req.Params.URI == "alias:c" {
			req.Params.URI = "m://strict"
		}
	})
	s := newTarget(server.WithHooks(h))
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://strict", "a"), policydecl.AcceptFrom("user"), s.read("strict"))
	s.serve(t, config())
	s.refused(t, "resources/subscribe", `"uri":"alias:c"`, labelV)
	if got := s.send(t, "resources/subscribe", `"uri":"alias:c"`, labelU); !strings.Contains(got, `"result":{}`) {
		t.Errorf("from the user: %s", got)
	}
}

// A refusal leaves the headers of a middleware further out as they were (X2): one that
// compresses has said so before.
func TestAttackOuterHeaders(t *testing.T) {
	s := newTarget()
	middleware.AddTool(s.MCPServer, mcp.NewTool("x"), policydecl.AcceptFrom("user"), s.call("x"))
	h, err := middleware.Handler(s.MCPServer, config(), server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{labelU, labelV} {
		var out bytes.Buffer
		w := httptest.NewRecorder()
		w.Body = &out
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Cache-Control", "no-store")
		z := gzip.NewWriter(w)
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(call("x", label).body(legacy)))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(zipped{w, z}, r)
		z.Close()
		if g := w.Result().Header; g.Get("Content-Encoding") != "gzip" || g.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", g)
		}
		plain, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(plain); err != nil || !strings.HasPrefix(string(b), `{"jsonrpc":"2.0","id":`) {
			t.Errorf("body %q, %v", b, err)
		}
	}
}

type zipped struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (w zipped) Write(p []byte) (int, error) { return w.z.Write(p) }

// A completion says nothing of the policy of a prompt that a filter hides (G1), and a
// number that mcp-go cannot hold hides no label from the gate.
func TestAttackCompletions(t *testing.T) {
	s := newTarget(server.WithPromptFilter(func(context.Context, []mcp.Prompt) []mcp.Prompt { return nil }))
	server.WithPromptCompletionProvider(s)(s.MCPServer)
	middleware.AddPrompt(s.MCPServer, mcp.NewPrompt("p"), policydecl.AcceptFrom("host"), noop)
	s.serve(t, config())
	got := s.send(t, "completion/complete", completeP, labelU)
	if !strings.Contains(got, `{"rejected":[],"acceptFrom":[]}`) {
		t.Errorf("got %s", got)
	}
	got = s.send(t, "completion/complete", completeP, labelU+`,"x":1e999`)
	if !strings.Contains(got, `"code":-32600`) || strings.Contains(got, "flowPolicyViolation") {
		t.Errorf("got %s", got)
	}
	sameCounts(t, s.ran.take())
}

// A long list of URIs with many readings each does not keep the server busy.
func TestAttackLongListen(t *testing.T) {
	s := newTarget()
	s.serve(t, config())
	var list []string
	for i := range 300 {
		list = append(list, `"file://h/%2e;/a//%5c?`+strings.Repeat("x", i)+`"`)
	}
	if got := s.send(t, "subscriptions/listen", `"notifications":{"resourceSubscriptions":[`+strings.Join(list, ",")+`]}`, labelU); !strings.Contains(got, "more than 256 different") {
		t.Errorf("got %.200s", got)
	}
}

// A context function that drops the context leaves the gate without the door's word.
// Then nothing leaves, and the operator reads why (G6).
func TestAttackDroppedContext(t *testing.T) {
	var log bytes.Buffer
	cfg := config()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := newTarget()
	s.serve(t, cfg, server.WithHTTPContextFunc(func(context.Context, *http.Request) context.Context { return context.Background() }))
	if got := s.send(t, "tools/list", `"x":1`, labelU); !strings.Contains(got, `"id":1,"error":{"code":-32603`) {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(log.String(), "a context function may have dropped the context") {
		t.Errorf("the log says %q", log.String())
	}
}

// Policies that mcp-go does not show when New looks are refused there (P6), and so is a
// nil list, which Go would publish as null (P4).
func TestAttackUncheckedPolicies(t *testing.T) {
	s := newTarget()
	with := func(v any) *mcp.Meta { return &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: v}} }
	task, template, tool := mcp.NewTool("task"), mcp.NewResourceTemplate("m://{id}", "t"), mcp.NewTool("tool")
	task.Meta = with(map[string]any{"acceptFrom": []string{"User"}})
	template.Meta = with(map[string]any{"acceptFrom": []string{"user"}})
	tool.Meta = with(map[string]any{"acceptFrom": []string(nil)})
	s.AddTaskTool(task, nil)
	s.AddResourceTemplate(template, nil)
	s.AddTool(tool, s.call("tool"))
	_, err := middleware.New(s.MCPServer, config())
	for _, want := range []string{`tools["task"]`, `templates["m://{id}"]`, `tools["tool"].acceptFrom`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// Declared policies do not open when the one line is forgotten, or when the gate could
// not be built and nobody looked at the error.
func TestForgottenGate(t *testing.T) {
	s := newTarget()
	middleware.AddTool(s.MCPServer, mcp.NewTool("x"), policydecl.AcceptFrom("user"), s.call("x"))
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://a", "a"), policydecl.AcceptFrom("user"), s.read("a"))
	middleware.AddPrompt(s.MCPServer, mcp.NewPrompt("p"), policydecl.AcceptFrom("user"), noop)
	s.AddTool(mcp.NewTool("open"), s.call("open"))
	if _, err := middleware.New(s.MCPServer, middleware.Config{}); err == nil {
		t.Fatal("a gate without a URI was built")
	}
	ts := httptest.NewServer(server.NewStreamableHTTPServer(s.MCPServer, server.WithStateLess(true)))
	defer ts.Close()
	s.url = ts.URL
	for method, params := range map[string]string{"tools/call": `"name":"x"`, "resources/read": `"uri":"m://a"`, "prompts/get": `"name":"p"`} {
		if got := s.send(t, method, params, labelU); !strings.Contains(got, "not in order") {
			t.Errorf("%s was answered %s", method, got)
		}
	}
	sameCounts(t, s.ran.take())
	s.send(t, "tools/call", `"name":"open"`, labelU)
	sameCounts(t, s.ran.take(), "open")
}

// What is wrong with a declaration is said at start-up (P6), and an option that is
// refused can be mended without a new server.
func TestMoreMistakes(t *testing.T) {
	s := newTarget()
	if err := middleware.AddTool(s.MCPServer, mcp.NewTool("nil"), policydecl.AcceptFrom("user"), nil); err == nil {
		t.Error("a tool without a handler was registered")
	}
	middleware.AddTool(s.MCPServer, mcp.NewTool("again"), policydecl.AcceptFrom(), s.call("again"))
	s.AddTool(mcp.NewTool("again"), s.call("again"))
	middleware.AddResource(s.MCPServer, mcp.NewResource("m://a", "a"), policydecl.AcceptFrom(), s.read("a"))
	s.AddResource(mcp.NewResource("m://a", "a"), s.read("a"))
	_, err := middleware.New(s.MCPServer, config())
	for _, want := range []string{`flowgate: `, `tools["nil"]: missing: it has no handler`, `tools["again"]: conflict`, `resources["m://a"]: conflict`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}

	s = newTarget()
	if _, err := middleware.Handler(s.MCPServer, config(), server.WithEventStore(server.NewInMemoryEventStore())); err == nil || !strings.Contains(err.Error(), "WithEventStore") {
		t.Errorf("an event store: %v", err)
	}
	if _, err := middleware.Handler(s.MCPServer, config()); err != nil {
		t.Errorf("after the option was left out: %v", err)
	}
}

// The operator reads of a refusal when it takes effect, not when the server itself has
// refused the request before (G1).
func TestRefusalsInTheLog(t *testing.T) {
	var log bytes.Buffer
	cfg := config()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := newTarget()
	middleware.AddTool(s.MCPServer, mcp.NewTool("x"), policydecl.AcceptFrom("user"), s.call("x"))
	s.serve(t, cfg)
	s.send(t, "resources/read", `"uri":"m://nothing"`, labelX)
	s.send(t, "tools/call", `"name":"nothing"`, labelX)
	if log.Len() > 0 {
		t.Errorf("not found was logged: %s", log.String())
	}
	s.send(t, "tools/call", `"name":"x"`, labelX)
	if n := strings.Count(log.String(), "request refused by flow policy"); n != 1 {
		t.Errorf("%d records: %s", n, log.String())
	}
}
