package middleware_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apMistakes are overrides that the fixture's server does not take, and what is wrong with
// each, in order (P6, M1).
var apMistakes = []struct {
	name string
	o    overrides.Overrides
	want []string
}{
	{"unknown tool", apOver(apTarget(policydecl.Tool, "exprot", "user", 0)), []string{`tools["exprot"] unknown-target`}},
	{"unknown prompt", apOver(apTarget(policydecl.Prompt, "breif", "user", 0)), []string{`prompts["breif"] unknown-target`}},
	{"a tool's name for a prompt", apOver(apTarget(policydecl.Prompt, "export", "user", 0)), []string{`prompts["export"] unknown-target`}},
	{"unknown with a mode alone", apOver(apTarget(policydecl.Tool, "nothing", "-", middleware.Enforce)), []string{`tools["nothing"] unknown-target`}},
	{"looser default", overrides.Overrides{Default: apPolicy("user,unverified,tofu")},
		[]string{`default.acceptFrom[1] loosens`, `default.acceptFrom[2] loosens`}},
	{"looser than the default", apOver(apTarget(policydecl.Tool, "search", "user,unverified", 0)), []string{`tools["search"].acceptFrom[1] loosens`}},
	{"in the default and not in its own", apOver(apTarget(policydecl.Tool, "export", "verified,user", 0)), []string{`tools["export"].acceptFrom[0] loosens`}},
	{"task tool", apOver(apTarget(policydecl.Tool, "texport", "self,host", 0)), []string{`tools["texport"].acceptFrom[1] loosens`}},
	{"prompt", apOver(apTarget(policydecl.Prompt, "brief", "self", 0)), []string{`prompts["brief"].acceptFrom[0] loosens`}},
	{"resource", apOver(apTarget(policydecl.Resource, "records://customers", "user,verified", 0)), []string{`resources["records://customers"].acceptFrom[1] loosens`}},
	{"resource in another spelling", apOver(apTarget(policydecl.Resource, "RECORDS://customers", "verified", 0)), []string{`resources["RECORDS://customers"].acceptFrom[0] loosens`}},
	{"template", apOver(apTarget(policydecl.Template, "notes://export{?data}", "self", 0)), []string{`templates["notes://export{?data}"].acceptFrom[0] loosens`}},
	{"prefix", apOver(apTarget(policydecl.Prefix, "file:///secret/", "host", 0)), []string{`prefixes["file:///secret/"].acceptFrom[0] loosens`}},
	{"below a prefix", apOver(apTarget(policydecl.Resource, "file:///secret/a", "host", 0)), []string{`resources["file:///secret/a"].acceptFrom[0] loosens`}},
	{"nothing declared", apOver(apTarget(policydecl.Prefix, "gone://a/", "tofu", 0)), []string{`prefixes["gone://a/"].acceptFrom[0] loosens`}},
	{"a principal", apOver(apTarget(policydecl.Tool, "export", "https://partner.example/mcp", 0)), []string{`tools["export"].acceptFrom[0] loosens`}},
	{"mode of the server", overrides.Overrides{Mode: middleware.DangerouslyReport}, []string{`mode loosens`}},
	{"mode of a tool", apOver(apTarget(policydecl.Tool, "export", "-", middleware.DangerouslyOff)), []string{`tools["export"].mode loosens`}},
	{"mode of a resource", apOver(apTarget(policydecl.Resource, "gone://a", "-", middleware.DangerouslyReport)), []string{`resources["gone://a"].mode loosens`}},
	{"undeclared", overrides.Overrides{DangerouslyReportUndeclared: true}, []string{`dangerouslyReportUndeclared loosens`}},
	{"vendor token in the default", overrides.Overrides{Default: apPolicy("user,com.example.tier:gold"), DangerouslyLoosen: true}, []string{`default.acceptFrom[1] never-matches`}},
	{"vendor token of a target", apLoose(apTarget(policydecl.Tool, "export", "com.example.tier:gold", 0)), []string{`tools["export"].acceptFrom[0] never-matches`}},
	{"twice", apOver(apTarget(policydecl.Tool, "export", "user", 0), apTarget(policydecl.Tool, "export", "self", 0)), []string{`tools["export"] duplicate`}},
	{"bad pattern", apOver(apTarget(policydecl.Template, "notes://{", "user", 0)), []string{`templates["notes://{"] unusable-uri`}},
	{"bad prefix", apOver(apTarget(policydecl.Prefix, "file:///secret", "user", 0)), []string{`prefixes["file:///secret"] never-matches`}},
	{"bad URI", overrides.Overrides{URI: "records"}, []string{`uri unusable-uri`}},
	{"the user's URI", overrides.Overrides{URI: "urn:mcp:user"}, []string{`uri reserved`}},
	{"bad token", apOver(apTarget(policydecl.Tool, "export", "User", 0)), []string{`tools["export"].acceptFrom[0] unknown-token`}},
	{"no such mode", overrides.Overrides{Mode: 9}, []string{`mode unknown-token`}},
	{"no such mode of a tool", apOver(apTarget(policydecl.Tool, "export", "-", 9)), []string{`tools["export"].mode unknown-token`}},
	{"says nothing", apOver(apTarget(policydecl.Tool, "export", "-", 0)), []string{`tools["export"] missing`}},
	{"optional resource", apOver(overrides.Target{Kind: policydecl.Resource, Name: "gone://a", Policy: onlyUser, Optional: true}), []string{`resources["gone://a"].optional unsupported`}},
	{"no such kind", apOver(apTarget(9, "export", "user", 0)), []string{`targets[0] wrong-type`}},
	{"many", overrides.Overrides{
		Default: apPolicy("user,tofu"), Mode: middleware.DangerouslyOff, DangerouslyReportUndeclared: true,
		Targets: []overrides.Target{
			apTarget(policydecl.Tool, "exprot", "user", 0),
			apTarget(policydecl.Tool, "export", "self,verified", middleware.DangerouslyReport),
			apTarget(policydecl.Prompt, "brief", "com.example.tier:gold", 0),
		},
	}, []string{
		`mode loosens`, `dangerouslyReportUndeclared loosens`, `default.acceptFrom[1] loosens`, `tools["exprot"] unknown-target`,
		`tools["export"].acceptFrom[1] loosens`, `tools["export"].mode loosens`,
		`prompts["brief"].acceptFrom[0] never-matches`, `prompts["brief"].acceptFrom[0] loosens`,
	}},
}

