package middleware_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// wantMistakes asserts that err holds exactly the mistakes at the given paths, each
// with a reason and a single printable line.
func wantMistakes(t testing.TB, err error, paths ...string) {
	t.Helper()
	got := map[string]int{}
	for e := range flowerrors.All(err) {
		got[e.Path]++
		if e.Reason == "" || e.Detail == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
			t.Errorf("a poor error: %q, reason %q", e.Error(), e.Reason)
		}
	}
	if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, slices.Sorted(slices.Values(paths))) {
		t.Errorf("mistakes at\n %q\nwant\n %q", list, slices.Sorted(slices.Values(paths)))
	}
}

func nothing(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(""), nil
}

func noResource(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return nil, nil
}

func noPrompt(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

// TestAllMistakesAtOnce: New reports the mistakes of the configuration and of every
// declaration together, each with its path (P6), and installs nothing.
func TestAllMistakesAtOnce(t *testing.T) {
	s := server.NewMCPServer("x", "1", server.WithResourceCapabilities(true, true), server.WithMetaPropagator(tracing.NoopMetaPropagator()))
	bad := policydecl.AcceptFrom("user", "User")
	meta := mcp.NewTool("raw")
	meta.Meta = &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": "user"}}}
	s.AddTool(meta, nothing)
	rawResource := mcp.NewResource("x://raw", "raw")
	rawResource.Meta = &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"*"}}}}
	s.AddResource(rawResource, noResource)
	fails := []error{
		middleware.AddTool(s, mcp.NewTool("a"), bad, nothing),
		middleware.AddTaskTool(s, withTask("b", mcp.TaskSupportRequired), bad, noTask),
		middleware.AddPrompt(s, mcp.NewPrompt("p"), bad, noPrompt),
		middleware.AddResource(s, mcp.NewResource("no-scheme", "r"), onlyUser, noResource),
		middleware.AddResourceTemplate(s, mcp.NewResourceTemplate("x://{/a}", "t"), onlyUser, noResource),
		middleware.Govern(s, policydecl.Prefix, "x://y", onlyUser),
		middleware.Govern(s, policydecl.Tool, "", onlyUser),
		middleware.Govern(s, policydecl.Tool, "g", noPolicy),
		middleware.Govern(s, policydecl.TargetKind(99), "k", onlyUser),
	}
	if err := middleware.AddTool(s, mcp.NewTool("twice"), onlyUser, nothing); err != nil {
		t.Error(err)
	}
	fails = append(fails, middleware.AddTool(s, mcp.NewTool("twice"), onlyUser, nothing))
	for i, err := range fails {
		if err == nil {
			t.Errorf("helper %d took a mistake", i)
		}
	}
	g, err := middleware.New(s, middleware.Config{
		URI: "relative", Default: policydecl.AcceptFrom("*"), Mode: 7, Detail: 7, Code: -32000,
		Limits:   policydecl.Limits{Contributors: 1},
		Matchers: map[string]policydecl.Matcher{"Nonsense": nil},
	})
	if g != nil || err == nil {
		t.Fatalf("%v, %v", g, err)
	}
	for _, path := range []string{
		"mode", "detail", "code", "limits", "uri", "default.acceptFrom[0]", "metaPropagator", `matchers["Nonsense"]`,
		`tools["a"].acceptFrom[1]`, `tools["b"].acceptFrom[1]`, `tools["raw"]`, `tools["twice"]`, `tools[""]`, `tools["g"]`,
		`prompts["p"].acceptFrom[1]`, `resources["no-scheme"]`, `resources["x://raw"]`, `templates["x://{/a}"]`, `prefixes["x://y"]`,
	} {
		found := false
		for e := range flowerrors.All(err) {
			found = found || strings.HasPrefix(e.Path, path)
		}
		if !found {
			t.Errorf("nothing about %s in\n%v", path, err)
		}
	}
	if s.GetHooks() != nil {
		t.Error("hooks were installed all the same")
	}
	if s.GetTool("a") != nil {
		t.Error("a tool with a mistaken policy was registered")
	}
}

