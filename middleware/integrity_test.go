package middleware_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// tampering is something that replaces or extends the gate behind its back (G6).
// hits says which routes it could change; those refuse even what the policy
// accepts. The others go on as they were.
type tampering struct {
	name string
	do   func(r *recipient)
	hits func(rt route) bool
}

func all(route) bool { return true }

func method(names ...string) func(route) bool {
	return func(rt route) bool { return slices.Contains(names, rt.request.method) }
}

var tamperings = []tampering{
	{"hooks replaced", func(r *recipient) {
		h := &server.Hooks{}
		h.AddBeforeSubscribe(func(context.Context, any, *mcp.SubscribeRequest) { r.ran.add("hook:subscribe") })
		h.AddBeforeSubscriptionsListen(func(context.Context, any, *mcp.SubscriptionsListenRequest) { r.ran.add("hook:listen") })
		server.WithHooks(h)(r.server)
	}, all},
	{"hooks taken away", func(r *recipient) { server.WithHooks(nil)(r.server) }, all},
	{"hook lists emptied", func(r *recipient) { *r.hooks = server.Hooks{} }, all},
	{"hooks of another gated server", func(r *recipient) {
		other := newRecipient()
		if _, err := middleware.New(other.server, config()); err != nil {
			panic(err)
		}
		server.WithHooks(other.hooks)(r.server)
	}, all},
	{"hook before a call appended", func(r *recipient) {
		r.hooks.AddBeforeCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest) {
			req.Params.Name = "export"
			req.Params.Task = &mcp.TaskParams{}
		})
	}, all},
	{"hook before a read appended", func(r *recipient) {
		r.hooks.AddBeforeReadResource(func(_ context.Context, _ any, req *mcp.ReadResourceRequest) {
			req.Params.URI = "records://customers"
		})
	}, all},
	{"hook before a prompt appended", func(r *recipient) {
		r.hooks.AddBeforeGetPrompt(func(_ context.Context, _ any, req *mcp.GetPromptRequest) { req.Params.Name = "brief" })
	}, all},
	{"hook before a completion appended", func(r *recipient) {
		r.hooks.AddBeforeComplete(func(_ context.Context, _ any, req *mcp.CompleteRequest) {
			req.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "brief"}
		})
	}, all},
	{"initialisation hook appended", func(r *recipient) {
		r.hooks.AddOnRequestInitialization(func(context.Context, any, any) error { return nil })
	}, all},
	{"tool filter appended", func(r *recipient) {
		server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
			return append([]mcp.Tool{mcp.NewTool("export"), mcp.NewTool("texport"), mcp.NewTool("hexport"), mcp.NewTool("search")}, tools...)
		})(r.server)
	}, method("tools/call")},
	{"prompt filter appended", func(r *recipient) {
		server.WithPromptFilter(func(_ context.Context, p []mcp.Prompt) []mcp.Prompt { return append(p, mcp.NewPrompt("brief")) })(r.server)
	}, method("prompts/get")},
	{"tool middleware appended", func(r *recipient) {
		r.server.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc { return next })
	}, func(rt route) bool { return rt.request.method == "tools/call" && rt.runs != "texport" }},
	{"resource middleware appended", func(r *recipient) {
		server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc { return next })(r.server)
	}, method("resources/read")},
	{"prompt middleware appended", func(r *recipient) {
		server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc { return next })(r.server)
	}, method("prompts/get")},
	{"propagator replaced", func(r *recipient) { server.WithMetaPropagator(tracing.NoopMetaPropagator())(r.server) },
		method("tools/call", "resources/read", "prompts/get", "completion/complete")},
	{"propagator taken away", func(r *recipient) { server.WithMetaPropagator(nil)(r.server) },
		method("tools/call", "resources/read", "prompts/get", "completion/complete")},
}