// TestApplyMistakes: every mistake is reported with its path and reason, all at once, by
// Apply and by New; a failing Apply changes nothing at all.
func TestApplyMistakes(t *testing.T) {
	var log apLog
	r := newRecipient()
	cfg := log.config()
	cfg.Overrides = apOver(apTarget(policydecl.Tool, "search", "user", 0))
	g, lines := everywhere(t, r, cfg)
	inside := lines[3].line
	before := apView(t, g, inside)
	log.buf.Reset()
	for _, m := range apMistakes {
		t.Run(m.name, func(t *testing.T) {
			err := g.Apply(m.o)
			if got := apFaults(t, err); !slices.Equal(got, m.want) {
				t.Errorf("Apply: %q\n   want %q", got, m.want)
			}
			if lines := log.changes(t); len(lines) > 0 {
				t.Errorf("logged %v", lines)
			}
			cfg := config()
			cfg.Overrides = m.o
			none, err := middleware.New(newRecipient().server, cfg)
			var want []string
			for _, w := range m.want {
				want = append(want, "overrides."+w)
			}
			if got := apFaults(t, err); none != nil || !slices.Equal(got, want) {
				t.Errorf("New: %q\n want %q", got, want)
			}
		})
	}
	if after := apView(t, g, inside); after != before {
		t.Errorf("a failing Apply has changed something:\n%s\nwas\n%s", after, before)
	}
}

