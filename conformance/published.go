package conformance

import (
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// d1 looks at what is listed. The validators have judged what is there.
func (c *checker) d1() {
	for i := range c.inspected.Entries {
		e := &c.inspected.Entries[i]
		what := inspect.Noun(e.Kind) + " " + e.Name
		if e.Source == inspect.FromOwn {
			c.Requests++
			obj, _ := rawjson.ReadObject(e.Raw)
			c.both(what, "flowPolicy", obj.Get(policydecl.PolicyMember), obj.Object("_meta").Get(policydecl.PolicyKey), e.Raw)
		}
		for _, f := range e.Faults {
			if inspect.AboutPolicy(&f) {
				c.fail(what, string(e.Raw), f.Error())
			}
		}
	}
	if c.Requests == 0 && len(c.Failures) == 0 {
		c.skip("nothing declares a policy of its own")
	}
}

// both wants both forms of what is published, of which hosts may read either.
func (c *checker) both(what, name string, plain, keyed, where []byte) {
	switch {
	case plain == nil:
		c.fail(what, string(where), "it lacks the member "+name)
	case keyed == nil:
		c.fail(what, string(where), name+" is not repeated under its key")
	}
}

func (c *checker) d2() {
	for _, f := range c.inspected.Other {
		if f.Rule == "D2" || strings.HasPrefix(f.Pointer, "/capabilities/"+policydecl.CapabilityMember) {
			c.fail(f.Where, string(c.conn.Hello()), f.Error())
		}
	}
	if !c.inspected.Server.Announced && len(c.Failures) == 0 {
		c.skip("the server does not announce that it has a flow policy")
		return
	}
	caps := c.hello.Object("capabilities")
	c.Requests = 1
	c.both("the capability", policydecl.CapabilityMember, caps.Get(policydecl.CapabilityMember), caps.Object("extensions").Get(policydecl.ExtensionKey), c.conn.Hello())
}

// d4 compares the tokens that a refusal names with those that are published. A URI can be
// governed by further policies (R2), so what is read proves nothing.
func (c *checker) d4() {
	if !c.gated() {
		return
	}
	seen := false
	for _, route := range []string{routeTools, routeTasks, routePrompts} {
		sub := c.subjects[route]
		if sub == nil || sub.plain == nil || sub.plain.Violation == nil {
			continue
		}
		seen = true
		got := sub.plain.Violation.AcceptFrom
		if len(got) == 0 && len(sub.plain.Violation.Rejected) == 0 {
			c.leave("the refusals do not show their policy (X4)")
			continue
		}
		c.Requests++
		if !judge.SameSet(got, sub.Policy.Tokens()) {
			c.fail(sub.method+" of "+quote(sub.entry.Name), sub.plain.sent,
				"published is "+strings.Join(slices.Clip(sub.Policy.Tokens()), ", ")+"; "+sub.plain.got())
		}
	}
	if !seen {
		c.leave("there was no refusal to look at")
	}
}