// TestTampering: whatever is done to a gated server, a request that the policy
// refuses runs nothing, on every route and transport and in both eras; and where
// the change could matter, accepted ones are refused as well, with an error that
// is no flow refusal (G6).
func TestTampering(t *testing.T) {
	for _, tp := range tamperings {
		t.Run(tp.name, func(t *testing.T) {
			r := newRecipient()
			g, err := middleware.New(r.server, config())
			if err != nil {
				t.Fatal(err)
			}
			tp.do(r) // mcp-go has no lock there: before it serves, or never
			for _, l := range serve(t, g, r) {
				if l.name == "HTTP SSE" && strings.HasPrefix(tp.name, "hook") {
					continue // the hook that opens the stream may be gone
				}
				for _, e := range eras {
					for _, rt := range routes {
						tampered(t, l, e, rt, tp.hits(rt))
					}
				}
				stillServes(t, l, tp.name)
			}
		})
	}
}

func tampered(t *testing.T, l namedLine, e era, rt route, hit bool) {
	t.Helper()
	a := l.line.exchange(t, e, rt.request.with(labelX))
	if got := a.reply(t); got.Result != nil || got.Error == nil {
		t.Errorf("%s, X on %s in %s: %s", rt.name, l.name, e, a.messages)
	}
	sameCounts(t, l.line.took(t))
	if !hit || rt.only != "" && rt.only != e {
		return
	}
	a = l.line.exchange(t, e, rt.request.with(labelU))
	if got := a.reply(t); got.Result != nil || got.Error == nil || isRefusal(got.Error) {
		t.Errorf("%s, U on %s in %s: %s", rt.name, l.name, e, a.messages)
	}
	sameCounts(t, l.line.took(t))
}

// stillServes asserts that what is not gated still works. Without its hooks or its
// propagator the gate cannot tell a list of tools from a call that nobody
// announced, so such a list may be empty; it is no error.
func stillServes(t *testing.T, l namedLine, tampering string) {
	t.Helper()
	blind := strings.HasPrefix(tampering, "hook") || strings.HasPrefix(tampering, "init") || strings.HasPrefix(tampering, "propagator")
	for m, want := range map[string]string{
		"ping": "{}", "tools/list": `"export"`, "resources/list": "records://customers",
		"resources/templates/list": "notes://item/{id}", "prompts/list": `"brief"`,
	} {
		got := l.line.exchange(t, legacy, request{method: m}).reply(t)
		if got.Error != nil {
			t.Errorf("%s on %s: %s", m, l.name, got.Error)
		}
		if strings.HasPrefix(m, "resources") || m == "ping" || !blind {
			if !strings.Contains(string(got.Result), want) {
				t.Errorf("%s on %s: %s", m, l.name, got.Result)
			}
		}
	}
}