// TestApplyMistakesBesidesTheCodes: mistakes of the code do not hide those of the overrides,
// or the other way round (P6).
func TestApplyMistakesBesidesTheCodes(t *testing.T) {
	r := newRecipient()
	cfg := config()
	cfg.URI = ""
	cfg.Default = apPolicy("User")
	cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "exprot", Mode: middleware.Enforce}}
	cfg.Overrides = overrides.Overrides{Mode: 9, Targets: []overrides.Target{apTarget(policydecl.Tool, "export", "USER", 0)}}
	_, err := middleware.New(r.server, cfg)
	got := apFaults(t, err)
	for _, want := range []string{
		`uri missing`, `default.acceptFrom[0] unknown-token`, `modes.tools["exprot"] unknown-target`,
		`overrides.mode unknown-token`, `overrides.tools["export"].acceptFrom[0] unknown-token`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}

// TestApplyHints: who misspells a name is told what may have been meant.
func TestApplyHints(t *testing.T) {
	g, err := middleware.New(newRecipient().server, config())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"exprot": `write "texport"`, "Export": `write "export"`, "sea-rch": `write "search"`, "quite another": "correct the name",
	} {
		err := g.Apply(apOver(apTarget(policydecl.Tool, name, "user", 0)))
		for e := range flowerrors.All(err) {
			if !strings.HasPrefix(e.Hint, want) && name != "exprot" || !strings.Contains(e.Hint, "optional") || e.Value != name {
				t.Errorf("%s: %+v", name, e)
			}
			if name == "exprot" && !strings.Contains(e.Hint, `export"`) {
				t.Errorf("%+v", e)
			}
		}
		o := apOver(apTarget(policydecl.Tool, name, "user", 0))
		o.Targets[0].Optional = true
		if err := g.Apply(o); err != nil {
			t.Errorf("%s, optional: %v", name, err)
		}
	}
	// A spelling of its own is what DangerouslyLoosen does not mend.
	o := apLoose(apTarget(policydecl.Prompt, "breif", "user", 0))
	if got := apFaults(t, g.Apply(o)); !slices.Equal(got, []string{`prompts["breif"] unknown-target`}) {
		t.Errorf("%q", got)
	}
}

// apGood are overrides that the fixture's server takes.
var apGood = map[string]overrides.Overrides{
	"nothing": {},
	"default": {Default: apPolicy("user,host")},
	"one URI": {URI: "https://other.example/mcp"},
	"all": {
		URI: "https://other.example/mcp", Default: apPolicy("user"), Mode: middleware.Enforce,
		Targets: []overrides.Target{
			apTarget(policydecl.Tool, "export", "user", middleware.Enforce), apTarget(policydecl.Prompt, "brief", "", 0),
			apTarget(policydecl.Resource, "gone://a", "-", middleware.Enforce), apTarget(policydecl.Prefix, "file:///a/", "user", 0),
			{Kind: policydecl.Tool, Name: "later", Policy: onlyUser, Optional: true},
		},
	},
	"loose": {
		Default: apPolicy("unverified"), Mode: middleware.DangerouslyReport, DangerouslyReportUndeclared: true, DangerouslyLoosen: true,
		Targets: []overrides.Target{apTarget(policydecl.Template, "file:///{+path}", "tofu", middleware.DangerouslyOff)},
	},
}

