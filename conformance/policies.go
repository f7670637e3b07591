package conformance

import (
	"slices"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// p1 tries a stranger in every state that the policy refuses, and whoever has nearly the
// name of somebody who is accepted.
func (c *checker) p1() {
	sub := c.subject()
	if sub == nil {
		return
	}
	for _, state := range sub.refusing {
		c.refuses(sub, "a stranger, "+state.String(), labelOf(true, policydecl.NewContributor(sub.Marker, state, "")))
	}
	for _, n := range sub.Near(sub.refusing) {
		c.refuses(sub, "a contributor whose "+n.Of, string(n.Label.AppendJSON(nil)))
	}
}

// others returns something of the server to ask for that fits, other than the subjects:
// tools first.
func (s *session) others(fits func(*subject) bool) *subject {
	for _, kind := range []policydecl.TargetKind{policydecl.Tool, policydecl.Resource, policydecl.Prompt} {
		for _, e := range s.entries(kind) {
			var sub *subject
			switch {
			case kind == policydecl.Tool && !judge.NeedsTask(e.Raw):
				sub = s.subject(routeTools, "tools/call", e, map[string]any{"name": e.Name, "arguments": s.arguments(e)})
			case kind == policydecl.Resource:
				sub = s.subject(routeResources, "resources/read", e, map[string]any{"uri": e.Name})
			case kind == policydecl.Prompt:
				sub = s.subject(routePrompts, "prompts/get", e, map[string]any{"name": e.Name, "arguments": map[string]any{}})
			}
			if sub != nil && fits(sub) {
				return s.known(sub)
			}
		}
	}
	return nil
}

// asking is one way to ask for something.
type asking struct {
	route string
	entry *inspect.Entry
}

// known returns the subject that is asked already, so that it is remembered what ran.
func (s *session) known(sub *subject) *subject {
	if before := s.subjects[sub.route]; before != nil && before.entry == sub.entry {
		return before
	}
	key := asking{sub.route, sub.entry}
	if s.further[key] == nil {
		s.further[key] = sub
	}
	return s.further[key]
}

// p4 tries an empty list with everybody whom the default accepts, and what has no policy of
// its own with somebody whom the default refuses.
func (c *checker) p4() {
	if !c.gated() {
		return
	}
	empty := c.others(func(s *subject) bool { return s.entry.Source == inspect.FromOwn && len(s.Policy.Tokens()) == 0 })
	bare := c.others(func(s *subject) bool { return s.entry.Source != inspect.FromOwn })
	if empty == nil && bare == nil {
		c.skip("%s", c.allOwn())
		return
	}
	if empty != nil {
		c.refuses(empty, "the user, by an empty list", labelOf(true, policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, "")))
		c.refuses(empty, "the host, by an empty list", labelOf(true, policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, "")))
	}
	if bare != nil {
		c.refuses(bare, "a stranger, by the default", labelOf(true, bare.stranger()))
	}
}

// allOwn says why there is neither an empty list to try nor the default.
func (c *checker) allOwn() string {
	bare := slices.ContainsFunc(c.inspected.Entries, func(e inspect.Entry) bool { return e.Source != inspect.FromOwn })
	switch {
	case !bare:
		return "everything has a policy of its own, and none of those that can be tried is empty"
	case !c.inspected.Server.Announced:
		return unannounced
	}
	return "no policy that can be tried is empty, and nothing without one of its own is sure to be refused"
}

// mergeable returns a contributor whom the default accepts and a policy of its own refuses.
func (s *session) mergeable(sub *subject) (policydecl.Contributor, bool) {
	def := s.byDefault()
	for _, state := range sub.refusing {
		c := policydecl.NewContributor(sub.Marker, state, "")
		if sub.entry.Source == inspect.FromOwn && def.Accepts(policydecl.BuildLabel(true, c)) {
			return c, true
		}
	}
	return policydecl.Contributor{}, false
}

func (c *checker) p5() {
	if !c.gated() {
		return
	}
	sub := c.others(func(s *subject) bool {
		_, ok := c.mergeable(s)
		return ok && len(s.Policy.Tokens()) > 0
	})
	if sub == nil {
		c.skip("no policy refuses a state that the server's default accepts")
		return
	}
	one, _ := c.mergeable(sub)
	c.refuses(sub, "whom the default accepts and the policy refuses", labelOf(true, one))
}

// p7 tries several contributors, of whom the policy accepts one.
func (c *checker) p7() {
	sub := c.subject()
	if sub == nil {
		return
	}
	one := sub.stranger()
	two := policydecl.NewContributor(sub.Marker+"/second", sub.refusing[len(sub.refusing)-1], "")
	c.refuses(sub, "two strangers", labelOf(true, one, two))
	c.refuses(sub, "one stranger twice", labelOf(true, one, one))
	if sub.ok {
		c.refuses(sub, "a stranger after an accepted contributor", labelOf(true, sub.accepted, one))
		c.refuses(sub, "a stranger before an accepted contributor", labelOf(true, one, sub.accepted))
		c.refuses(sub, "strangers around an accepted contributor", labelOf(true, one, sub.accepted, two))
	}
}
