package policydecl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func addLabelSeeds(f *testing.F) {
	for _, row := range labelCases {
		f.Add([]byte(row.raw))
	}
	f.Add([]byte(manyContributors(256)))
	f.Add([]byte(manyContributors(257)))
	f.Add([]byte(longString(2049)))
	f.Add([]byte(nested(9)))
	f.Add([]byte(labelU + " x"))
	f.Add([]byte(`{"contributors":[{"assurance":"user"}],"complete":true,"a":1,"a":2}`))
	f.Add([]byte(`{"contributors":[{"assurance":"user","principal":"\ud800"}]}`))
	f.Add([]byte("{\"contributors\":[{\"assurance\":\"user\",\"principal\":\"\xff\"}]}"))
}

// FuzzReadLabel compares both readers with the twin, and with each other.
func FuzzReadLabel(f *testing.F) {
	addLabelSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed := policydecl.ParseLabel(raw, defaultLimits)
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			if len(raw) > 0 && parsed.Class() != policydecl.ClassMalformed {
				t.Fatalf("encoding/json refuses %q (%v), ParseLabel reads %q", raw, err, seen(parsed))
			}
			return
		}
		read := policydecl.LabelOf(v, true, defaultLimits)
		if want := slowRead(v); !slowOf(read).equal(want) {
			t.Fatalf("LabelOf(%s) = %v, the twin says %v", raw, slowOf(read), want)
		}
		if parsed.Equal(read) {
			return
		}
		// ParseLabel may only be stricter, and only about what decoding hid.
		if parsed.Class() != policydecl.ClassMalformed {
			t.Fatalf("ParseLabel(%q) = %q, LabelOf = %q", raw, seen(parsed), seen(read))
		}
		if len(raw) <= policydecl.MaxLabelBytes && utf8.Valid(raw) && !hides(raw) {
			t.Fatalf("ParseLabel refuses %q without a reason; LabelOf = %q", raw, seen(read))
		}
	})
}

// hides reports whether decoding raw loses something: a duplicate name or a surrogate
// without its other half. It decides by going there and back through encoding/json and
// counting what is left, which is no way jsontext knows.
func hides(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		var v any
		_ = json.Unmarshal(raw, &v)
		again, _ := json.Marshal(v)
		if bytes.Count(again, []byte(`\ufffd`))+bytes.Count(again, []byte("\ufffd")) > bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))+bytes.Count(raw, []byte("\ufffd")) {
			return true
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	type frame struct {
		object, name bool
		names        map[string]bool
	}
	var stack []frame
	for {
		tok, err := d.Token()
		if err != nil {
			return false
		}
		top := len(stack) - 1
		if s, ok := tok.(string); ok && top >= 0 && stack[top].object && stack[top].name {
			if stack[top].names[s] {
				return true
			}
			stack[top].names[s] = true
			stack[top].name = false
			continue
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, frame{object: true, name: true, names: map[string]bool{}})
			continue
		case json.Delim('['):
			stack = append(stack, frame{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].name = true
		}
	}
}

// FuzzWriteLabel is the last relation of P8: reading what we wrote gives the same label.
func FuzzWriteLabel(f *testing.F) {
	addLabelSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := policydecl.ParseLabel(raw, defaultLimits)
		written := l.AppendJSON(nil)
		if back := policydecl.ParseLabel(written, defaultLimits); !back.Equal(l) {
			t.Fatalf("%q is written as %s and read as %q", seen(l), written, seen(back))
		}
		var v any
		if err := json.Unmarshal(written, &v); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if back := policydecl.LabelOf(v, true, defaultLimits); !back.Equal(l) {
			t.Fatalf("%q is written as %s and decoded as %q", seen(l), written, seen(back))
		}
	})
}