// TestApplyReadsBack: applying what is in force changes nothing and logs nothing; what
// changes something is one log line, with the digest before and after.
func TestApplyReadsBack(t *testing.T) {
	var log apLog
	g, lines := everywhere(t, newRecipient(), log.config())
	inside := lines[3].line
	zero := g.Settings()
	digests := map[string]string{}
	for name, o := range apGood {
		apMust(t, g, overrides.Overrides{})
		log.changes(t)
		old := g.Settings()
		apMust(t, g, o)
		got := log.changes(t)
		switch {
		case name == "nothing" && (len(got) > 0 || g.Settings() != old):
			t.Errorf("nothing: %+v, %s", got, g.Settings())
		case name != "nothing" && (len(got) != 1 || got[0].Old != old || got[0].New != g.Settings() || old == g.Settings()):
			t.Errorf("%s: logged %+v, digest %s after %s", name, got, g.Settings(), old)
		case name == "loose" && (got[0].Mode != "report" || got[0].Enforces || got[0].Level != "WARN" || len(got[0].Loose) == 0),
			name == "all" && (got[0].Mode != "enforce" || !got[0].Enforces):
			t.Errorf("%s: logged %+v", name, got)
		}
		view := apView(t, g, inside)
		log.buf.Reset()
		apMust(t, g, g.Overrides())
		if lines := log.changes(t); len(lines) > 0 {
			t.Errorf("%s: reading back logged %v", name, lines)
		}
		if again := apView(t, g, inside); again != view {
			t.Errorf("%s: reading back changed\n%s\nto\n%s", name, view, again)
		}
		log.buf.Reset()
		if want, _ := json.Marshal(o); name != "nothing" {
			if got, _ := json.Marshal(g.Overrides()); string(got) != string(want) {
				t.Errorf("%s: %s in force, want %s", name, got, want)
			}
		}
		if other, twice := digests[g.Settings()]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		digests[g.Settings()] = name
	}
	apMust(t, g, overrides.Overrides{})
	if g.Settings() != zero {
		t.Errorf("digest %s, was %s", g.Settings(), zero)
	}
}

// TestApplyOrderAndSpelling: what means the same has the same digest and no log line.
func TestApplyOrderAndSpelling(t *testing.T) {
	var log apLog
	g, err := middleware.New(newRecipient().server, log.config())
	if err != nil {
		t.Fatal(err)
	}
	export, brief := apTarget(policydecl.Tool, "export", "self,user", 0), apTarget(policydecl.Prompt, "brief", "", 0)
	apMust(t, g, apOver(export, brief))
	log.changes(t)
	digest := g.Settings()
	export.Policy = apPolicy("user,self")
	apMust(t, g, apOver(brief, export))
	if got := log.changes(t); len(got) != 0 || g.Settings() != digest {
		t.Errorf("logged %v, digest %s after %s", got, g.Settings(), digest)
	}
}

// TestApplySharesNothing: changing what was passed in, or what came back, changes nothing.
func TestApplySharesNothing(t *testing.T) {
	r := newRecipient()
	cfg := config()
	mine := apOver(apTarget(policydecl.Tool, "search", "user", 0))
	modes := []middleware.TargetMode{{Kind: policydecl.Tool, Name: "export", Mode: middleware.Enforce}}
	cfg.Overrides, cfg.Modes = mine, modes
	g, lines := everywhere(t, r, cfg)
	inside := lines[3].line
	spoil := func(list []overrides.Target) {
		for i := range list {
			list[i] = apTarget(policydecl.Tool, "search", "unverified", middleware.DangerouslyOff)
		}
	}
	before := apView(t, g, inside)
	spoil(mine.Targets)
	modes[0].Mode = middleware.DangerouslyOff
	spoil(g.Overrides().Targets)
	if after := apView(t, g, inside); after != before {
		t.Errorf("New shares memory:\n%s\nwas\n%s", after, before)
	}
	again := apOver(apTarget(policydecl.Tool, "search", "user", 0))
	apMust(t, g, again)
	spoil(again.Targets)
	spoil(g.Overrides().Targets)
	apMust(t, g, g.Overrides())
	if after := apView(t, g, inside); after != before {
		t.Errorf("Apply shares memory:\n%s\nwas\n%s", after, before)
	}
}

// TestApplyZeroGate: a gate that New did not make takes nothing and says nothing.
func TestApplyZeroGate(t *testing.T) {
	for _, g := range []*middleware.Gate{nil, {}} {
		if got := apFaults(t, g.Apply(overrides.Overrides{})); !slices.Equal(got, []string{"gate missing"}) {
			t.Errorf("%q", got)
		}
		o := g.Overrides()
		if !o.IsZero() || g.Settings() != "" || g.Flush(context.Background()) == nil {
			t.Errorf("%+v, %q", o, g.Settings())
		}
	}
}
