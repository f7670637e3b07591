package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// plServer has one of each kind without a policy of its own, which Govern governs, and one
// that nothing governs but the default.
func plServer() *recipient {
	r := newRecipient()
	hidden := func(_ context.Context, prompts []mcp.Prompt) []mcp.Prompt {
		for i := range prompts {
			prompts[i].Meta = nil // built anew, without what stands in _meta
		}
		return prompts
	}
	server.WithPromptFilter(hidden)(r.server)
	r.server.AddTool(mcp.NewTool("a-plain"), nothing)
	r.server.AddTool(mcp.NewTool("a-tool"), nothing)
	r.server.AddPrompt(mcp.NewPrompt("a-prompt"), noPrompt)
	r.server.AddResource(mcp.NewResource("a://resource", "a-resource"), noResource)
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("b://{id}", "a-template"), noResource)
	policy := policydecl.AcceptFrom("user", "host")
	r.try(middleware.Govern(r.server, policydecl.Tool, "a-tool", policy))
	r.try(middleware.Govern(r.server, policydecl.Prompt, "a-prompt", policy))
	r.try(middleware.Govern(r.server, policydecl.Resource, "a://resource", policy))
	r.try(middleware.Govern(r.server, policydecl.Template, "b://{id}", policy))
	return r
}

// D1, D4: what governs a declaration is what lists say of it, wherever that was declared: by
// Govern, by overrides besides, or by a helper before somebody has registered the thing
// again without a policy.
func TestPublishedWhateverGoverns(t *testing.T) {
	r := plServer()
	g, lines := everywhere(t, r, config())
	lists := map[string]struct{ list, name string }{
		"tools/list": {"tools", "a-tool"}, "prompts/list": {"prompts", "a-prompt"},
		"resources/list": {"resources", "a-resource"}, "resources/templates/list": {"resourceTemplates", "a-template"},
	}
	check := func(when, method, list, name, policy string) {
		t.Helper()
		for _, l := range lines {
			for _, e := range eras {
				got := listed(t, l.line.exchange(t, e, request{method: method}), list)[name]
				ok := strings.HasSuffix(got, `,"flowPolicy":`+policy+`}`) && strings.Count(got, policy) == 2
				if policy == "" {
					ok = got != "" && !strings.Contains(got, "flowPolicy")
				}
				if !ok {
					t.Errorf("%s, %s in %s: %s is %s, want %s", when, l.name, e, name, got, policy)
				}
			}
		}
	}
	for method, d := range lists {
		check("Govern", method, d.list, d.name, `{"acceptFrom":["user","host"]}`)
	}
	check("the default", "tools/list", "tools", "a-plain", "")
	check("a filter without _meta", "prompts/list", "prompts", "brief", `{"acceptFrom":["user"]}`)

	apMust(t, g, overrides.Overrides{Targets: []overrides.Target{
		apTarget(policydecl.Tool, "a-tool", "user", 0), apTarget(policydecl.Prompt, "a-prompt", "user", 0),
		apTarget(policydecl.Resource, "a://resource", "user", 0), apTarget(policydecl.Template, "b://{id}", "user", 0),
	}})
	for method, d := range lists {
		check("overrides", method, d.list, d.name, `{"acceptFrom":["user"]}`)
	}
	apMust(t, g, overrides.Overrides{})

	r.try(middleware.AddTool(r.server, mcp.NewTool("again"), policydecl.AcceptFrom("user", "unverified"), nothing))
	check("a helper", "tools/list", "tools", "again", `{"acceptFrom":["user","unverified"]}`)
	r.server.AddTool(mcp.NewTool("again"), nothing)
	check("again without", "tools/list", "tools", "again", `{"acceptFrom":["user"]}`)
}

// D1, D4: a session's tool without a policy is called by that of the global tool of its name, so
// lists say that.
func TestPublishedForSessionTool(t *testing.T) {
	r, s := newSessionRecipient()
	h, err := middleware.Handler(r.server, config(), server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	r.try(middleware.AddSessionTool(r.server, id, mcp.NewTool("export"), policydecl.Policy{}, r.tool("export")))
	by := listed(t, l.exchangeIn(t, legacy, request{method: "tools/list"}, id), "tools")
	if !strings.HasSuffix(by["export"], `,"flowPolicy":{"acceptFrom":["self","user"]}}`) {
		t.Errorf("%s", by)
	}
}
