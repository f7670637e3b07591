package policydecl_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Explain says which token matched, and of the others why they did not (P1, P2, P3).
func TestExplain(t *testing.T) {
	s := mustCompile(t, policydecl.Config{Matchers: map[string]policydecl.Matcher{
		"com.example.tier": func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
			if token == "com.example.tier:broken" {
				return false, errors.New("no\x1bline")
			}
			return token == "com.example.tier:gold" && c.Principal() == partnerURI, nil
		},
	}})
	policy := policydecl.AcceptFrom("self", "user", "publisher:"+publisher, "https://partner.example/mcp", "com.example.tier:gold",
		"com.example.tier:broken", "org.example.other:x", "User")
	l := policydecl.ParseLabel([]byte(`{"contributors":[
		{"principal":"HTTPS://partner.example:443/mcp","assurance":"user"},
		{"principal":"nonsense\u001b","assurance":"tofu","publisher":"`+publisher+`"},
		{"principal":"`+ownURI+`","assurance":"host"}]}`), defaultLimits)
	want := [][]string{
		{
			`- the principal is "HTTPS://partner.example:443/mcp", not "https://records.example/mcp"`,
			`+ the assurance is user`,
			`- the label names no publisher`,
			`+ the principal is "HTTPS://partner.example:443/mcp"`,
			`- the matcher of com.example.tier says no`,
			`- the matcher of com.example.tier failed: "policydecl: matcher for \"com.example.tier\": no\x1bline"`,
			`- no matcher is registered for org.example.other`,
			`- it is no token, so it matches nothing`,
		},
		{
			`- the principal cannot be used: "nonsense\x1b"`,
			`- the assurance is tofu`,
			`+ the publisher is "https://acme.example/p.json"`,
		},
		{
			`+ the principal is "https://records.example/mcp"`,
			`- the assurance is host`,
		},
		{
			`- the label names no principal`,
			`- the assurance is unverified`,
		},
	}
	got := s.Explain(t.Context(), &l, policy)
	if len(got) != len(want) {
		t.Fatalf("%d contributors", len(got))
	}
	for i, e := range got {
		if e.Synthetic != (i == 3) {
			t.Errorf("contributor %d: synthetic %v", i, e.Synthetic)
		}
		if len(e.Tried) != 8 {
			t.Errorf("contributor %d: %d tokens", i, len(e.Tried))
		}
		for j, line := range want[i] {
			sign := "- "
			if e.Tried[j].Matches {
				sign = "+ "
			}
			if text := sign + e.Tried[j].Why; text != line {
				t.Errorf("contributor %d, %s:\n got %s\nwant %s", i, e.Tried[j].Token, text, line)
			}
		}
	}
	matched := []string{"user", "publisher:" + publisher, "self", ""}
	for i, e := range got {
		if e.Matched() != matched[i] {
			t.Errorf("contributor %d matched %q", i, e.Matched())
		}
	}
}

// What is absent stands for what it always stands for (L1, P4), and what was never
// compiled matches nothing (P9).
func TestExplainAbsent(t *testing.T) {
	s := mustCompile(t, policydecl.Config{Default: policydecl.AcceptFrom("unverified")})
	got := s.Explain(t.Context(), nil, policydecl.Policy{})
	if len(got) != 1 || !got[0].Synthetic || got[0].Matched() != "unverified" {
		t.Errorf("%+v", got)
	}
	var none *policydecl.Set
	self := policydecl.AcceptFrom("self", "com.example.tier:gold")
	l := label(policydecl.NewContributor("", policydecl.Unverified, ""))
	for _, e := range none.Explain(context.Background(), &l, self) {
		if e.Matched() != "" || !strings.Contains(e.Tried[0].Why, "no URI") {
			t.Errorf("%+v", e)
		}
	}
}

// FuzzExplain holds the explanations against the decision: it accepts exactly if every
// contributor matches a token.
func FuzzExplain(f *testing.F) {
	f.Add([]byte(labelU), "self user")
	f.Add([]byte(`{"contributors":[{"principal":"https://partner.example/mcp","assurance":"tofu"}],"complete":true}`), "HTTPS://partner.example/mcp")
	f.Add([]byte(`{"contributors":[{"principal":"`+ownURI+`","assurance":"tofu","publisher":"`+publisher+`"}]}`), "self publisher:"+publisher+" unverified")
	f.Add([]byte(`null`), "unverified host")
	s := mustCompile(f, policydecl.Config{Matchers: map[string]policydecl.Matcher{"com.example.tier": never}})
	f.Fuzz(func(t *testing.T, raw []byte, tokens string) {
		p := policydecl.AcceptFrom(strings.Fields(tokens)...)
		if p.Err() != nil {
			return
		}
		l := policydecl.ParseLabel(raw, defaultLimits)
		all := true
		explained := s.Explain(t.Context(), &l, p)
		for _, e := range explained {
			all = all && e.Matched() != ""
			for _, tried := range e.Tried {
				if strings.ContainsFunc(tried.Why, func(c rune) bool { return c < ' ' || c > '~' }) {
					t.Fatalf("not printable ASCII: %q", tried.Why)
				}
			}
		}
		if accepted := s.Decide(t.Context(), &l, p).Accepted(); accepted != all || len(explained) != l.Len() {
			t.Fatalf("Decide says %v, Explain %v", accepted, explained)
		}
		for i, c := range l.Contributors() {
			if explained[i].Contributor != c {
				t.Fatalf("contributor %d is %v", i, explained[i].Contributor)
			}
		}
	})
}
