package policydecl

import (
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// MaxTokens is how many tokens one policy may list.
const MaxTokens = 4096

// Policy is an allowlist of origins: the flowPolicy of the draft. It is an immutable
// handle, safe to copy and for concurrent use. Comparing two with == tells whether
// they are the same handle, not whether they list the same tokens.
//
// The zero Policy is the absent one: nothing was declared, so the server's
// default applies. It is not [AcceptFrom] without tokens, which accepts nothing (P4).
//
// A Policy with mistakes (P6) reports them through [Policy.Err] and, until they are
// mended, accepts nothing.
type Policy struct {
	rules *rules // nil if absent
}

// rules is a parsed policy, arranged so that the cost of a decision does not depend
// on the number of tokens.
type rules struct {
	tokens     []string // as written
	mask       uint8    // accepted assurance states
	self       bool
	principals map[string]struct{}
	publishers map[string]struct{}
	vendor     []vendorToken
	fault      error // mistakes, with paths from acceptFrom; nil if there are none
	sum        digestOnce
}

// vendorToken is a token that a registered Matcher decides.
type vendorToken struct {
	prefix string
	text   string
	index  int
}

// AcceptFrom returns the policy that accepts exactly what the tokens name (P1).
// Without tokens it accepts nothing (P4). It never fails: mistakes are kept, and
// [Policy.Err] and [Compile] report them.
//
// A token is one of
//   - "self": the recipient's own canonical URI as principal (P2)
//   - "user", "host", "verified", "tofu", "unverified": that assurance state
//   - "publisher:" and an absolute URI: that publisher
//   - an absolute http, https or urn URI: that principal
//   - a vendor token such as "com.example.tier:gold" (P3)
func AcceptFrom(tokens ...string) Policy {
	r, faults := parseTokens(tokens)
	r.fault = faults.join()
	return Policy{r}
}

// Default returns the default policy of the draft: self, user, host and verified.
func Default() Policy { return defaultPolicy }

// One handle, so that comparing with == is cheap; nothing can change it.
var defaultPolicy = AcceptFrom(tokenSelf, "user", "host", "verified")

// parseTokens compiles a list of tokens, of a type that can hold strings. The faults
// have paths. They are not recorded in the rules, because what they mean is the caller's
// choice (P6); an entry that is at fault matches nothing.
func parseTokens[E any](list []E) (*rules, faultList) {
	r := &rules{}
	var faults faultList
	if len(list) > MaxTokens {
		faults.add(&flowerrors.ConfigError{
			Path: memberAcceptFrom, Value: strconv.Itoa(len(list)), Reason: flowerrors.ReasonLimit, Limit: MaxTokens,
			Detail: "too many tokens", Hint: "accept a publisher or an assurance state instead of single principals",
		})
		return r, faults
	}
	r.tokens = make([]string, 0, len(list))
	first := make(map[token]int, len(list))
	for i, e := range list {
		s, ok := any(e).(string)
		if !ok {
			faults.add(wrongType(tokenPath(i), e, "a token is a string"))
			continue
		}
		r.tokens = append(r.tokens, s)
		t, fault := parseToken(s)
		if fault == nil {
			fault = r.add(t, s, i, first)
		}
		if fault != nil {
			fault.Path = tokenPath(i)
			faults.add(fault)
		}
	}
	return r, faults
}

// tokenPath returns the path of token i within its policy.
func tokenPath(i int) string { return memberAcceptFrom + "[" + strconv.Itoa(i) + "]" }

// add enters a token that has a meaning. Entering one twice is a mistake (P6): one of
// the two was meant to be something else.
func (r *rules) add(t token, s string, i int, first map[token]int) *flowerrors.ConfigError {
	key := t
	if t.kind == kindVendor {
		key.key = s // vendor tokens have no canonical form
	}
	if j, twice := first[key]; twice {
		return &flowerrors.ConfigError{
			Value: s, Reason: flowerrors.ReasonDuplicate,
			Detail: "the same as " + tokenPath(j), Hint: "remove one of the two",
		}
	}
	first[key] = i
	switch t.kind {
	case kindSelf:
		r.self = true
	case kindAssurance:
		r.mask |= t.assurance.bit()
	case kindPublisher:
		enter(&r.publishers, t.key)
	case kindPrincipal:
		enter(&r.principals, t.key)
	case kindVendor:
		r.vendor = append(r.vendor, vendorToken{prefix: t.key, text: s, index: i})
	}
	return nil
}

// enter puts key into the set, making it if need be.
func enter(set *map[string]struct{}, key string) {
	if *set == nil {
		*set = make(map[string]struct{})
	}
	(*set)[key] = struct{}{}
}

// Err returns every mistake in the policy (P6), each a [flowerrors.ConfigError] with a
// path such as acceptFrom[1], or nil if there are none. An absent policy has none.
func (p Policy) Err() error {
	if p.rules == nil {
		return nil
	}
	return p.rules.fault
}

// IsZero reports whether the policy is absent (P4). An empty policy is not.
func (p Policy) IsZero() bool { return p.rules == nil }

// Tokens returns the tokens as they were written. It is nil only for an absent
// policy; an empty one gives an empty slice (P4). The caller owns the result.
func (p Policy) Tokens() []string {
	if p.rules == nil {
		return nil
	}
	return append([]string{}, p.rules.tokens...)
}

// MarshalJSON returns the form that is published: {"acceptFrom":[…]} with the tokens
// as written, or null for an absent policy, so that absent and empty stay distinct
// (P4). A policy with mistakes is not published: its error is returned.
func (p Policy) MarshalJSON() ([]byte, error) {
	if p.rules == nil {
		return []byte("null"), nil
	}
	if p.rules.fault != nil {
		return nil, p.rules.fault
	}
	dst := []byte(`{"acceptFrom":[`)
	for i, t := range p.rules.tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, t)
	}
	return append(dst, "]}"...), nil
}

// UnmarshalJSON reads what [ParsePolicy] reads, with the same strictness. Where it
// fails, p becomes a policy that accepts nothing.
func (p *Policy) UnmarshalJSON(raw []byte) error {
	var err error
	*p, err = ParsePolicy(raw)
	return err
}
