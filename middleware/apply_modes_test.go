package middleware_test

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestApplyKeepsTheStricterMode: a policy that overrides give a prefix does not lose the mode
// in which the default counts there, when another reading of the URI leads to a prefix that
// is only reported (R2, M1).
func TestApplyKeepsTheStricterMode(t *testing.T) {
	r := newRecipient()
	r.try(middleware.AddResource(r.server, mcp.NewResource("deep://h/a/", "a"), apPolicy(apWide), r.resource("a")))
	cfg := config()
	cfg.Mode = mtReport
	cfg.Modes = []middleware.TargetMode{
		{Kind: policydecl.Prefix, Name: "deep://h/a/", Mode: mtEnforce}, {Kind: policydecl.Prefix, Name: "deep://h/", Mode: mtReport},
	}
	g, lines := everywhere(t, r, cfg)
	ask := apSubscribe("deep://h/a/..%2Fb").with(labelX)
	for range 2 {
		for _, l := range lines {
			if got := apVerdict(t, l.line, legacy, ask); got != mtDefault {
				t.Errorf("%s: %q", l.name, got)
			}
		}
		apMust(t, g, apOver(apTarget(policydecl.Prefix, "deep://h/a/", "user,unverified", 0)))
	}
}

// mtLeft is a server whose template answers at the URI of a resource that is gone, but whose
// policy is in force. No helper knows the template, so the default counts besides.
func mtLeft(t *testing.T) *recipient {
	t.Helper()
	r := newRecipient()
	r.try(middleware.AddResource(r.server, mcp.NewResource("left://h/1", "one"), apPolicy(apWide), r.resource("one")))
	r.server.DeleteResources("left://h/1")
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("left://h/{+id}", "left"), r.template("left"))
	return r
}

// TestModesOfWhatIsLeft: what no helper knows is judged by the default in the strictest mode
// of all that matches, whichever is declared first.
func TestModesOfWhatIsLeft(t *testing.T) {
	template := middleware.TargetMode{Kind: policydecl.Template, Name: "left://h/{+id}"}
	prefix := middleware.TargetMode{Kind: policydecl.Prefix, Name: "left://h/"}
	for _, c := range []struct {
		template, prefix middleware.Mode
		want             string
		mode             middleware.Mode
	}{
		{mtReport, mtEnforce, mtDefault, mtEnforce}, {mtEnforce, mtReport, mtDefault, mtEnforce}, {mtOff, mtEnforce, mtDefault, mtEnforce},
		{mtReport, mtOff, "ran", mtReport}, {mtReport, 0, "ran", mtReport}, {0, mtReport, "ran", mtReport}, {0, 0, mtDefault, mtEnforce},
	} {
		t.Run(c.template.String()+","+c.prefix.String(), func(t *testing.T) {
			book := newRecordBook()
			cfg := book.config()
			for _, target := range []struct {
				middleware.TargetMode
				mode middleware.Mode
			}{{template, c.template}, {prefix, c.prefix}} {
				if target.Mode = target.mode; target.mode != 0 {
					cfg.Modes = append(cfg.Modes, target.TargetMode)
				}
			}
			_, lines := everywhere(t, mtLeft(t), cfg)
			for _, l := range lines {
				for _, e := range eras {
					mtAsk{read("left://h/1", ""), labelX, c.want, decision.Refused, c.mode}.check(t, l, e, book)
				}
			}
		})
	}
}

// TestModesOfWhatComesInstead: a resource that is registered past the helpers, where one with
// a policy was, is judged in its own mode: by the default, and by what stands in its _meta.
func TestModesOfWhatComesInstead(t *testing.T) {
	for _, c := range []struct {
		name                     string
		server, prefix, resource middleware.Mode
		meta                     *mcp.Meta
		want                     string
		mode                     middleware.Mode
	}{
		{"its own mode", mtEnforce, 0, mtReport, nil, "ran", mtReport},
		{"the stricter of two", mtReport, mtEnforce, mtReport, nil, mtDefault, mtEnforce},
		{"by hand, below a prefix", mtReport, mtEnforce, 0, apHandMeta("user", "verified"), "user,verified", mtEnforce},
		{"by hand, enforced", mtReport, mtReport, mtEnforce, apHandMeta("user", "verified"), "user,verified", mtEnforce},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, book := mtLeft(t), newRecordBook()
			cfg := book.config()
			cfg.Mode = c.server
			if c.prefix != 0 {
				cfg.Modes = append(cfg.Modes, middleware.TargetMode{Kind: policydecl.Prefix, Name: "left://h/", Mode: c.prefix})
			}
			if c.resource != 0 {
				cfg.Modes = append(cfg.Modes, middleware.TargetMode{Kind: policydecl.Resource, Name: "left://h/1", Mode: c.resource})
			}
			_, lines := everywhere(t, r, cfg)
			instead := mcp.NewResource("left://h/1", "one")
			instead.Meta = c.meta
			r.server.AddResource(instead, r.resource("instead"))
			for _, l := range lines {
				for _, e := range eras {
					mtAsk{read("left://h/1", ""), labelX, c.want, decision.Refused, c.mode}.check(t, l, e, book)
				}
			}
		})
	}
}

// TestModesLeakNoURI: the record of such a read names what the server has declared, never
// the URI, which can hold what the model knows (M2).
func TestModesLeakNoURI(t *testing.T) {
	for _, mode := range []middleware.Mode{mtEnforce, mtReport} {
		t.Run(mode.String(), func(t *testing.T) {
			book := newRecordBook()
			cfg := book.config()
			cfg.Mode = mode
			_, lines := everywhere(t, mtLeft(t), cfg)
			for _, l := range lines {
				for _, e := range eras {
					_ = apVerdict(t, l.line, e, read("left://h/1?leak=ada", labelX))
					if rec := book.one(t); rec.Verdict != decision.Refused || strings.Contains(rec.Target, "ada") || !strings.HasPrefix(rec.Target, "left:") {
						t.Errorf("%s in %s: %v, target %q", l.name, e, rec, rec.Target)
					}
				}
			}
		})
	}
}
