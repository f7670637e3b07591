package policydecl_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/vectors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestLabelVectors: L1 to L9, in the words of testdata/vectors. Both readers give what the
// vector says, and what was read is read again as the same (P8).
func TestLabelVectors(t *testing.T) {
	vectors.Run(t, "labels", func(t *testing.T, v vectors.Label) {
		label := policydecl.ParseLabel(v.Label, policydecl.Limits{})
		compareLabel(t, label, v)
		if back := policydecl.ParseLabel(label.AppendJSON(nil), policydecl.Limits{}); !back.Equal(label) {
			t.Errorf("written and read again it is %v of class %v", slices.Collect(contributors(back)), back.Class())
		}
		if v.TextOnly {
			return
		}
		var value any
		if v.Label != nil {
			if err := json.Unmarshal(v.Label, &value); err != nil && v.Want.Class != "malformed" {
				t.Fatalf("the vector is no JSON, and does not say so: %v", err)
			} else if err != nil {
				return
			}
		}
		compareLabel(t, policydecl.LabelOf(value, v.Label != nil, policydecl.Limits{}), v)
	})
}

func contributors(l policydecl.Label) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, c := range l.Contributors() {
			if !yield(c.String()) {
				return
			}
		}
	}
}

func compareLabel(t *testing.T, got policydecl.Label, v vectors.Label) {
	t.Helper()
	if got.Class().String() != v.Want.Class || got.Complete() != v.Want.Complete {
		t.Errorf("class %v, complete %v; want %+v", got.Class(), got.Complete(), v.Want)
	}
	want := v.Want.Contributors
	if v.Want.Repeats > 0 {
		want = slices.Repeat(want, v.Want.Repeats)
	}
	if got.Len() != len(want) || len(want) == 0 {
		t.Fatalf("%d contributors, want %d", got.Len(), len(want))
	}
	for i, w := range want {
		c := got.At(i)
		if c.Assurance().String() != w.Assurance || c.Principal() != string(w.Principal) || c.Publisher() != string(w.Publisher) {
			t.Errorf("contributor %d is %v, want %+v", i, c, w)
		}
		var unusable []string
		principal, publisher := c.Unusable()
		if principal != "" {
			unusable = append(unusable, "principal")
		}
		if publisher != "" {
			unusable = append(unusable, "publisher")
		}
		if !slices.Equal(unusable, w.Unusable) {
			t.Errorf("contributor %d: unusable %q, want %q", i, unusable, w.Unusable)
		}
		if strings.ContainsFunc(principal+publisher, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("contributor %d: the record is not plain: %q %q", i, principal, publisher)
		}
	}
}

// TestPolicyVectors: P1, P4, P6 and U4. The author's reading reports every mistake, and the
// host's gives what counts all the same.
func TestPolicyVectors(t *testing.T) {
	vectors.Run(t, "policies", func(t *testing.T, v vectors.PolicyText) {
		p, err := policydecl.ParsePolicy(v.Policy)
		var got []vectors.Fault
		for e := range flowerrors.All(err) {
			got = append(got, vectors.Fault{Path: e.Path, Reason: string(e.Reason)})
		}
		if !slices.Equal(got, v.Author.Faults) {
			t.Errorf("the author is told %v, want %v", got, v.Author.Faults)
		}
		if p.IsZero() != v.Author.Absent {
			t.Errorf("absent: %v", p.IsZero())
		}
		if v.Published == nil {
			return
		}
		var value any
		if err := json.Unmarshal(v.Policy, &value); err != nil {
			t.Fatal(err)
		}
		read, err := policydecl.ReadPublished(value, policydecl.Policy{})
		if !slices.Equal(read.Tokens(), v.Published.AcceptFrom) || (read == policydecl.Default()) != v.Published.Default {
			t.Errorf("a host reads %q, want %+v", read.Tokens(), *v.Published)
		}
		if (err != nil) != v.Published.Faulty {
			t.Errorf("a host is told %v, want %+v", err, *v.Published)
		}
		// Without mistakes it is published as it was written (P4).
		if text, err := p.MarshalJSON(); len(v.Author.Faults) == 0 && (err != nil || !v.Author.Absent && !vectors.Same(text, v.Policy)) {
			t.Errorf("published as %s, %v", text, err)
		}
	})
}

