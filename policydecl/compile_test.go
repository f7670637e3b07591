package policydecl_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

func yes(context.Context, string, policydecl.Contributor) (bool, error) { return true, nil }

// P2: without an own URI "self" could mean nothing.
func TestP2OwnURIIsRequired(t *testing.T) {
	for uri, want := range map[string]string{
		"": "uri missing", "urn:mcp:user": "uri reserved", "URN:MCP:host": "uri reserved", "https://*/": "uri never-matches",
	} {
		s, err := policydecl.Compile(policydecl.Config{URI: uri})
		wantFaults(t, err, want)
		if s != nil {
			t.Errorf("%q: a Set beside an error", uri)
		}
	}
	for _, uri := range []string{"/mcp", "records.example", "https://", "file:///x", "https://u@h/", "https://h/#x"} {
		_, err := policydecl.Compile(policydecl.Config{URI: uri})
		if got := faults(err); len(got) != 1 || !strings.HasPrefix(got[0], "uri ") {
			t.Errorf("%q: %q", uri, got)
		}
	}
	s := mustCompile(t, policydecl.Config{URI: "HTTPS://Records.Example:443"})
	if got := s.URI(); got != "https://records.example/" {
		t.Errorf("URI() = %q", got)
	}
}

// P6: every mistake at once, each with the path that leads to it, in a fixed order.
func TestP6CompileReportsAll(t *testing.T) {
	bad := policydecl.AcceptFrom("user", "User")
	cfg := policydecl.Config{
		URI:           "records",
		Default:       policydecl.AcceptFrom("*"),
		MatcherBudget: -time.Second,
		Matchers:      map[string]policydecl.Matcher{"tier": yes, "com.example.none": nil},
		Targets: []policydecl.Declaration{
			{Kind: policydecl.Tool, Name: "export", Policy: bad},
			{Kind: policydecl.Tool, Name: "export"},
			{Kind: policydecl.Prompt, Name: "", Policy: bad},
			{Kind: policydecl.Prompt, Name: "export"},
			{Kind: policydecl.Prompt, Name: "\xff"},
			{Kind: 0, Name: "x"},
			{Kind: 99, Name: "x", Policy: bad},
			{Kind: policydecl.Tool, Name: "vendor", Policy: policydecl.AcceptFrom("com.example.other:a", "com.example.none:b")},
			{Kind: policydecl.Resource, Name: "records://customers", Policy: bad},
			{Kind: policydecl.Resource, Name: "records://customers"},
			{Kind: policydecl.Template, Name: "records://{"},
		},
	}
	s, err := policydecl.Compile(cfg)
	if s != nil {
		t.Error("a Set beside an error")
	}
	got := faults(err)
	want := []string{
		"uri unusable-uri", "default.acceptFrom[0] unknown-token",
		`matchers["com.example.none"] missing`, `matchers["tier"] never-matches`, "matcherBudget over-limit",
		`tools["export"].acceptFrom[1] unknown-token`, `tools["export"] duplicate`,
		`prompts[""].acceptFrom[1] unknown-token`, `prompts[""] missing`, `prompts["\xff"] never-matches`,
		"targets[5] wrong-type", "targets[6].acceptFrom[1] unknown-token", "targets[6] wrong-type",
		`tools["vendor"].acceptFrom[0] never-matches`, `tools["vendor"].acceptFrom[1] never-matches`,
		`resources["records://customers"].acceptFrom[1] unknown-token`, `resources["records://customers"] duplicate`,
	}
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) {
		t.Errorf("mistakes\n%q, want\n%q", got, want)
	} else if last := got[len(want)]; !strings.HasPrefix(last, `templates["records://{"] `) {
		t.Errorf("the template's mistake is %q", last)
	}
	if again := faults(func() error { _, err := policydecl.Compile(cfg); return err }()); !slices.Equal(again, got) {
		t.Errorf("another order the second time: %q", again)
	}
}

