package policydecl

import (
	"context"
	"fmt"
	"strconv"
)

// Explanation says how one contributor fared under one policy. It is for the people who
// write policies; none of it may reach a model.
type Explanation struct {
	// Contributor is the contributor that was judged.
	Contributor Contributor
	// Synthetic says that the label does not list it: it stands for what the label
	// leaves out (L1, L6).
	Synthetic bool
	// Tried holds what became of each token of the policy, in order.
	Tried []Tried
}

// Tried is one token held against one contributor.
type Tried struct {
	Token   string // as written
	Matches bool   // the token accepts the contributor
	Why     string // one line of printable ASCII, for people
}

// Matched returns the first token that matches, or "" if none does.
func (e Explanation) Matched() string {
	for _, t := range e.Tried {
		if t.Matches {
			return t.Token
		}
	}
	return ""
}

// Explain says for each contributor of l, in label order, which tokens of p match it and
// why the others do not. An absent p stands for the default, a nil l for the absent label. It
// is slower than [Set.Decide], whose verdict it does not replace: that one accepts only
// if every contributor matches a token, and refuses besides for a policy with mistakes
// or where a matcher runs out of time.
//
// Matchers are asked for every token and contributor they could decide, each time with the
// whole budget, so with many of them Explain can take long; it stops asking when ctx ends. It is
// safe for concurrent use if they are.
func (s *Set) Explain(ctx context.Context, l *Label, p Policy) []Explanation {
	if l == nil {
		l = &Label{}
	}
	p = s.resolve(p)
	out := make([]Explanation, 0, l.Len())
	for i, c := range l.Contributors() {
		e := Explanation{Contributor: c, Synthetic: i >= len(l.stated)}
		for _, text := range p.Tokens() {
			t := Tried{Token: text}
			t.Matches, t.Why = s.try(ctx, text, &c)
			e.Tried = append(e.Tried, t)
		}
		out = append(out, e)
	}
	return out
}

// try holds one token against one contributor.
func (s *Set) try(ctx context.Context, text string, c *Contributor) (bool, string) {
	t, fault := parseToken(text)
	if fault != nil {
		return false, "it is no token, so it matches nothing"
	}
	switch t.kind {
	case kindAssurance:
		if c.assurance == t.assurance {
			return true, "the assurance is " + c.assurance.String()
		}
		return false, "the assurance is " + c.assurance.String()
	case kindSelf:
		return same("principal", c.principal, s.URI())
	case kindPrincipal:
		return same("principal", c.principal, t.key)
	case kindPublisher:
		return same("publisher", c.publisher, t.key)
	}
	return s.tryVendor(ctx, t.key, text, c)
}

// same compares an identity of a contributor with the canonical URI that a token names.
func same(what string, id identity, want string) (bool, string) {
	switch {
	case want == "":
		return false, "the recipient has no URI"
	case id.canonical == want:
		return true, "the " + what + " is " + strconv.QuoteToASCII(id.text)
	case id.canonical != "":
		return false, fmt.Sprintf("the %s is %+q, not %+q", what, id.text, want)
	case id.text != "":
		return false, "the " + what + " cannot be used: " + id.text
	}
	return false, "the label names no " + what
}

// tryVendor asks the matcher of one vendor token (P3).
func (s *Set) tryVendor(ctx context.Context, prefix, text string, c *Contributor) (bool, string) {
	switch {
	case s == nil || s.matchers[prefix] == nil:
		return false, "no matcher is registered for " + prefix
	case ctx == nil:
		return false, errNoContext.Error()
	}
	v := s.newSession(ctx)
	defer v.end()
	if v.accepts(s.matchers, &rules{vendor: []vendorToken{{prefix: prefix, text: text}}}, *c) {
		return true, "the matcher of " + prefix + " says so"
	}
	if err := v.failure(); err != nil {
		return false, "the matcher of " + prefix + " failed: " + strconv.QuoteToASCII(err.Error())
	}
	return false, "the matcher of " + prefix + " says no"
}
