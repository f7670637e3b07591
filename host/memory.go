package host

import (
	"maps"
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// MaxServers is of how many servers without an open connection a host remembers what they
// have published and which names of tools are theirs. Of more, it remembers those whose last
// connection was closed last; one that it has forgotten is met as if for the first time.
const MaxServers = 256

// identity is who a server is for a host. One of the same URI of which the host knows less,
// or something else, is another one: it shares neither names nor policies.
type identity struct {
	uri, publisher string // canonical
	assurance      policydecl.Assurance
}

func identityOf(c policydecl.Contributor) identity {
	return identity{c.CanonicalPrincipal(), c.CanonicalPublisher(), c.Assurance()}
}

// memory is what a host keeps of a server from one connection to the next, so that nobody
// can loosen a policy by ending the connection (H5).
type memory struct {
	open    int  // connections
	met     bool // it has said what it announces
	def     rule
	targets map[target]remembered
	whole   map[policydecl.TargetKind]bool // lists that were read to their end once

	// bytes is what the targets take: those of several connections at a time can be more
	// than one of them may keep. Then full says that there were others.
	bytes int
	full  bool
}

// remembered is what was in force for a target.
type remembered struct {
	rule rule
	own  bool // as of a stance

	bytes int
}

// meet counts a new connection and gives it what is known of its server.
func (h *Host) meet(c *Connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.servers[c.identity]
	if m == nil {
		m = &memory{targets: make(map[target]remembered), whole: make(map[policydecl.TargetKind]bool)}
		if h.servers == nil {
			h.servers = make(map[identity]*memory)
		}
		h.servers[c.identity] = m
	}
	m.open++
	h.gone = slices.DeleteFunc(h.gone, func(id identity) bool { return id == c.identity })
	p := &c.policies
	if m.met {
		p.met, p.def.rule = true, m.def
	}
	for t, known := range m.targets {
		p.keep(t, &stance{rule: known.rule, own: known.own})
	}
	if m.full {
		p.bytes = max(p.bytes, MaxRemembered) // nobody can tell what is new
	}
}

// part counts a connection that is closed.
func (h *Host) part(id identity) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.servers[id]
	if m == nil {
		return
	}
	if m.open--; m.open > 0 {
		return
	}
	if !m.met && len(m.targets) == 0 {
		delete(h.servers, id) // there is nothing to remember
		return
	}
	if h.gone = append(h.gone, id); len(h.gone) <= MaxServers {
		return
	}
	oldest := h.gone[0]
	h.gone = slices.Delete(h.gone, 0, 1)
	delete(h.servers, oldest)
	maps.DeleteFunc(h.tools, func(name string, holders []identity) bool {
		holders = slices.DeleteFunc(holders, func(id identity) bool { return id == oldest })
		h.tools[name] = holders
		return len(holders) == 0
	})
}

// recall returns what other connections to the server have left for a target of which c
// knows nothing, and whether one of them has read the list to its end. c.mu is held.
func (c *Connection) recall(t target) (known remembered, ok, whole bool) {
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.servers[c.identity]
	if m == nil {
		return remembered{}, false, false
	}
	known, ok = m.targets[t]
	return known, ok, m.whole[t.kind]
}

// recallDefault does the same for the server's default. c.mu is held.
func (c *Connection) recallDefault() {
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, p := h.servers[c.identity], &c.policies; !p.met && m != nil && m.met {
		p.met, p.def.rule = true, m.def
	}
}

// remember keeps what is in force for a target, the zero one for the default, for the
// connections that come. Only what somebody has agreed to may be looser than what another
// connection has left. c.mu is held.
func (c *Connection) remember(t target, s *stance, agreed bool) {
	def := c.policies.def.inForce()
	now := remembered{rule: s.inForce(), own: s.own}
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.servers[c.identity]
	if m == nil {
		return // closed, and forgotten since
	}
	was, known := m.targets[t]
	if t == (target{}) {
		was, known = remembered{rule: m.def}, m.met
	}
	if known && !agreed && now.rule.under(def).looserThan(was.rule.under(def)) {
		now.rule = was.rule.and(now.rule)
	}
	now.own = now.own || was.own
	if t == (target{}) {
		m.met, m.def = true, now.rule
		return
	}
	now.bytes = t.weight() + now.rule.weight()
	if m.bytes-was.bytes+now.bytes > MaxRemembered {
		if m.full = true; !known {
			return
		}
		now.rule, now.bytes = rule{}, t.weight() // accepts nothing
	}
	m.bytes += now.bytes - was.bytes
	m.targets[t] = now
}

// readWhole notes that a list was read to its end. c.mu is held.
func (c *Connection) readWhole(kind policydecl.TargetKind) {
	c.policies.lists[kind].whole = true
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if m := c.host.servers[c.identity]; m != nil {
		m.whole[kind] = true
	}
}
