package host

import (
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// maxJoined bounds how many policies one rule remembers. A server that publishes so many
// different ones, none of which anybody has approved, is sent nothing.
const maxJoined = 8

// rule is what governs a request: all of its policies must accept. The zero rule, of which
// nobody has said anything, accepts nothing.
type rule struct {
	open     bool // the server asks for nothing
	policies []policydecl.Policy

	// byDefault: the server's default must accept as well, as it is when a request is
	// judged (P4).
	byDefault bool
	// unread: the default stands in for a policy that cannot be read (P6). Where the server
	// has none, that is the draft's.
	unread bool

	// gap, of a default: the server has none, or had none once, so the draft's has stood in.
	// It must go on accepting, for a default that comes later can be looser.
	gap bool
}

// under returns the rule with the default put in.
func (r rule) under(def rule) rule {
	if !r.byDefault {
		return r
	}
	if r.unread && (def.open || def.gap) {
		def = def.and(rule{policies: []policydecl.Policy{policydecl.Default()}})
	}
	return rule{open: def.open && len(r.policies) == 0, policies: slices.Concat(r.policies, def.policies)}
}

// and returns the rule of what both accept. It says no policy twice, and none that is looser
// than another.
func (r rule) and(o rule) rule {
	switch {
	case o.open:
		r.gap = true
		return r
	case r.open:
		o.gap = true
		return o
	}
	out := rule{byDefault: r.byDefault || o.byDefault, unread: r.unread || o.unread, gap: r.gap || o.gap}
	for _, p := range slices.Concat(r.all(), o.all()) {
		if slices.ContainsFunc(out.policies, func(q policydecl.Policy) bool { return !looser(p, q) }) {
			continue
		}
		out.policies = append(slices.DeleteFunc(out.policies, func(q policydecl.Policy) bool { return !looser(q, p) }), p)
	}
	if len(out.policies) > maxJoined {
		out.policies = []policydecl.Policy{policydecl.AcceptFrom()}
	}
	return out
}

// all returns the policies that must accept, beside the default: none only where nothing
// else is asked for.
func (r rule) all() []policydecl.Policy {
	if !r.open && !r.byDefault && len(r.policies) == 0 {
		return []policydecl.Policy{policydecl.AcceptFrom()}
	}
	return r.policies
}

// looserThan reports whether r accepts anything that old does not. Both have the default
// put in. A rule is a conjunction: it is stricter than another if for each policy of the
// other it has one that is.
func (r rule) looserThan(old rule) bool {
	switch {
	case old.open:
		return false
	case r.open:
		return true
	}
	for _, was := range old.all() {
		if !slices.ContainsFunc(r.all(), func(is policydecl.Policy) bool { return !looser(was, is) }) {
			return true
		}
	}
	return false
}

func (r rule) equal(o rule) bool { return !r.looserThan(o) && !o.looserThan(r) }

// looser reports whether new accepts anything that old does not. It can only compare
// the tokens, so a token that adds nothing counts as well.
func looser(old, new policydecl.Policy) bool {
	had := make(map[string]bool)
	for _, token := range old.Tokens() {
		had[token] = true
	}
	for _, token := range new.Tokens() {
		if !had[token] {
			return true
		}
	}
	return false
}

// stance is the rule that was approved for one target, and a looser one that the server has
// published since and that nobody has approved (H5).
type stance struct {
	rule    rule
	offered *rule
	fault   string // what is wrong with the policy as published (P6)
	bytes   int    // what it was weighed at

	// own: the target has a policy of its own, which replaces the server's default (P5), or
	// had one once. Then what it is left to is not that of a wider pattern.
	own bool
}

// inForce returns what must accept now: what was approved and what is published.
func (s *stance) inForce() rule {
	if s.offered == nil {
		return s.rule
	}
	return s.rule.and(*s.offered)
}

// offer takes over what a server publishes for a target, unless it is looser than what
// is in force, and returns the question that has to be asked then. c.mu is held.
func (c *Connection) offer(s *stance, offered rule, t target) *Approval {
	def := c.policies.def.inForce()
	was, now := s.inForce().under(def), offered.under(def)
	if !now.looserThan(was) {
		s.rule, s.offered = offered, nil
		return nil
	}
	if s.offered != nil && s.offered.under(def).equal(now) {
		s.offered = &offered
		return nil // asked before
	}
	// What was stricter in the version before stays so, else a server could undo it by
	// publishing something looser in between.
	s.rule, s.offered = s.inForce(), &offered
	return c.loosened(s, t)
}

// loosened returns the question about a target. c.mu is held.
func (c *Connection) loosened(s *stance, t target) *Approval {
	def := c.policies.def.inForce()
	return &Approval{
		Question: PolicyLoosened, Server: c.server.URI, Kind: t.kind, Target: t.name,
		Old: slices.Clone(s.rule.under(def).all()), New: slices.Clone(s.offered.under(def).all()),
	}
}
