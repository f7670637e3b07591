package policydecl

import (
	"context"
	"errors"
	"math/bits"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Decision is the answer of flow policy to one request. Only [Set.Decide] makes one that
// accepts, and an accepting one grants nothing: it says that flow policy
// has no objection. [Restrict] combines it with the answer of whoever may grant.
//
// The zero value refuses (P9).
type Decision struct {
	accepted bool
	policy   Policy
	refused  refused // empty if it accepts, and in the zero Decision
	cause    error
}

// Accepted reports whether flow policy has no objection.
func (d Decision) Accepted() bool { return d.accepted }

// Policy returns the policy that refused or, of a decision that accepts, the first of
// those it was taken under. An absent one has been replaced by the default it stands
// for.
func (d Decision) Policy() Policy { return d.policy }

// Violation returns what the peer may be told of a refusal, or nil if the decision
// accepts. It is made anew for each call, and the caller's own. None of it may reach a
// model.
func (d Decision) Violation() *flowerrors.Violation {
	if d.accepted {
		return nil
	}
	v := &flowerrors.Violation{Rejected: d.refused.set(), AcceptFrom: []string{}}
	if tokens := d.policy.Tokens(); tokens != nil && d.policy.Err() == nil {
		v.AcceptFrom = tokens // with mistakes it accepts nothing, whatever it lists
	}
	return v
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
		out := refused{stated: l.stated}
		for i := range l.stated {
			c := &l.stated[i]
			if p.rules.accept(c, s.uri) || s.vendorAccepts(ctx, &vendor, p.rules, c) {
				continue
			}
			out.add(i)
		}
		if !l.Complete() && !p.rules.accept(&synthetic, s.uri) && !s.vendorAccepts(ctx, &vendor, p.rules, &synthetic) {
			out.synthetic = true
		}
		if !out.none() {
			return Decision{policy: p, refused: out, cause: vendor.failure()}
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
	out := refused{stated: l.stated, synthetic: !l.Complete()}
	for i := range l.stated {
		out.add(i)
	}
	return Decision{policy: p, refused: out, cause: cause}
}

// synthetic is the contributor of a label that is not complete (L6), and the one of L1.
// Nothing changes it.
var synthetic Contributor

// refused holds whom a policy does not accept. The violation set is made of them when it
// is asked for, because a decision is often taken for its verdict alone; and of most labels
// it is in no memory of its own.
type refused struct {
	stated    []Contributor // of the label, which nobody changes
	first     uint64        // bit i stands for stated[i]
	rest      []int         // indexes from 64 on
	synthetic bool          // the synthetic contributor as well, which comes last
}

// add enters stated[i].
func (r *refused) add(i int) {
	if i < 64 {
		r.first |= 1 << i
	} else {
		r.rest = append(r.rest, i)
	}
}

func (r *refused) none() bool { return r.first == 0 && r.rest == nil && !r.synthetic }

// all yields the contributors in the order of the label.
func (r *refused) all(yield func(*Contributor) bool) {
	for left := r.first; left != 0; left &= left - 1 {
		if !yield(&r.stated[bits.TrailingZeros64(left)]) {
			return
		}
	}
	for _, i := range r.rest {
		if !yield(&r.stated[i]) {
			return
		}
	}
	if r.synthetic {
		yield(&synthetic)
	}
}

// contributorKey is what makes two contributors equal in a violation set: what the
// peer is told, with principals compared as everywhere.
type contributorKey struct {
	assurance Assurance
	principal string
}

// set lists the contributors in order, equal ones once (P7).
func (r *refused) set() []flowerrors.Rejected {
	list := make([]flowerrors.Rejected, 0, min(bits.OnesCount64(r.first)+len(r.rest)+1, fewRejected))
	seen := make(map[contributorKey]struct{}, fewRejected)
	for c := range r.all {
		key := contributorKey{c.assurance, c.principal.canonical}
		if _, twice := seen[key]; twice {
			continue
		}
		seen[key] = struct{}{}
		list = append(list, flowerrors.Rejected{Assurance: c.assurance.String(), Principal: c.Principal()})
	}
	return list
}

// fewRejected is how many entries most violation sets have at most.
const fewRejected = 8