// TestDecisionVectors: P1 to P5, P7 and P9, L1 and L6. The order of contributors does not
// change whether they are accepted (P8).
func TestDecisionVectors(t *testing.T) {
	vectors.Run(t, "decisions", func(t *testing.T, v vectors.Decision) {
		cfg := policydecl.Config{URI: v.Self, Default: asPolicy(v.Default), Matchers: map[string]policydecl.Matcher{}}
		for prefix, values := range v.Vendor {
			cfg.Matchers[prefix] = vendorMatcher(prefix, values)
		}
		set := mustCompile(t, cfg)
		label := policydecl.ParseLabel(v.Label, policydecl.Limits{})
		policies := make([]policydecl.Policy, len(v.Policies))
		for i, p := range v.Policies {
			policies[i] = asPolicy(p)
		}
		d := set.Decide(context.Background(), &label, policies...)
		compareRefusal(t, d, v.Want)
		if v.Base != nil {
			if v.Want.Answer == nil || policydecl.Restrict(*v.Base, d) != *v.Want.Answer {
				t.Errorf("together with %v: %v", *v.Base, policydecl.Restrict(*v.Base, d))
			}
		}
		var list []policydecl.Contributor
		for i := label.Len() - 1; i >= 0; i-- {
			list = append(list, label.At(i))
		}
		turned := policydecl.BuildLabel(label.Complete(), list...)
		if set.Decide(context.Background(), &turned, policies...).Accepted() != v.Want.Accepted {
			t.Error("the other way round the answer is another")
		}
	})
}

// asPolicy reads a policy as its author's server does or, if it has mistakes, as a host does:
// a token that nobody understands is inert then (P3, P6).
func asPolicy(p *vectors.Policy) policydecl.Policy {
	if p == nil {
		return policydecl.Policy{}
	}
	own := policydecl.AcceptFrom(p.AcceptFrom...)
	if own.Err() == nil {
		return own
	}
	read, _ := policydecl.ReadPublished(map[string]any{"acceptFrom": p.AcceptFrom}, policydecl.Policy{})
	return read
}

// vendorMatcher accepts the principals that a vector lists, or always fails.
func vendorMatcher(prefix string, values map[string][]string) policydecl.Matcher {
	return func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
		if values == nil {
			return true, errors.New("out of order")
		}
		return slices.Contains(values[strings.TrimPrefix(token, prefix+":")], c.Principal()), nil
	}
}

func compareRefusal(t *testing.T, d policydecl.Decision, want vectors.Refusal) {
	t.Helper()
	if d.Accepted() != want.Accepted {
		t.Fatalf("accepted: %v (%+v)", d.Accepted(), d.Violation())
	}
	if want.Accepted {
		return
	}
	v := d.Violation()
	var rejected []vectors.Rejected
	for _, r := range v.Rejected {
		rejected = append(rejected, vectors.Rejected(r))
	}
	if !slices.Equal(rejected, want.Rejected) || !reflect.DeepEqual(v.AcceptFrom, want.AcceptFrom) {
		t.Errorf("refused with %+v, want %+v", v, want)
	}
}

// TestTargetVectors: P4, P5 and R1 to R4. The policies that govern a request, by what they
// make of its label.
func TestTargetVectors(t *testing.T) {
	vectors.Run(t, "targets", func(t *testing.T, v vectors.Target) {
		s := v.Server
		cfg := policydecl.Config{URI: s.Self, Default: asPolicy(s.Default)}
		for kind, declared := range map[policydecl.TargetKind]map[string]*vectors.Policy{
			policydecl.Tool: s.Tools, policydecl.Prompt: s.Prompts,
			policydecl.Resource: s.Resources, policydecl.Template: s.Templates, policydecl.Prefix: s.Prefixes,
		} {
			for name, p := range declared {
				cfg.Targets = append(cfg.Targets, policydecl.Declaration{Kind: kind, Name: name, Policy: asPolicy(p)})
			}
		}
		set := mustCompile(t, cfg)
		policies := []policydecl.Policy{{}}
		var err error
		switch v.Target.Kind {
		case "tool":
			policies[0], _ = set.Tool(v.Target.Name)
		case "prompt":
			policies[0], _ = set.Prompt(v.Target.Name)
		case "resource":
			policies, err = set.Resource(nil, v.Target.Name)
		default:
			t.Fatalf("no target: %q", v.Target.Kind)
		}
		if err != nil {
			t.Fatal(err)
		}
		label := policydecl.ParseLabel(v.Label, policydecl.Limits{})
		d := set.Decide(context.Background(), &label, policies...)
		compareRefusal(t, d, v.Want)
	})
}

// TestModeVectors: M1, the mode of a target or else of its server or else enforce.
func TestModeVectors(t *testing.T) {
	vectors.Run(t, "modes", func(t *testing.T, v vectors.Mode) {
		mode := func(text string) policydecl.Mode {
			if text == "" {
				return policydecl.ModeUnset
			}
			m, err := policydecl.ParseMode(text)
			if (err == nil) == (v.Want == nil && text == v.Server) || err != nil && m != policydecl.Enforce {
				t.Errorf("%q is read as %v, %v", text, m, err)
			}
			return m
		}
		server, target := mode(v.Server), mode(v.Target)
		if v.Want == nil {
			return
		}
		if got := target.Or(server); got.String() != *v.Want {
			t.Errorf("the mode is %v, want %s", got, *v.Want)
		}
		if looser := target.Or(server).LooserThan(policydecl.Enforce); looser != (*v.Want != "enforce") {
			t.Errorf("looser than enforce: %v", looser)
		}
	})
}