// TestMending: a server whose hooks are put back serves again (G6: refused until
// it is mended).
func TestMending(t *testing.T) {
	r := newRecipient()
	g, err := middleware.New(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	server.WithHooks(&server.Hooks{})(r.server)
	t.Run("broken", func(t *testing.T) {
		for _, l := range serve(t, g, r) {
			if l.name == "HTTP SSE" {
				continue // the hook that opens the stream is gone
			}
			if got := l.line.exchange(t, modern, call("export", labelU)).reply(t); got.Error == nil {
				t.Errorf("%s: %s", l.name, got.Result)
			}
			sameCounts(t, l.line.took(t))
		}
	})
	server.WithHooks(r.hooks)(r.server)
	t.Run("mended", func(t *testing.T) {
		for _, l := range serve(t, g, r) {
			if got := l.line.exchange(t, modern, call("export", labelU)).reply(t); got.Error != nil {
				t.Errorf("%s: %s", l.name, got.Error)
			}
			sameCounts(t, l.line.took(t), "export")
		}
	})
}

// TestSharedHooks: two servers that share one *server.Hooks do not judge each
// other's requests.
func TestSharedHooks(t *testing.T) {
	gated := newRecipient()
	open := newRecipient(server.WithHooks(gated.hooks))
	strict := newRecipient(server.WithHooks(gated.hooks))
	h, err := middleware.Handler(gated.server, config())
	if err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Default = policydecl.AcceptFrom("host")
	hs, err := middleware.Handler(strict.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	lg, lo, ls := listenHTTP(t, h, gated.ran), listenHTTP(t, server.NewStreamableHTTPServer(plain(open.server)), open.ran), listenHTTP(t, hs, strict.ran)
	for _, e := range eras {
		for _, rt := range routes {
			if rt.endless || rt.only != "" || len(rt.effects) > 0 {
				continue
			}
			if a := lg.exchange(t, e, rt.request.with(labelX)); !isRefusal(a.reply(t).Error) {
				t.Errorf("gated %s: %s", rt.name, a.messages)
			}
			if a := lo.exchange(t, e, rt.request.with(labelX)); a.reply(t).Error != nil {
				t.Errorf("ungated %s: %s", rt.name, a.messages)
			}
			sameCounts(t, lg.took(t))
			sameCounts(t, lo.took(t), rt.runs)
			if a := lg.exchange(t, e, rt.request.with(labelU)); a.reply(t).Error != nil {
				t.Errorf("gated %s: %s", rt.name, a.messages)
			}
			sameCounts(t, lg.took(t), rt.runs)
		}
		a := ls.exchange(t, e, call("search", labelU))
		if got := string(a.reply(t).Error); got != refusal(`{"assurance":"user","principal":"urn:mcp:user"}`, `"host"`) {
			t.Errorf("strict: %s", a.messages)
		}
		sameCounts(t, ls.took(t))
	}
}

// TestNewTwice: a server has one gate; a second one would double everything.
func TestNewTwice(t *testing.T) {
	r := newRecipient()
	g, err := middleware.New(r.server, config())
	if err != nil || g == nil {
		t.Fatal(err)
	}
	if again, err := middleware.New(r.server, config()); err == nil || again != nil {
		t.Errorf("a second gate: %v, %v", again, err)
	}
	if again, err := middleware.Handler(r.server, config()); err == nil || again != nil {
		t.Errorf("a second handler: %v, %v", again, err)
	}
	if err := middleware.ServeStdio(r.server, config()); err == nil {
		t.Error("a second stdio server")
	}
	if c, err := middleware.NewInProcessClient(r.server, config()); err == nil || c != nil {
		t.Error("a second client")
	}
	if _, err := g.Handler(); err != nil {
		t.Errorf("the first gate on a further transport: %v", err)
	}
	off, cfg := newRecipient(), config()
	cfg.Mode = middleware.DangerouslyOff
	if _, err := middleware.New(off.server, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := middleware.New(off.server, config()); err == nil {
		t.Error("a second gate behind one that is off")
	}
}

// TestNilServer: no server is a mistake, not a panic.
func TestNilServer(t *testing.T) {
	if g, err := middleware.New(nil, config()); err == nil || g != nil {
		t.Errorf("%v, %v", g, err)
	}
}

// TestPropagatorIsChained: the author's propagator goes into the configuration and
// sees what it would see without a gate, on the way in and out.
func TestPropagatorIsChained(t *testing.T) {
	p := &countingPropagator{}
	r := newRecipient()
	cfg := config()
	cfg.MetaPropagator = p
	var seen any
	r.try(middleware.AddTool(r.server, mcp.NewTool("trace"), noPolicy, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen = ctx.Value(traceKey{})
		return mcp.NewToolResultText(""), nil
	}))
	_, lines := everywhere(t, r, cfg)
	for _, l := range lines {
		req := call("trace", labelU)
		req.meta = `"traceparent":"00-1"`
		if got := l.line.exchange(t, modern, req).reply(t); got.Error != nil || seen != "00-1" {
			t.Errorf("%s: handler saw %v; %s", l.name, seen, got.Error)
		}
		// It edits what it was given, after the gate has read it.
		if a := l.line.exchange(t, modern, call("export", labelX)); !isRefusal(a.reply(t).Error) {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		seen = nil
	}
	if _, err := middleware.New(newRecipient(server.WithMetaPropagator(p)).server, config()); err == nil {
		t.Error("a propagator in mcp-go's slot was overwritten")
	}
}

type traceKey struct{}

type countingPropagator struct{}

func (*countingPropagator) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }

func (*countingPropagator) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	if meta == nil {
		return ctx
	}
	v := meta.AdditionalFields["traceparent"]
	meta.AdditionalFields[keyFlowOrigin] = map[string]any{"contributors": []any{map[string]any{"assurance": "user"}}, "complete": true}
	return context.WithValue(ctx, traceKey{}, v)
}
