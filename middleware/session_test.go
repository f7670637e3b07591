package middleware_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// sessions lets a test wait until mcp-go knows a session, which is a little later
// than its client.
type sessions struct {
	mu    sync.Mutex
	known map[string]chan struct{}
}

func (s *sessions) of(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]chan struct{}{}
	}
	if s.known[id] == nil {
		s.known[id] = make(chan struct{})
	}
	return s.known[id]
}

// openKnown opens a session over HTTP and waits until the server can add to it.
func openKnown(t testing.TB, l *httpLine, s *sessions) string {
	t.Helper()
	id := l.open(t)
	select {
	case <-s.of(id):
	case <-deadline(t).Done():
		t.Fatal("the session is not known")
	}
	return id
}

// newSessionRecipient is R with sessions that can be waited for. It announces no
// changed lists, so that nothing but the tests turns an answer into a stream.
func newSessionRecipient() (*recipient, *sessions) {
	s := &sessions{}
	r := newRecipient(server.WithToolCapabilities(false), server.WithResourceCapabilities(true, false))
	r.hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { close(s.of(session.SessionID())) })
	return r, s
}

// TestSessionDeclarations: a session's own tools, resources and templates have
// their own policy, or that of the global one of the same name, or the default
// (section 5, case 17), on the one transport whose sessions have them.
func TestSessionDeclarations(t *testing.T) {
	r, s := newSessionRecipient()
	r.try(middleware.Govern(r.server, policydecl.Tool, "governed", onlyUser))
	h, err := middleware.Handler(r.server, config(), server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	plain := listenHTTP(t, h, r.ran)
	id := openKnown(t, plain, s)
	addToSession(t, r, id)
	for _, l := range []namedLine{{"HTTP JSON", plain}, {"HTTP SSE", plain.streaming()}} {
		for _, rt := range []route{
			{name: "own tool", request: call("own", ""), policy: byUser, runs: "own"},
			{name: "tool without a policy", request: call("bare", ""), policy: byDefault, runs: "bare"},
			{name: "tool in place of a global one", request: call("export", ""), policy: bySelfUser, runs: "own export"},
			{name: "tool in place of a task tool", request: call("texport", ""), policy: bySelfUser, runs: "own texport"},
			{name: "tool of a governed name", request: call("governed", ""), policy: byUser, runs: "governed"},
			{name: "stricter than the global one", request: call("search", ""), policy: byUser, runs: "own search"},
			{name: "resource", request: read("own://resource", ""), policy: byUser, runs: "own resource"},
			{name: "template", request: read("own://template/1", ""), policy: byUser, runs: "own template"},
			{name: "template in another spelling", request: read("OWN://template/%31", ""), policy: byUser},
			{name: "template completion", request: complete(`{"type":"ref/resource","uri":"own://template/{id}"}`), policy: byUser, runs: "complete resource"},
			{name: "resource completion", request: complete(`{"type":"ref/resource","uri":"own://resource"}`), policy: byUser, runs: "complete resource"},
			{name: "subscription", request: request{method: "resources/subscribe", params: `"uri":"own://resource"`}, policy: byUser, effects: []string{"hook:subscribe", "hook:subscribed"}},
		} {
			for _, lb := range labels {
				t.Run(l.name+"/"+rt.name+"/"+lb.name, func(t *testing.T) {
					a := l.line.(*httpLine).exchangeIn(t, legacy, rt.request.with(lb.label), id)
					want := lb.refusalFor(rt.policy)
					switch {
					case rt.runs == "" && rt.effects == nil: // mcp-go may find it or not
						if got := a.reply(t); want != "" && got.Result != nil {
							t.Errorf("%s", a.messages)
						}
						if want != "" {
							sameCounts(t, r.ran.take())
						}
						r.ran.take()
					case want != "":
						checkRefused(t, l, legacy, a, "1", want)
					default:
						checkAccepted(t, namedLine{"", l.line}, rt, a, "1")
					}
				})
			}
		}
	}
	other := openKnown(t, plain, s)
	a := plain.exchangeIn(t, legacy, call("search", labelV), other)
	if a.reply(t).Error != nil {
		t.Errorf("another session: %s", a.messages)
	}
	sameCounts(t, r.ran.take(), "search")
}

func addToSession(t *testing.T, r *recipient, id string) {
	t.Helper()
	for _, err := range []error{
		middleware.AddSessionTool(r.server, id, mcp.NewTool("own"), onlyUser, r.tool("own")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("bare"), noPolicy, r.tool("bare")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("export"), noPolicy, r.tool("own export")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("texport"), noPolicy, r.tool("own texport")),
		r.server.AddSessionTool(id, mcp.NewTool("governed"), r.tool("governed")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("search"), onlyUser, r.tool("own search")),
		middleware.AddSessionResource(r.server, id, mcp.NewResource("own://resource", "r"), onlyUser, r.resource("own resource")),
		middleware.AddSessionResourceTemplate(r.server, id, mcp.NewResourceTemplate("own://template/{id}", "t"), onlyUser, r.template("own template")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := middleware.AddSessionTool(r.server, id, mcp.NewTool("bad"), policydecl.AcceptFrom("User"), nothing); err == nil {
		t.Error("a mistaken policy was taken")
	}
	if err := middleware.AddSessionTool(r.server, "no such session", mcp.NewTool("x"), onlyUser, nothing); err == nil {
		t.Error("a session that does not exist")
	}
}

// TestLooserSessionDeclarations: a policy on a session's own declaration replaces
// the default, it is not merged with it (P5), on every route that reaches it.
func TestLooserSessionDeclarations(t *testing.T) {
	r, s := newSessionRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	loose := policydecl.AcceptFrom("user", "unverified")
	for _, err := range []error{
		middleware.AddSessionTool(r.server, id, mcp.NewTool("own"), loose, r.tool("own")),
		middleware.AddSessionResource(r.server, id, mcp.NewResource("own://resource", "r"), loose, r.resource("own resource")),
		middleware.AddSessionResourceTemplate(r.server, id, mcp.NewResourceTemplate("own://template/{id}", "t"), loose, r.template("own template")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, req := range map[string]request{
		"tool": call("own", labelX), "resource": read("own://resource", labelX), "template": read("own://template/1", labelX),
		"resource completion": complete(`{"type":"ref/resource","uri":"own://resource"}`).with(labelX),
		"template completion": complete(`{"type":"ref/resource","uri":"own://template/{id}"}`).with(labelX),
		"subscription":        {method: "resources/subscribe", params: `"uri":"own://resource"`, label: labelX},
	} {
		if a := l.exchangeIn(t, legacy, req, id); a.reply(t).Error != nil {
			t.Errorf("%s: %s", name, a.messages)
		}
	}
}

// TestPolicyInMeta: a policy that stands in a declaration's _meta without a helper's
// help is published, so it is enforced as well (D4): that of a tool or prompt
// whenever it was registered, that of a resource, and of a prompt for completions,
// when it was there before the gate.
func TestPolicyInMeta(t *testing.T) {
	meta := func() *mcp.Meta {
		return &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"user"}}}}
	}
	register := func(r *recipient, suffix string) {
		tool := mcp.NewTool("tool" + suffix)
		prompt, resource := mcp.NewPrompt("prompt"+suffix), mcp.NewResource("meta://resource"+suffix, "r")
		tool.Meta, prompt.Meta, resource.Meta = meta(), meta(), meta()
		r.server.AddTool(tool, r.tool("tool"))
		r.server.AddPrompt(prompt, noPrompt)
		r.server.AddResource(resource, r.resource("resource"))
	}
	r := newRecipient()
	register(r, "1")
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	register(r, "2")
	l := namedLine{"HTTP JSON", listenHTTP(t, h, r.ran)}
	for _, n := range []string{"1", "2"} {
		for name, req := range map[string]request{
			"tool":                call("tool"+n, labelV),
			"prompt":              {method: "prompts/get", params: `"name":"prompt` + n + `"`, name: "prompt" + n, label: labelV},
			"resource":            read("meta://resource"+n, labelV),
			"prompt completion":   complete(`{"type":"ref/prompt","name":"prompt` + n + `"}`).with(labelV),
			"resource completion": complete(`{"type":"ref/resource","uri":"meta://resource` + n + `"}`).with(labelV),
		} {
			if n == "2" && (strings.HasPrefix(name, "resource") || strings.HasSuffix(name, "completion")) {
				continue // use a helper
			}
			t.Run(name+" "+n, func(t *testing.T) {
				checkRefused(t, l, modern, l.line.exchange(t, modern, req), "1", refusal(rejectedV, byUser))
			})
		}
	}
}

// TestPolicyInHiddenMeta: mcp-go does not show which templates and task tools a
// server has, so a policy that would be published and perhaps not enforced stops the
// server at construction (D4).
func TestPolicyInHiddenMeta(t *testing.T) {
	r := newRecipient()
	meta := &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"user"}}}}
	template, task := mcp.NewResourceTemplate("meta://template/{id}", "t"), withTask("task", mcp.TaskSupportRequired)
	template.Meta, task.Meta = meta, meta
	r.server.AddResourceTemplate(template, r.template("template"))
	r.server.AddTaskTool(task, func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		return &mcp.CreateTaskResult{}, nil
	})
	g, err := middleware.New(r.server, config())
	if g != nil || err == nil {
		t.Fatalf("%v, %v", g, err)
	}
	wantMistakes(t, err, `templates["meta://template/{id}"]`, `tools["task"]`)
}
