package conformance

import (
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
)

// route checks that one kind of request is gated: with a label that the policy refuses,
// and without one.
func (c *checker) route(route string) {
	sub := c.subjects[route]
	switch {
	case route == routeSubscribe && c.era == EraStateless, route == routeListen && c.era == EraHandshake:
		c.skip("this era has no such request")
		return
	case (route == routeSubscribe || route == routeListen) && !c.offers("resources", "subscribe"):
		c.skip("the server does not announce subscriptions")
		return
	case sub == nil:
		c.skip("%s", c.none("nothing for this request"))
		return
	}
	about := func(label string) string { return sub.method + " of " + quote(sub.entry.Name) + ", " + label }
	r := c.refuses(sub, about("a stranger"), labelOf(true, sub.stranger()))
	sub.plain = r
	if r != nil {
		c.kept[route] = refusalOf{sent: r.sent, got: r.got(), refused: true, raw: r.raw}
		c.first(about("a stranger"), r)
	} else if len(c.Failures) > 0 {
		f := c.Failures[len(c.Failures)-1]
		c.kept[route] = refusalOf{sent: f.Sent, got: f.Got}
	}
	if sub.unverified() {
		c.refuses(sub, about("no label"), "")
	}
}

// first checks that a refusal is the first thing that is heard of a request (G2).
func (c *checker) first(about string, r *reply) {
	for _, f := range r.Flaws {
		if f.Rule == "G2" {
			c.fail(about, r.sent, f.String())
		}
	}
}

// acrossEras compares the refusals of both eras (G4).
func acrossEras(kept map[string]map[string]refusalOf) Check {
	c := Check{ID: idAcross, Title: "both eras refuse alike, with the same error"}
	if len(kept) < 2 {
		c.Status, c.Reason = NotApplicable, "only one era was tested"
		return c
	}
	for _, route := range []string{routeTools, routeTasks, routeResources, routeTemplates, routePrompts, routeCompletion} {
		before, one := kept[EraHandshake][route]
		after, two := kept[EraStateless][route]
		switch {
		case !one || !two:
			continue
		case before.refused != after.refused:
			c.Requests++
			c.fail(route, before.sent, EraHandshake+": "+before.got+"; "+EraStateless+": "+after.got)
		case before.refused:
			c.Requests++
			if !rawjson.Same(before.raw, after.raw) {
				c.fail(route, before.sent, EraHandshake+": "+before.got+"; "+EraStateless+": "+after.got)
			}
		}
	}
	if c.Requests == 0 {
		c.Reason = "no request was judged in both eras"
	}
	c.end()
	return c
}

// isRefused reports whether the plain request of a route was seen to be refused.
func (s *subject) isRefused() bool { return s.plain != nil && s.plain.Outcome != judge.NotSent }