// TestEachMistakeAlone: one mistake gives one error at one path.
func TestEachMistakeAlone(t *testing.T) {
	for path, change := range map[string]func(*middleware.Config){
		"mode":                  func(c *middleware.Config) { c.Mode = 9 },
		"detail":                func(c *middleware.Config) { c.Detail = 9 },
		"code":                  func(c *middleware.Config) { c.Code = -32602 },
		"uri":                   func(c *middleware.Config) { c.URI = "" },
		"default.acceptFrom[1]": func(c *middleware.Config) { c.Default = policydecl.AcceptFrom("self", " user") },
	} {
		cfg := config()
		change(&cfg)
		r := newRecipient()
		g, err := middleware.New(r.server, cfg)
		if g != nil || err == nil {
			t.Errorf("%s: %v, %v", path, g, err)
		}
		wantMistakes(t, err, path)
		// The next try with a sound configuration works.
		if _, err := middleware.New(r.server, config()); err != nil {
			t.Errorf("after %s: %v", path, err)
		}
	}
}

// TestMistakesAtRunTime: a helper called while the gate serves takes no mistake
// either, and leaves what was there.
func TestMistakesAtRunTime(t *testing.T) {
	r := newRecipient()
	if _, err := middleware.New(r.server, config()); err != nil {
		t.Fatal(err)
	}
	err := middleware.AddTool(r.server, mcp.NewTool("late"), policydecl.AcceptFrom("com.example.tier:gold"), nothing)
	if err == nil || r.server.GetTool("late") != nil {
		t.Errorf("a token that nothing can match: %v", err)
	}
	if err := middleware.AddResource(r.server, mcp.NewResource("records://customers", "again"), onlyUser, noResource); err == nil {
		t.Error("a second declaration of one resource")
	}
	var config *flowerrors.ConfigError
	if !errors.As(err, &config) {
		t.Errorf("%T", err)
	}
}

// Without a server every function says so, where mcp-go's would panic.
func TestNoServer(t *testing.T) {
	p := policydecl.AcceptFrom("user")
	template := mcp.NewResourceTemplate("x://{id}", "x")
	_, newErr := middleware.New(nil, middleware.Config{URI: bxURI})
	for name, err := range map[string]error{
		"New":                        newErr,
		"AddTool":                    middleware.AddTool(nil, mcp.NewTool("a"), p, nothing),
		"AddTaskTool":                middleware.AddTaskTool(nil, mcp.NewTool("a"), p, func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) { return nil, nil }),
		"AddPrompt":                  middleware.AddPrompt(nil, mcp.NewPrompt("a"), p, noPrompt),
		"AddResource":                middleware.AddResource(nil, mcp.NewResource("x://a", "a"), p, noResource),
		"AddResourceTemplate":        middleware.AddResourceTemplate(nil, template, p, noResource),
		"AddSessionTool":             middleware.AddSessionTool(nil, "1", mcp.NewTool("a"), p, nothing),
		"AddSessionResource":         middleware.AddSessionResource(nil, "1", mcp.NewResource("x://a", "a"), p, noResource),
		"AddSessionResourceTemplate": middleware.AddSessionResourceTemplate(nil, "1", template, p, noResource),
		"Govern":                     middleware.Govern(nil, policydecl.Tool, "a", p),
	} {
		wantMistakes(t, err, "server")
		if err == nil {
			t.Error(name, "takes a server that is nil")
		}
	}
	if err := middleware.AddResourceTemplate(nil, mcp.ResourceTemplate{}, p, noResource); err == nil {
		t.Error("a template that is none, for no server")
	}
}

// A name that the server has not got is answered with those that it has.
func TestUnknownNameListsNames(t *testing.T) {
	f := bxServer(t, false)
	cfg := bxConfig()
	cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "summarise", Mode: middleware.DangerouslyReport}}
	_, err := middleware.New(f.srv, cfg)
	if err == nil || !strings.Contains(err.Error(), `it has "export", "hexport", "search", "texport"`) {
		t.Error(err)
	}
}
