package policydecl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// recordsServer is the fixture's server.
func recordsServer(t testing.TB) *policydecl.Set {
	strict := policydecl.AcceptFrom("self", "user")
	onlyUser := policydecl.AcceptFrom("user")
	return mustCompile(t, policydecl.Config{Targets: []policydecl.Declaration{
		{Kind: policydecl.Tool, Name: "search"},
		{Kind: policydecl.Tool, Name: "export", Policy: strict},
		{Kind: policydecl.Prompt, Name: "brief", Policy: onlyUser},
		{Kind: policydecl.Resource, Name: "records://customers", Policy: strict},
		{Kind: policydecl.Template, Name: "notes://item/{id}"},
		{Kind: policydecl.Template, Name: "notes://export{?data}", Policy: onlyUser},
		{Kind: policydecl.Template, Name: "file:///{+path}"},
		{Kind: policydecl.Prefix, Name: "file:///secret/", Policy: onlyUser},
	}})
}

func show(policies []policydecl.Policy) string {
	var parts []string
	for _, p := range policies {
		parts = append(parts, strings.Join(p.Tokens(), ","))
	}
	return strings.Join(parts, "; ")
}

// R1 to R4 as far as policies are concerned; the readings themselves are resourcematch's.
func TestResourcePolicies(t *testing.T) {
	const def, strict, user = "self,user,host,verified", "self,user", "user"
	s := recordsServer(t)
	for uri, want := range map[string]string{
		"records://customers":        strict,
		"records://customers?x=1":    strict,
		"records://customers#f":      strict,
		"RECORDS://customers":        strict,
		"records://others":           def,
		"notes://item/7":             def,
		"notes://export?data=secret": user,
		"notes://export":             user,
		"file:///a/b":                def,
		"file:///secret/a":           def + "; " + user,
		"":                           def,
		"garbage":                    def,
	} {
		got, err := s.Resource(nil, uri)
		if err != nil || show(got) != want {
			t.Errorf("Resource(%q) = %s, %v, want %s", uri, show(got), err, want)
		}
	}
	// R2: a spelling that a template routes to the stricter corner finds it.
	for _, uri := range []string{"file:///%73ecret/a", "file:///x/../secret/a", "file:////secret/a"} {
		got, err := s.Resource(nil, uri)
		if err != nil {
			continue // refused, which is as good
		}
		if !strings.Contains(show(got)+";", " "+user+";") {
			t.Errorf("Resource(%q) = %s misses the prefix", uri, show(got))
		}
	}
	if got, err := s.Resource(nil, "records://"+strings.Repeat("a", 9<<10)); err == nil {
		t.Errorf("a URI of 9 KiB: %s", show(got))
	}
}

// Completion requests name a template by its text.
func TestResourceTemplatePolicies(t *testing.T) {
	s := recordsServer(t)
	for text, want := range map[string]string{
		"notes://export{?data}": "user",
		"records://customers":   "self,user",
		"nobody://{x}":          "self,user,host,verified",
	} {
		got, err := s.ResourceTemplate(nil, text)
		if err != nil || show(got) != want {
			t.Errorf("ResourceTemplate(%q) = %s, %v, want %s", text, show(got), err, want)
		}
	}
	if got, err := s.ResourceTemplate(nil, "x://"+strings.Repeat("a", 9<<10)); err == nil {
		t.Errorf("a text of 9 KiB: %s", show(got))
	}
}

// Resource appends, and lists each policy once.
func TestResourceAppends(t *testing.T) {
	shared := policydecl.AcceptFrom("user")
	cfg := policydecl.Config{Default: shared}
	for i := range 40 {
		cfg.Targets = append(cfg.Targets, policydecl.Declaration{
			Kind: policydecl.Template, Name: "x://" + strings.Repeat("a", i) + "{+rest}", Policy: shared,
		})
	}
	s := mustCompile(t, cfg)
	before := []policydecl.Policy{shared}
	got, err := s.Resource(before, "x://"+strings.Repeat("a", 100))
	if err != nil || len(got) != 2 {
		t.Errorf("%s, %v", show(got), err)
	}
}

