package policydecl

import (
	"context"
	"errors"
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Decision is the answer of flow policy to one request. Only [Set.Decide] makes one that
// accepts, and an accepting one grants nothing: it says that flow policy
// has no objection. [Restrict] combines it with the answer of whoever may grant.
//
// The zero value refuses (P9).
type Decision struct {
	accepted  bool
	policy    Policy
	violation *flowerrors.Violation
	cause     error
}

// Accepted reports whether flow policy has no objection.
func (d Decision) Accepted() bool { return d.accepted }

// Policy returns the policy that refused or, of a decision that accepts, the first of
// those it was taken under. An absent one has been replaced by the default it stands
// for.
func (d Decision) Policy() Policy { return d.policy }

// Violation returns what the peer may be told of a refusal, or nil if the decision
// accepts. It is the decision's own: a caller that changes it changes what
// the next caller sees. None of it may reach a model.
func (d Decision) Violation() *flowerrors.Violation {
	if d.accepted {
		return nil
	}
	if d.violation == nil { // the zero Decision
		return &flowerrors.Violation{Rejected: []flowerrors.Rejected{}, AcceptFrom: []string{}}
	}
	return d.violation
}

// Cause returns what failed in the evaluation itself, for the record: a context that
// ended, a policy with mistakes, a vendor matcher that failed. It is nil for a decision
// that accepts, and for one that refuses for no other reason than the label.
func (d Decision) Cause() error { return d.cause }

// Restrict combines flow policy's answer with the answer taken without regard to the
// label. It can only keep or lower that answer (P9): a label of any shape never turns a
// refusal into anything else.
func Restrict(base bool, d Decision) bool { return base && d.accepted }

// The reasons why an evaluation fails before it looks at the label.
var (
	errNoContext  = errors.New("policydecl: no context")
	errNoPolicies = errors.New("policydecl: no policy to decide by")
)

// Decide evaluates a label against every policy, in order; all of them must accept (P7).
// An absent policy means the default (P4). A policy accepts if each contributor matches
// at least one of its tokens; otherwise the unmatched contributors, each once and in
// label order, are the violation, and the first policy that refuses is reported.
//
// Decide is total and fails closed. A nil label is the absent one. It refuses if there are
// no policies, if a policy has mistakes, if ctx has ended, and if s was not made by
// [Compile]. But for vendor matchers it is pure: it depends on its arguments alone,
// neither on the order nor on the number of equal contributors (P8). The cost of accepting
// does not depend on how many tokens a policy has, and it allocates nothing.
func (s *Set) Decide(ctx context.Context, l *Label, policies ...Policy) Decision {
	var absent Label
	if l == nil {
		l = &absent
	}
	if cause := s.unable(ctx, policies); cause != nil {
		return s.refuseAll(l, policies, cause)
	}
	var vendor *session
	defer func() { vendor.end() }()
	for _, p := range policies {
		p = s.resolve(p)
		if err := p.Err(); err != nil {
			return s.refuseAll(l, []Policy{p}, err)
		}
		var refused *refusal
		for i := range l.stated {
			c := &l.stated[i]
			if p.rules.accept(c, s.uri) || s.vendorAccepts(ctx, &vendor, p.rules, c) {
				continue
			}
			refused = refused.add(c)
		}
		if !l.Complete() { // L6, and the one contributor of L1
			var c Contributor
			if !p.rules.accept(&c, s.uri) && !s.vendorAccepts(ctx, &vendor, p.rules, &c) {
				refused = refused.add(&c)
			}
		}
		if refused != nil {
			return refused.decision(p, vendor.failure())
		}
	}
	// A request that was cancelled while a matcher ran is not worth an answer.
	if vendor != nil && ctx.Err() != nil {
		return s.refuseAll(l, policies, ctx.Err())
	}
	return Decision{accepted: true, policy: s.resolve(policies[0])}
}

// unable returns why nothing can be decided, or nil.
func (s *Set) unable(ctx context.Context, policies []Policy) error {
	switch {
	case !s.made():
		return errNoSet
	case ctx == nil:
		return errNoContext
	case len(policies) == 0:
		return errNoPolicies
	}
	return ctx.Err()
}

// resolve returns the policy that p stands for (P4).
func (s *Set) resolve(p Policy) Policy {
	if p.IsZero() {
		return s.Default()
	}
	return p
}

// accept reports whether a token other than a vendor token matches c (P1, P2). One test
// of a mask and at most two look-ups, however many tokens there are.
func (r *rules) accept(c *Contributor, self string) bool {
	if r.mask&c.assurance.bit() != 0 {
		return true
	}
	if key := c.principal.canonical; key != "" {
		if r.self && key == self {
			return true
		}
		if _, ok := r.principals[key]; ok {
			return true
		}
	}
	if key := c.publisher.canonical; key != "" {
		if _, ok := r.publishers[key]; ok {
			return true
		}
	}
	return false
}

// vendorAccepts asks vendor matchers, starting the session if need be (P3).
func (s *Set) vendorAccepts(ctx context.Context, v **session, r *rules, c *Contributor) bool {
	if len(r.vendor) == 0 || len(s.matchers) == 0 {
		return false
	}
	if *v == nil {
		*v = s.newSession(ctx)
	}
	return (*v).accepts(s.matchers, r, *c)
}

// refuseAll refuses every contributor, because of cause.
func (s *Set) refuseAll(l *Label, policies []Policy, cause error) Decision {
	p := s.Default()
	if len(policies) > 0 {
		p = s.resolve(policies[0])
	}
	var refused *refusal
	for _, c := range l.Contributors() {
		refused = refused.add(&c)
	}
	return refused.decision(p, cause)
}

// refusal gathers the violation set (P7).
type refusal struct {
	rejected []flowerrors.Rejected
	keys     []contributorKey            // of rejected, while there are few
	seen     map[contributorKey]struct{} // when there are more
}

// fewRejected is up to how many entries a violation set is searched through. A sender
// chooses how many there are, so beyond it there is a map.
const fewRejected = 8

// contributorKey is what makes two contributors equal in a violation set: what the
// peer is told, with principals compared as everywhere.
type contributorKey struct {
	assurance Assurance
	principal string
}

// add enters c unless an equal contributor is in the set. A nil refusal is the empty set.
func (r *refusal) add(c *Contributor) *refusal {
	if r == nil {
		r = &refusal{}
	}
	key := contributorKey{c.assurance, c.principal.canonical}
	if r.has(key) {
		return r
	}
	switch {
	case r.seen != nil:
		r.seen[key] = struct{}{}
	case len(r.keys) < fewRejected:
		r.keys = append(r.keys, key)
	default:
		r.seen = map[contributorKey]struct{}{key: {}}
		for _, k := range r.keys {
			r.seen[k] = struct{}{}
		}
	}
	r.rejected = append(r.rejected, flowerrors.Rejected{Assurance: c.assurance.String(), Principal: c.Principal()})
	return r
}

func (r *refusal) has(key contributorKey) bool {
	if r.seen != nil {
		_, twice := r.seen[key]
		return twice
	}
	return slices.Contains(r.keys, key)
}

// decision returns the refusal as a Decision.
func (r *refusal) decision(p Policy, cause error) Decision {
	acceptFrom := p.Tokens()
	if p.Err() != nil {
		acceptFrom = nil // it accepts nothing, whatever it lists
	}
	if acceptFrom == nil {
		acceptFrom = []string{}
	}
	return Decision{policy: p, violation: &flowerrors.Violation{Rejected: r.rejected, AcceptFrom: acceptFrom}, cause: cause}
}
