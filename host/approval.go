package host

import (
	"cmp"
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
	Question Question
	Server   string // the URI of the server that wants it
	Kind     policydecl.TargetKind
	Target   string // name, URI or template; empty for the server's default policy

	// Old and New are what PolicyLoosened is about: all policies of a list must accept, and
	// an empty list asks for nothing. A server can have published several that differ. What
	// refers to its default shows that as it is now.
	Old, New []policydecl.Policy

	// Other is the URI of the server that had the name first, of NameTaken.
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
		return nil // a name that is asked about is not taken when it falls free
	}
	other := c.host.take(name, c)
	if other == nil {
		return nil
	}
	c.policies.taken[name] = claimed{other: other.server.URI}
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

// take notes that c has a tool of that name, unless another server has, whose connection it
// returns then. Two connections to one server share its names.
func (h *Host) take(name string, c *Connection) *Connection {
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := h.tools[name]
	if len(holders) > 0 && !slices.ContainsFunc(holders, func(d *Connection) bool { return d.set.URI() == c.set.URI() }) {
		return holders[0]
	}
	h.hold(name, c)
	return nil
}

// beside notes that c may have the name of a tool beside another server. If the name has
// become a third one's by now, it returns that one's URI instead.
func (h *Host) beside(name, other string, c *Connection) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := h.tools[name]
	if len(holders) > 0 && !slices.ContainsFunc(holders, func(d *Connection) bool { return d.server.URI == other }) {
		return holders[0].server.URI
	}
	h.hold(name, c)
	return ""
}

// hold notes that c has a tool of that name. h.mu is held.
func (h *Host) hold(name string, c *Connection) {
	if h.tools == nil {
		h.tools = make(map[string][]*Connection)
	}
	if !slices.Contains(h.tools[name], c) {
		h.tools[name] = append(h.tools[name], c)
	}
}

// ask puts questions to the host's hook and does what it says.
func (c *Connection) ask(questions ...*Approval) {
	for _, q := range questions {
		if q != nil && c.host.approve(*q) {
			c.Approve(*q)
		}
	}
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
		if now := c.host.beside(a.Target, a.Other, c); now != "" {
			p.taken[a.Target] = claimed{other: now}
			return false
		}
		p.taken[a.Target] = claimed{other: a.Other, approved: true}
		return true
	case PolicyLoosened:
		s := &p.def
		if a.Target != "" {
			s = p.targets[target{a.Kind, a.Target}]
		}
		if s == nil || s.offered == nil || !samePolicies(s.offered.under(p.def.inForce()).all(), a.New) {
			return false
		}
		s.rule, s.offered = *s.offered, nil
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
