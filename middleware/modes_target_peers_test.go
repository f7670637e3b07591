package middleware_test

import (
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestModesMistakes: every mistake in Config.Modes is reported, all at once (P6).
func TestModesMistakes(t *testing.T) {
	T, P, M, X := policydecl.Tool, policydecl.Prompt, policydecl.Template, policydecl.Prefix
	cfg := config()
	cfg.Mode = 7
	cfg.Modes = []middleware.TargetMode{
		{Kind: T, Name: "exprot", Mode: mtReport}, {Kind: T, Name: "export", Mode: mtReport}, {Kind: T, Name: "export", Mode: mtOff},
		{Kind: T, Name: "search"}, {Kind: T, Name: "hexport", Mode: 9}, {Kind: T, Mode: mtReport}, {Kind: P, Name: "search", Mode: mtReport},
		{Kind: M, Name: "notes://{", Mode: mtReport}, {Kind: X, Name: "file:///secret", Mode: mtReport}, {Kind: 9, Name: "x", Mode: mtReport},
		{Kind: T, Name: "texport", Mode: mtEnforce}, {Kind: X, Name: "gone://x/", Mode: mtOff},
	}
	g, err := middleware.New(newRecipient().server, cfg)
	got := apFaults(t, err)
	want := []string{
		`mode wrong-type`, `modes.tools["exprot"] unknown-target`, `modes.tools["export"] duplicate`, `modes.tools["search"] wrong-type`,
		`modes.tools["hexport"] wrong-type`, `modes.tools[""] missing`, `modes.prompts["search"] unknown-target`,
		`modes.templates["notes://{"] unusable-uri`, `modes.prefixes["file:///secret"] never-matches`, `modes.TargetKind(9)["x"] wrong-type`,
	}
	if g != nil || !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestModesCapability: a server says that it has a policy as long as anything of it is
// enforced, and nothing at all when everything is off (D2).
func TestModesCapability(t *testing.T) {
	const yes, no = `{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`, `{"policy":false,"default":{"acceptFrom":["self","user","host","verified"]}}`
	tool := func(mode middleware.Mode) []middleware.TargetMode {
		return []middleware.TargetMode{{Kind: policydecl.Tool, Name: "export", Mode: mode}}
	}
	for _, c := range []struct {
		server middleware.Mode
		modes  []middleware.TargetMode
		want   string
	}{
		{mtEnforce, nil, yes}, {mtEnforce, tool(mtReport), yes}, {mtReport, nil, no}, {mtReport, tool(mtOff), no},
		{mtReport, tool(mtEnforce), yes}, {mtOff, nil, ""}, {mtOff, tool(mtReport), ""}, {mtOff, tool(mtEnforce), yes},
	} {
		t.Run(c.server.String()+" "+c.want, func(t *testing.T) {
			cfg := config()
			cfg.Mode, cfg.Modes = c.server, c.modes
			g, lines := everywhere(t, newRecipient(), cfg)
			for _, l := range lines {
				apCapability(t, l, c.want)
			}
			apMust(t, g, overrides.Overrides{Mode: mtEnforce})
			for _, l := range lines {
				apCapability(t, l, yes)
			}
		})
	}
}

// TestModesOfSessions: what a session has of its own is judged in the mode of its name.
func TestModesOfSessions(t *testing.T) {
	r, s := newSessionRecipient()
	book := newRecordBook()
	cfg := book.config()
	cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "search", Mode: mtReport}, {Kind: policydecl.Resource, Name: "own://r", Mode: mtReport}}
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := g.Handler(server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	for _, err := range []error{
		middleware.AddSessionTool(r.server, id, mcp.NewTool("search"), onlyUser, r.tool("own search")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("own"), onlyUser, r.tool("own")),
		middleware.AddSessionTool(r.server, id, mcp.NewTool("export"), noPolicy, r.tool("own export")),
		middleware.AddSessionResource(r.server, id, mcp.NewResource("own://r", "r"), onlyUser, r.resource("own r")),
		middleware.AddSessionResource(r.server, id, mcp.NewResource("own://s", "s"), onlyUser, r.resource("own s")),
	} {
		r.try(err)
	}
	ask := func(l *httpLine, want mtAsk) {
		t.Helper()
		got := apVerdictOf(t, l.exchangeIn(t, legacy, want.request.with(want.label), id), want.request)
		if rec := book.one(t); got != want.want || rec.Verdict != want.verdict || rec.Mode != want.mode {
			t.Errorf("%s: %q, %v", want.request.params, got, rec)
		}
	}
	for _, l := range []*httpLine{l, l.streaming()} {
		ask(l, mtReported(call("search", ""), labelV))
		ask(l, mtRefused(call("own", ""), labelV, "user"))
		ask(l, mtRefused(call("export", ""), labelV, "self,user"))
		ask(l, mtReported(read("own://r", ""), labelV))
		ask(l, mtRefused(read("own://s", ""), labelV, "user"))
	}
	own := overrides.Target{Kind: policydecl.Tool, Name: "own", Policy: apPolicy("self,user"), Optional: true}
	apMust(t, g, apOver(own, apTarget(policydecl.Tool, "search", "-", mtEnforce), apTarget(policydecl.Resource, "own://s", "", 0)))
	for _, l := range []*httpLine{l, l.streaming()} {
		ask(l, mtRefused(call("search", ""), labelV, "user"))
		ask(l, mtRefused(call("own", ""), labelV, "self,user"))
		ask(l, mtRefused(read("own://s", ""), labelU, ""))
	}
}

// TestModesUndeclared: peers that have stated their capabilities without flow.origin are
// only reported; those that label are refused, and so are those of which nothing is known.
func TestModesUndeclared(t *testing.T) {
	for _, by := range []string{"code", "operator"} {
		book := newRecordBook()
		cfg, o := book.config(), overrides.Overrides{}
		if by == "code" {
			cfg.DangerouslyReportUndeclared = true
		} else {
			o = overrides.Overrides{DangerouslyReportUndeclared: true, DangerouslyLoosen: true}
		}
		t.Run(by, func(t *testing.T) {
			r := newRecipient()
			g, lines := everywhere(t, r, cfg)
			apMust(t, g, o)
			for _, l := range lines {
				c := &conversation{namedLine: l}
				for _, members := range []string{saysNothing, saysOrigin, `,"capabilities":{"flow":{"origin":false}}`} {
					c.initialize(t, members)
					for _, e := range eras {
						mtUndeclared(t, c, e, members, book)
					}
					c.end(t)
				}
			}
			h, err := g.Handler(server.WithStateLess(true))
			if err != nil {
				t.Fatal(err)
			}
			unknown := listenHTTP(t, h, r.ran)
			for _, req := range []request{call("export", labelX), read("records://customers", labelX), apPrompt("brief").with(labelX), apSubscribe("records://customers").with(labelX)} {
				got := apVerdictOf(t, unknown.exchangeIn(t, legacy, req, ""), req)
				if rec := book.one(t); got == "ran" || rec.Mode != mtEnforce || rec.FlowOrigin != "unknown" {
					t.Errorf("%s of an unknown peer: %q, %v", req.method, got, rec)
				}
			}
		})
	}
}

// mtUndeclared asks by every route as a peer that has said members.
func mtUndeclared(t *testing.T, c *conversation, e era, members string, book *recordBook) {
	t.Helper()
	for _, rt := range routes {
		if rt.only != "" && rt.only != e || slices.Contains(rt.effects, "task:created") {
			continue
		}
		r := rt.request.with(labelX)
		r.caps = members[len(`,"capabilities":`):]
		got, rec := apVerdictOf(t, c.ask(t, e, r), r), book.one(t)
		want, origin := mtEnforce, "declared"
		if members != saysOrigin {
			want, origin = mtReport, "undeclared"
		}
		if (got == "ran") != (want == mtReport) || rec.Mode != want || rec.Verdict != decision.Refused || rec.FlowOrigin != origin {
			t.Errorf("%s in %s, %s, peer %s: %q, %v", c.name, e, rt.name, members, got, rec)
		}
	}
}