// P6: two resources that are one after normalisation.
func TestP6SameResourceTwice(t *testing.T) {
	_, err := policydecl.Compile(policydecl.Config{URI: ownURI, Targets: []policydecl.Declaration{
		{Kind: policydecl.Tool, Name: "first"},
		{Kind: policydecl.Resource, Name: "records://customers"},
		{Kind: policydecl.Resource, Name: "RECORDS://customers"},
	}})
	wantFaults(t, err, `resources["RECORDS://customers"] duplicate`)
	if !strings.Contains(err.Error(), `resources["records://customers"]`) {
		t.Errorf("the mistake does not name the resource it repeats: %v", err)
	}
}

// One tool, one prompt and one resource of the same name are three targets.
func TestCompileKindsAreApart(t *testing.T) {
	s := mustCompile(t, policydecl.Config{Targets: []policydecl.Declaration{
		{Kind: policydecl.Tool, Name: "a:b", Policy: policydecl.AcceptFrom("user")},
		{Kind: policydecl.Prompt, Name: "a:b", Policy: policydecl.AcceptFrom("host")},
		{Kind: policydecl.Tool, Name: "default"},
	}})
	tool, ok1 := s.Tool("a:b")
	prompt, ok2 := s.Prompt("a:b")
	if !ok1 || !ok2 || tool.Tokens()[0] != "user" || prompt.Tokens()[0] != "host" {
		t.Errorf("tool %q, prompt %q", tool.Tokens(), prompt.Tokens())
	}
	if p, ok := s.Tool("default"); !ok || !p.IsZero() {
		t.Errorf("declared without a policy: %q, %v", p.Tokens(), ok)
	}
	if p, ok := s.Prompt("default"); ok || !p.IsZero() {
		t.Errorf("not declared: %q, %v", p.Tokens(), ok)
	}
}

// Compile(Config()) changes nothing, and neither way is memory shared.
func TestConfigReadBack(t *testing.T) {
	cfg := policydecl.Config{
		URI: "https://Records.example", Default: policydecl.AcceptFrom("user"), MatcherBudget: time.Second,
		Matchers: map[string]policydecl.Matcher{"com.example.tier": yes},
		Targets: []policydecl.Declaration{
			{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("com.example.tier:gold")},
			{Kind: policydecl.Resource, Name: "records://customers", Policy: policydecl.AcceptFrom()},
		},
	}
	s := mustCompile(t, cfg)
	cfg.Targets[0].Name = "changed"
	cfg.Matchers["com.example.tier"] = nil
	first := s.Config()
	first.Targets[0].Name = "changed"
	delete(first.Matchers, "com.example.tier")

	back := mustCompile(t, s.Config())
	for _, set := range []*policydecl.Set{s, back} {
		p, ok := set.Tool("export")
		l := label(server(fetchURI, policydecl.Unverified))
		d := set.Decide(t.Context(), &l, p)
		r, err := set.Resource(nil, "records://customers")
		if !ok || !d.Accepted() || err != nil || len(r) != 1 || set.URI() != "https://records.example/" || set.Default().Tokens()[0] != "user" {
			t.Errorf("tool %v, accepted %v (%v), resources %v, %v", ok, d.Accepted(), d.Cause(), r, err)
		}
		if got := set.Config(); got.MatcherBudget != time.Second || len(got.Targets) != 2 || got.URI != "https://Records.example" {
			t.Errorf("Config() = %+v", got)
		}
	}
}

// Config can grow fields without breaking callers.
func TestConfigIsKeyedAndNonComparable(t *testing.T) {
	typ := reflect.TypeOf(policydecl.Config{})
	if typ.Comparable() {
		t.Error("Config is comparable")
	}
	if typ.Field(0).IsExported() {
		t.Error("Config can be written without field names")
	}
}

func TestTargetKindString(t *testing.T) {
	if got := policydecl.Template.String() + " " + policydecl.TargetKind(0).String() + " " + policydecl.TargetKind(9).String(); got != "templates TargetKind(0) TargetKind(9)" {
		t.Errorf("%s", got)
	}
}