// A caller with declarations of its own gets the default only as bare, and indices to
// find its own with.
func TestResourceTargets(t *testing.T) {
	s := recordsServer(t)
	for uri, want := range map[string]string{
		"records://customers": "records://customers self,user; false",
		"records://others":    "true",
		"file:///secret/a":    "file:///{+path} self,user,host,verified; file:///secret/ user; false",
	} {
		got, bare, err := s.ResourceTargets(nil, uri)
		text := ""
		for _, i := range got {
			text += s.Config().Targets[i].Name + " " + strings.Join(s.Target(i).Tokens(), ",") + "; "
		}
		if err != nil || text+fmt.Sprint(bare) != want {
			t.Errorf("ResourceTargets(%q) = %s%v, %v, want %s", uri, text, bare, err, want)
		}
	}
	got, bare, err := s.ResourceTemplateTargets([]int{7}, "file:///{+path}")
	if err != nil || bare || len(got) != 2 || got[0] != 7 || s.Config().Targets[got[1]].Name != "file:///{+path}" {
		t.Errorf("a template: %v %v, %v", got, bare, err)
	}
	long := "x://" + strings.Repeat("a", 9<<10)
	for name, set := range map[string]*policydecl.Set{"nil": nil, "zero": {}, "too long": s} {
		if got, bare, err := set.ResourceTargets(nil, long); err == nil || !bare || len(got) != 0 {
			t.Errorf("%s: %v %v, %v", name, got, bare, err)
		}
		if got, bare, err := set.ResourceTemplateTargets(nil, long); err == nil || !bare || len(got) != 0 {
			t.Errorf("%s: template: %v %v, %v", name, got, bare, err)
		}
		for _, i := range []int{-1, 1000} {
			if p := set.Target(i); p.IsZero() || len(p.Tokens()) != 0 {
				t.Errorf("%s: Target(%d) is %q", name, i, p.Tokens())
			}
		}
	}
}

// P9: a Set nobody compiled refuses, whatever it is asked.
func TestP9ZeroSet(t *testing.T) {
	for name, s := range map[string]*policydecl.Set{"nil": nil, "zero": {}} {
		l := label(user())
		for _, policies := range [][]policydecl.Policy{nil, {{}}, {policydecl.AcceptFrom("user")}} {
			if d := s.Decide(context.Background(), &l, policies...); d.Accepted() || d.Cause() == nil || len(d.Violation().Rejected) != 1 {
				t.Errorf("%s: accepted %v, cause %v, %v", name, d.Accepted(), d.Cause(), d.Violation())
			}
		}
		if got, err := s.Resource(nil, "x://y"); err == nil || len(got) != 0 {
			t.Errorf("%s: Resource %s, %v", name, show(got), err)
		}
		if got, err := s.ResourceTemplate(nil, "x://y"); err == nil || len(got) != 0 {
			t.Errorf("%s: ResourceTemplate %s, %v", name, show(got), err)
		}
		if p := s.Default(); p.IsZero() || len(p.Tokens()) != 0 {
			t.Errorf("%s: Default %q", name, p.Tokens())
		}
		_, tool := s.Tool("x")
		_, prompt := s.Prompt("x")
		if tool || prompt || s.URI() != "" || s.Config().URI != "" {
			t.Errorf("%s knows something", name)
		}
		if s.Check(policydecl.AcceptFrom("com.example.tier:a")) == nil || s.Check(policydecl.AcceptFrom("user")) != nil {
			t.Errorf("%s: Check", name)
		}
	}
}

// P6: a policy that arrives later is checked like one that was compiled.
func TestCheckLatePolicy(t *testing.T) {
	s := mustCompile(t, policydecl.Config{Matchers: map[string]policydecl.Matcher{"com.example.tier": yes}})
	if err := s.Check(policydecl.Policy{}); err != nil {
		t.Error(err)
	}
	if err := s.Check(policydecl.AcceptFrom("com.example.tier:gold")); err != nil {
		t.Error(err)
	}
	wantFaults(t, s.Check(policydecl.AcceptFrom("User", "records.example:8080")),
		"acceptFrom[0] unknown-token", "acceptFrom[1] never-matches")
}

// A Set is used by many requests at once; run under -race.
func TestSetIsConcurrent(t *testing.T) {
	s := recordsServer(t)
	done := make(chan string)
	for range 4 {
		go func() {
			bad := ""
			for i := range 200 {
				l := policydecl.LabelOf(map[string]any{"contributors": []any{map[string]any{"assurance": "user"}}, "complete": true}, true, defaultLimits)
				ps, err := s.Resource(nil, fmt.Sprintf("notes://item/%d", i))
				if d := s.Decide(context.Background(), &l, ps...); err != nil || !d.Accepted() {
					bad = fmt.Sprint(err, d.Violation())
				}
				s.Config()
			}
			done <- bad
		}()
	}
	for range 4 {
		if bad := <-done; bad != "" {
			t.Error(bad)
		}
	}
}