// A small world in which everything meets everything: the same principals in several
// spellings, with and without publishers, and policies about them.
var (
	worldPrincipals = []string{
		"", policydecl.PrincipalUser, "URN:MCP:user", policydecl.PrincipalHost, ownURI, "HTTPS://Records.Example:443/mcp",
		partnerURI, "https://PARTNER.example:443/mcp", partnerURI + "/", fetchURI, "https://h", "https://h/", "not a URI", "https://h:80",
	}
	worldPublishers = []string{"", publisher, "https://ACME.example/p.json", publisher + ".evil", "urn:ex:acme", "\x00"}
	worldTokens     = []string{
		"self", "user", "host", "verified", "tofu", "unverified", policydecl.PrincipalUser, ownURI, partnerURI, "https://h",
		"https://H:443/mcp", "publisher:" + publisher, "publisher:urn:EX:acme", "publisher:urn:ex:other", fetchURI, "com.example.tier:gold",
	}
)

// world builds contributors and tokens out of fuzz bytes.
func world(who, accept []byte, complete bool) ([]policydecl.Contributor, []string, bool) {
	var cs []policydecl.Contributor
	for len(who) >= 3 && len(cs) < 20 {
		cs = append(cs, policydecl.NewContributor(
			worldPrincipals[int(who[0])%len(worldPrincipals)],
			policydecl.Assurance(who[1]%6), // one beyond the last
			worldPublishers[int(who[2])%len(worldPublishers)],
		))
		who = who[3:]
	}
	tokens := []string{}
	for _, b := range accept {
		if t := worldTokens[int(b)%len(worldTokens)]; !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	return cs, tokens, complete
}

func addWorldSeeds(f *testing.F) {
	f.Add([]byte{}, []byte{}, false, uint8(0))
	f.Add([]byte{1, 4, 0}, []byte{1}, true, uint8(0))
	f.Add([]byte{1, 4, 0, 9, 0, 0}, []byte{0, 1, 2, 3}, true, uint8(1))
	f.Add([]byte{5, 0, 0, 7, 2, 2, 9, 1, 3}, []byte{0, 8, 11}, true, uint8(2))
	f.Add([]byte{1, 4, 0, 1, 4, 0}, []byte{1, 5}, false, uint8(1))
	f.Add([]byte{12, 2, 5, 10, 1, 4, 11, 1, 4}, []byte{9, 12, 13, 14, 15}, true, uint8(0))
}

// FuzzDecide compares the decision with nested loops (P1, P2, P7).
func FuzzDecide(f *testing.F) {
	addWorldSeeds(f)
	set := mustCompile(f, policydecl.Config{})
	f.Fuzz(func(t *testing.T, who, accept []byte, complete bool, _ uint8) {
		cs, tokens, complete := world(who, accept, complete)
		l := policydecl.BuildLabel(complete, cs...)
		d := set.Decide(context.Background(), &l, policydecl.AcceptFrom(tokens...))
		want := slowDecide(tokens, slowOf(l), ownURI)
		if d.Accepted() != (len(want) == 0) {
			t.Fatalf("%q under %q: accepted %v, the twin rejects %v", seen(l), tokens, d.Accepted(), want)
		}
		if d.Accepted() {
			return
		}
		var rejected []flowerrors.Rejected
		for _, c := range want {
			rejected = append(rejected, flowerrors.Rejected{Assurance: c.assurance, Principal: c.principal})
		}
		if v := d.Violation(); !slices.Equal(v.Rejected, rejected) || !slices.Equal(v.AcceptFrom, tokens) {
			t.Fatalf("%q under %q: violation %v, want %v", seen(l), tokens, v, rejected)
		}
	})
}

// FuzzRelations holds the relations of P8 that speak of one decision and a second.
func FuzzRelations(f *testing.F) {
	addWorldSeeds(f)
	set := mustCompile(f, policydecl.Config{
		Matchers: map[string]policydecl.Matcher{"com.example.tier": func(_ context.Context, _ string, c policydecl.Contributor) (bool, error) {
			return c.Publisher() != "", nil
		}},
	})
	f.Fuzz(func(t *testing.T, who, accept []byte, complete bool, pick uint8) {
		cs, tokens, complete := world(who, accept, complete)
		decide := func(complete bool, cs []policydecl.Contributor, tokens ...string) policydecl.Decision {
			l := policydecl.BuildLabel(complete, cs...)
			return set.Decide(context.Background(), &l, policydecl.AcceptFrom(tokens...))
		}
		base := decide(complete, cs, tokens...)
		stricter := func(what string, d policydecl.Decision) {
			if d.Accepted() && !base.Accepted() {
				t.Fatalf("%s turns refuse into accept: %v under %q", what, cs, tokens)
			}
		}
		added, _, _ := world([]byte{pick, pick / 3, pick / 7}, nil, true)
		if len(cs) > 0 { // adding to nothing makes a label out of a malformed one
			stricter("adding a contributor", decide(complete, append(slices.Clone(cs), added...), tokens...))
		}
		stricter("dropping complete", decide(false, cs, tokens...))
		for i := range tokens {
			stricter("removing a token", decide(complete, cs, slices.Delete(slices.Clone(tokens), i, i+1)...))
		}
		for i, c := range cs {
			anonymous := slices.Clone(cs)
			anonymous[i] = policydecl.NewContributor("", c.Assurance(), c.Publisher())
			stricter("withholding a principal", decide(complete, anonymous, tokens...))
			anonymous[i] = policydecl.NewContributor(c.Principal(), c.Assurance(), "")
			stricter("withholding a publisher", decide(complete, anonymous, tokens...))
		}
		if len(cs) == 0 {
			return
		}
		// Order and duplicates never matter, not even to what the peer is told.
		shuffled := append(slices.Clone(cs), cs[int(pick)%len(cs)])
		slices.Reverse(shuffled)
		backwards := slices.Clone(tokens)
		slices.Reverse(backwards)
		other := decide(complete, shuffled, backwards...)
		if other.Accepted() != base.Accepted() || !slices.Equal(violationSet(&other), violationSet(&base)) {
			t.Fatalf("order or duplicates matter: %v and %v for %v under %q", base.Violation(), other.Violation(), cs, tokens)
		}
	})
}

// violationSet returns who was rejected, in canonical spelling and sorted.
func violationSet(d *policydecl.Decision) []string {
	if d.Violation() == nil {
		return nil
	}
	var list []string
	for _, r := range d.Violation().Rejected {
		list = append(list, r.Assurance+" "+policydecl.NewContributor(r.Principal, 0, "").CanonicalPrincipal())
	}
	slices.Sort(list)
	return list
}

// FuzzPolicy: reading a policy never panics, what the strict reader takes the tolerant one
// takes too and to the same effect, what it refuses accepts nothing, and what is
// written compiles back.
func FuzzPolicy(f *testing.F) {
	for _, row := range policyCases {
		f.Add([]byte(row.raw))
	}
	set := mustCompile(f, policydecl.Config{})
	l := label(policydecl.NewContributor(partnerURI, policydecl.Verified, publisher))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := policydecl.ParsePolicy(raw)
		strict := set.Decide(context.Background(), &l, p)
		if err != nil {
			if strict.Accepted() || p.Err() == nil {
				t.Fatalf("%q is refused (%v) but accepts, or forgets why: %v", raw, err, p.Err())
			}
			return
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("ParsePolicy takes %q, encoding/json says %v", raw, err)
		}
		lax, err := policydecl.ReadPublished(v, policydecl.Policy{})
		tolerant := set.Decide(context.Background(), &l, lax)
		if err != nil || tolerant.Accepted() != strict.Accepted() {
			t.Fatalf("%q: strict %v, tolerant %v with %v", raw, strict.Accepted(), tolerant.Accepted(), err)
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		back, err := policydecl.ParsePolicy(written)
		if err != nil || back.IsZero() != p.IsZero() || !slices.Equal(back.Tokens(), p.Tokens()) || (back.Tokens() == nil) != (p.Tokens() == nil) {
			t.Fatalf("%q is written as %s and read as %q, %v", raw, written, back.Tokens(), err)
		}
	})
}
