package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Question says what an [Approval] is about. The values are stable and fit for machines.
type Question string

// The questions.
const (
	// PolicyLoosened: a server accepts more than it did when the host first read its
	// policy, or than was approved since (H5).
	PolicyLoosened Question = "policy-loosened"
	// NameTaken: a server has a tool of a name that another server's tool had first, so
	// the model may call one and mean the other.
	NameTaken Question = "name-taken"
)

// Approval is something that a server wants and that somebody has to agree to.
type Approval struct {
	// Question is what somebody is asked.
	Question Question
	// Server is the URI of the server that wants it, as in [Server].
	Server string
	// Kind is that of the target: of NameTaken always a tool, and zero for the server's
	// default policy.
	Kind policydecl.TargetKind
	// Target is its name, URI or template; empty for the server's default policy.
	Target string

	// Old and New are what PolicyLoosened is about: all policies of a list must accept, and
	// an empty list asks for nothing. A server can have published several that differ. What
	// refers to its default shows that as it is now.
	Old, New []policydecl.Policy

	// Other is the canonical URI of the server that had the name first, of NameTaken. It can be
	// that of Server, if the host knew more of the first one, or something else.
	Other string
}

// claimed is a name that another server had first.
type claimed struct {
	other    string // its URI
	approved bool
}

// claim takes the name of a listed tool, and returns the question about it if another
// server had it first. c.mu is held.
func (c *Connection) claim(name string) *Approval {
	if c.closed || c.blocked(name) {
		return nil // a name that is asked about is not taken when it falls free (MaxServers)
	}
	other, taken := c.host.take(name, c.identity)
	if !taken {
		return nil
	}
	c.policies.taken[name] = claimed{other: other}
	return c.nameTaken(name)
}

// blocked reports whether the name belongs to somebody else and nobody has agreed. c.mu is
// held.
func (c *Connection) blocked(name string) bool {
	t, ok := c.policies.taken[name]
	return ok && !t.approved
}

func (c *Connection) nameTaken(name string) *Approval {
	return &Approval{
		Question: NameTaken, Server: c.server.URI, Kind: policydecl.Tool, Target: name, Other: c.policies.taken[name].other,
	}
}

// take notes that c's server has a tool of that name, unless another server has, which it
// returns then. All connections to one server share its names, also those to come.
func (h *Host) take(name string, id identity) (other string, taken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := h.tools[name]
	if len(holders) > 0 && !slices.Contains(holders, id) {
		return holders[0].uri, true
	}
	h.hold(name, id)
	return "", false
}

// beside notes that a server may have the name of a tool beside another one. If the name has
// become a third one's by now, it returns that one's URI instead.
func (h *Host) beside(name, other string, id identity) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := h.tools[name]
	if len(holders) > 0 && !slices.ContainsFunc(holders, func(d identity) bool { return d.uri == other }) {
		return holders[0].uri
	}
	h.hold(name, id)
	return ""
}

// hold notes that a server has a tool of that name. h.mu is held.
func (h *Host) hold(name string, id identity) {
	if h.servers[id] == nil {
		return // closed, and forgotten since
	}
	if h.tools == nil {
		h.tools = make(map[string][]identity)
	}
	if !slices.Contains(h.tools[name], id) {
		h.tools[name] = append(h.tools[name], id)
	}
}

// Bounds on what a server can have somebody asked. What is not asked stays pending.
const (
	maxQuestions = 100  // of one answer of a server
	maxAsked     = 1000 // that were declined, of one connection
)

// ask puts questions to the host's hook and does what it says. A question that was declined
// is not put again: a server that takes an offer back and makes it anew would wear out
// whoever is asked.
func (c *Connection) ask(ctx context.Context, questions ...*Approval) {
	put := 0
	for _, q := range questions {
		if q == nil || put == maxQuestions || !c.askable(q) {
			continue
		}
		put++
		if c.host.approve(ctx, *q) {
			c.Approve(*q)
		}
	}
}

// askable notes that a question is put, and reports false if it was put before.
func (c *Connection) askable(q *Approval) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.policies.asked
	if key := q.key(); !asked[key] && len(asked) < maxAsked {
		asked[key] = true
		return true
	}
	return false
}

// key tells questions apart.
func (a Approval) key() [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %q %q %d", a.Question, a.Kind, a.Target, a.Other, len(a.Old))
	for _, p := range slices.Concat(a.Old, a.New) {
		fmt.Fprintf(h, " %q", p.Tokens())
	}
	return [32]byte(h.Sum(nil))
}

// Approve agrees to what a server wants, as Config.Approve does, but later. It
// reports false if the server wants something else by now, or nothing.
func (c *Connection) Approve(a Approval) bool {
	if !c.made() || a.Server != c.server.URI {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.policies
	switch a.Question {
	case NameTaken:
		if c.closed || !c.blocked(a.Target) || a.Other != p.taken[a.Target].other {
			return false
		}
		if now := c.host.beside(a.Target, a.Other, c.identity); now != "" {
			p.taken[a.Target] = claimed{other: now}
			return false
		}
		p.taken[a.Target] = claimed{other: a.Other, approved: true}
		delete(p.asked, a.key())
		return true
	case PolicyLoosened:
		s, t := &p.def, target{}
		if a.Target != "" {
			t = target{a.Kind, a.Target}
			s = p.targets[t]
		}
		if s == nil || s.offered == nil || !samePolicies(s.offered.under(p.def.inForce()).all(), a.New) {
			return false
		}
		delete(p.asked, c.loosened(s, t).key())
		s.rule, s.offered = *s.offered, nil
		if t != (target{}) {
			p.weigh(t, s)
		}
		c.remember(t, s, true)
		return true
	}
	return false
}

// samePolicies reports whether two lists say the same.
func samePolicies(a, b []policydecl.Policy) bool {
	return slices.EqualFunc(a, b, func(a, b policydecl.Policy) bool { return !looser(a, b) && !looser(b, a) })
}

// Pending returns what the server wants and nobody has agreed to, in a fixed order.
func (c *Connection) Pending() []Approval {
	if !c.made() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var pending []Approval
	if s := &c.policies.def; s.offered != nil {
		pending = append(pending, *c.loosened(s, target{}))
	}
	for t, s := range c.policies.targets {
		if s.offered != nil {
			pending = append(pending, *c.loosened(s, t))
		}
	}
	for name := range c.policies.taken {
		if c.blocked(name) {
			pending = append(pending, *c.nameTaken(name))
		}
	}
	slices.SortFunc(pending, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Target, b.Target))
	})
	return pending
}
