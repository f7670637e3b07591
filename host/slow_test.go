package host

// The obvious twins of the clever code, and the alphabets that fuzz targets spell with.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

const ownURI = "https://records.example/mcp"

// alphabet holds contributors that every token tells apart from some other.
func alphabet() []policydecl.Contributor {
	list := []policydecl.Contributor{
		policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
		policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, ""),
	}
	for _, uri := range []string{ownURI, "https://a.example/mcp", "HTTPS://A.example:443/mcp", "https://b.example/mcp", "urn:example:c"} {
		for _, a := range []policydecl.Assurance{policydecl.Verified, policydecl.TOFU, policydecl.Unverified} {
			for _, publisher := range []string{"", "https://acme.example/p", "https://other.example/p"} {
				list = append(list, policydecl.NewContributor(uri, a, publisher))
			}
		}
	}
	return list
}

var (
	contributors = alphabet()
	tokens       = []string{
		"self", "user", "host", "verified", "tofu", "unverified", "https://a.example/mcp", "https://b.example/mcp",
		"publisher:https://acme.example/p", "publisher:https://other.example/p", "com.example.tier:gold", "nonsense",
	}
)

// policyOf spells a policy with the bits of n.
func policyOf(n uint16) policydecl.Policy {
	list := []any{}
	for i, token := range tokens {
		if n>>i&1 == 1 {
			list = append(list, token)
		}
	}
	p, _ := policydecl.ReadPublished(map[string]any{"acceptFrom": list}, policydecl.AcceptFrom())
	return p
}

// slowSources keeps what Sources say in a map.
type slowSources struct {
	known    map[string]slowSource
	order    []string
	complete bool
}

type slowSource struct {
	assurance policydecl.Assurance
	publisher string // canonical
	verified  bool   // ever
}

func (s *slowSources) add(c policydecl.Contributor) {
	if s.known == nil {
		s.known = map[string]slowSource{}
	}
	key := c.CanonicalPrincipal()
	was, ok := s.known[key]
	is := slowSource{c.Assurance(), c.CanonicalPublisher(), c.Assurance() == policydecl.Verified}
	if !ok {
		s.order = append(s.order, key)
		s.known[key] = is
		return
	}
	if was.assurance < is.assurance {
		is.assurance = was.assurance
	}
	if was.publisher != is.publisher {
		is.publisher = ""
	}
	is.verified = is.verified || was.verified
	s.known[key] = is
}

// same compares sources with their twin. The order is that of the first appearance.
func (s *slowSources) same(t *testing.T, of Sources) {
	t.Helper()
	if of.Complete() != s.complete || len(of.Contributors()) != len(s.order) {
		t.Fatalf("%v, complete %v; the twin has %v, complete %v", of.Contributors(), of.Complete(), s.order, s.complete)
	}
	var verified []string
	for i, c := range of.Contributors() {
		is := s.known[s.order[i]]
		if c.CanonicalPrincipal() != s.order[i] || c.Assurance() != is.assurance || c.CanonicalPublisher() != is.publisher {
			t.Fatalf("contributor %d is %v, the twin's %s %+v", i, c, s.order[i], is)
		}
		if is.verified {
			verified = append(verified, s.order[i])
		}
	}
	got := slices.Sorted(slices.Values(of.verified))
	if slices.Sort(verified); !slices.Equal(got, verified) {
		t.Fatalf("verified %q, the twin's %q", got, verified)
	}
}

// slowAccepts asks policydecl whether every policy of a rule accepts a text of one
// contributor, or of two.
func slowAccepts(t *testing.T, set *policydecl.Set, r rule, cs ...policydecl.Contributor) bool {
	t.Helper()
	if r.open {
		return true
	}
	l := policydecl.BuildLabel(true, cs...)
	for _, p := range r.policies {
		if !set.Decide(context.Background(), &l, p).Accepted() {
			return false
		}
	}
	return len(r.policies) > 0
}

func compileOwn(t testing.TB) *policydecl.Set {
	t.Helper()
	set, err := policydecl.Compile(policydecl.Config{URI: ownURI})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// slowValue is what a decoder without any schema makes of a text.
func slowValue(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	obj, _ := v.(map[string]any)
	if obj == nil {
		obj = map[string]any{}
	}
	return obj
}

// slowAttached says what parameters are with a label, where they are an object or nothing.
func slowAttached(t *testing.T, params []byte, label policydecl.Label) map[string]any {
	t.Helper()
	obj := map[string]any{}
	if len(bytes.TrimSpace(params)) > 0 {
		obj = slowValue(t, params)
	}
	meta, _ := obj["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[policydecl.LabelKey] = slowValue(t, label.AppendJSON(nil))
	obj["_meta"] = meta
	return obj
}

// strictJSON reports whether a text is JSON that nobody reads in two ways: valid UTF-8, no
// half of a surrogate, no name twice in one object, not nested deeper than Go reads.
func strictJSON(raw []byte) bool { return jsontext.Value(raw).IsValid() }
