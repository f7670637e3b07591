package conformance

import (
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// r3 asks for what two declarations cover, of which one accepts the label and the other does
// not. A policy of a prefix is not published, so it is not tried.
func (c *checker) r3() {
	if !c.gated() {
		return
	}
	var all []*subject
	for _, route := range []string{routeResources, routeTemplates} {
		all = append(all, c.readable(route)...)
	}
	for _, sub := range all {
		for _, e := range c.entries(policydecl.Template) {
			if e != sub.entry && covers(e.Name, sub.params["uri"].(string)) {
				c.inside(sub, c.make(routeTemplates, "resources/read", e, nil))
			}
		}
	}
	if c.Requests == 0 && len(c.Failures) == 0 && c.Reason == "" {
		c.skip("no resource lies in the space of a template whose policy accepts other contributors")
	}
}

// readable returns the resources, or one of each template, that some policy governs.
func (s *session) readable(route string) []*subject {
	kind := map[string]policydecl.TargetKind{routeResources: policydecl.Resource, routeTemplates: policydecl.Template}[route]
	var list []*subject
	for _, e := range s.entries(kind) {
		uri := e.Name
		if route == routeTemplates {
			uri = expand(e.Name, sample)
		}
		if sub := s.subject(route, "resources/read", e, map[string]any{"uri": uri}); sub != nil && uri != "" {
			list = append(list, s.known(sub))
		}
	}
	return list
}

// covers reports whether a URI lies in the space of a template.
func covers(template, uri string) bool {
	m, err := resourcematch.Compile([]resourcematch.Entry{{Kind: resourcematch.Template, Pattern: template}})
	if err != nil {
		return false
	}
	found, _, err := m.Match(nil, uri)
	return err == nil && len(found) > 0
}

// inside tries one whom the policy of a URI refuses and that of a wider template accepts, and
// one the other way round. Only a policy of its own is sure to govern.
func (c *checker) inside(narrow, wide *subject) {
	for _, k := range []struct {
		about             string
		refusing, letting *subject
	}{
		{"whom the wider template accepts", narrow, wide}, {"whom only the wider template refuses", wide, narrow},
	} {
		one, ok := k.refusing.apart(k.letting)
		if !ok || c.askable(narrow) == nil || c.lost != nil {
			continue
		}
		r := c.refuse(narrow, labelOf(true, one), nil)
		c.wasRefused(quote(narrow.params["uri"].(string))+" for one "+k.about, r) // whom it names depends on which policy is shown
	}
}

// apart returns a contributor whom a policy of its own refuses and another one accepts.
func (s *subject) apart(other *subject) (policydecl.Contributor, bool) {
	if s.entry.Source != inspect.FromOwn || len(judge.VendorTokens(s.Set, s.Policy)) > 0 {
		return policydecl.Contributor{}, false
	}
	for _, state := range s.refusing {
		one := policydecl.NewContributor(s.Marker, state, "")
		if other.Accepts(policydecl.BuildLabel(true, one)) {
			return one, true
		}
	}
	return policydecl.Contributor{}, false
}

// r4 asks for a URI that is too long, which nobody may read, and for what has no policy of
// its own.
func (c *checker) r4() {
	if !c.gated() {
		return
	}
	c.long()
	for _, route := range []string{routeResources, routeTemplates} {
		for _, sub := range c.readable(route) {
			if sub.entry.Source != inspect.FromOwn {
				c.refuses(sub, quote(sub.params["uri"].(string))+" by the default", labelOf(true, sub.stranger()))
				return
			}
		}
	}
}

// long asks for a URI that is too long: through a template if there is one, for a server may
// not know a resource with a query.
func (c *checker) long() {
	sub := c.subjects[routeTemplates]
	uri := ""
	if sub != nil {
		uri = expand(sub.entry.Name, strings.Repeat("x", resourcematch.MaxURI))
	}
	if len(uri) <= resourcematch.MaxURI {
		if sub = c.subjects[routeResources]; sub == nil {
			c.skip("%s", c.none("no resource"))
			return
		}
		uri = sub.params["uri"].(string) + "?x=" + strings.Repeat("x", resourcematch.MaxURI)
	}
	other := *sub
	other.params = map[string]any{"uri": uri}
	one := sub.stranger()
	if sub.ok {
		one = sub.accepted
	}
	if c.askable(sub) == nil {
		return
	}
	r := c.refuse(&other, labelOf(true, one), nil)
	sub.ran = sub.ran || other.ran
	if r.invalid() && c.lost == nil { // a server may say what is wrong with the request
		c.Requests++
		return
	}
	c.wasRefused("a URI of more than 8 KiB", r)
}
