package conformance

import (
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// p8 sends what is refused in other orders, more often, with more company, and with less said.
func (c *checker) p8() {
	sub := c.subject()
	if sub == nil {
		return
	}
	one := sub.stranger()
	two := policydecl.NewContributor(sub.Marker+"/second", sub.refusing[len(sub.refusing)-1], "")
	c.refuses(sub, "two strangers the other way round", labelOf(true, two, one))
	c.refuses(sub, "two strangers in turn", labelOf(true, one, two, one, two))
	c.refuses(sub, "a stranger whose principal is withheld", labelOf(true, policydecl.NewContributor("", one.Assurance(), "")))
	c.stops(sub, "an incomplete label", labelOf(false, one))
	for _, named := range sub.Named(sub.state()) {
		if named.CanonicalPrincipal() != "" && sub.Accepts(policydecl.BuildLabel(true, named)) {
			c.refuses(sub, "an accepted principal that is withheld", labelOf(true, policydecl.NewContributor("", named.Assurance(), "")))
			break
		}
	}
	if !sub.ok {
		return
	}
	c.spares(sub, "an accepted contributor after a stranger", sub.accepted)
	c.refuses(sub, "a stranger after an accepted contributor that is there twice", labelOf(true, sub.accepted, sub.accepted, one))
	c.refuses(sub, "a stranger among accepted contributors", labelOf(true, sub.accepted, one, sub.accepted, sub.accepted))
	c.stops(sub, "an incomplete label of all of them", labelOf(false, sub.accepted, sub.accepted, one))
}

// p3 tries tokens that no reader can know, and those that need a matcher.
func (c *checker) p3() {
	if why := c.ungated(); why != "" {
		c.skip("%s", why)
		return
	}
	unknown := c.others(func(s *subject) bool { return len(strange(s)) > 0 })
	if unknown != nil {
		for _, token := range strange(unknown) {
			c.alike(unknown, token)
		}
	}
	vendor := c.vendor()
	switch {
	case vendor != nil && !vendor.mayRun:
		c.leave("%s may accept anybody by a token that needs a matcher, and it may not run for real", plain.Quote(vendor.entry.Name, 80))
	case vendor != nil:
		c.matched(vendor)
	case unknown == nil:
		c.skip("no policy that can be tried has a token that needs a matcher, or that is none")
	}
}

// strange returns the tokens without a meaning that something declares. Reading a policy
// leaves them out.
func strange(s *subject) []string {
	obj, _ := rawjson.ReadObject(s.entry.Raw)
	list, _, _ := rawjson.ReadArray(obj.Object(policydecl.PolicyMember).Get("acceptFrom"), maxStrange)
	var tokens []string
	for _, raw := range list {
		if token, ok := rawjson.Text(raw); ok && policydecl.AcceptFrom(token).Err() != nil {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// maxStrange is how many tokens of one policy are looked at.
const maxStrange = 100

// alike sends those whom a careless reader takes a token without meaning for.
func (c *checker) alike(sub *subject, token string) {
	for _, k := range words(sub, token) {
		c.stops(sub, k[0], k[1])
	}
	state, ok := policydecl.ParseAssurance(strings.ToLower(strings.TrimSpace(token)))
	if ok && slices.Contains(sub.refusing, state) {
		c.refuses(sub, "the state that is nearly "+plain.Quote(token, 80), labelOf(true, policydecl.NewContributor(sub.Marker, state, "")))
	}
}

// words are labels that hold a token as it is written. To who keeps L4 and L5 they say no
// more than that somebody is unverified.
func words(sub *subject, token string) [][2]string {
	text, about := quote(token), plain.Quote(token, 80)
	label := func(contributor string) string { return `{"contributors":[` + contributor + `],"complete":true}` }
	return [][2]string{
		{"an assurance that is " + about, label(contributor("", text))},
		{"a principal that is " + about, label(contributor(text, `"unverified"`))},
		{"a publisher that is " + about, label(`{"publisher":` + text + `,"assurance":"unverified"}`)},
	}
}

// vendor returns a tool whose policy has a token that needs a matcher, one that may run if
// there is one.
func (c *checker) vendor() *subject {
	var found *subject
	for _, e := range c.entries(policydecl.Tool) {
		if judge.NeedsTask(e.Raw) || e.Source != inspect.FromOwn || len(judge.VendorTokens(c.set, e.Policy)) == 0 {
			continue
		}
		sub := c.known(c.make(routeTools, "tools/call", e, map[string]any{"name": e.Name, "arguments": c.arguments(e)}))
		if found == nil || sub.mayRun && !found.mayRun {
			found = sub
		}
	}
	return found
}

// matched compares the answers to labels that hold a token with the answer to one that says
// the same without it. What a matcher knows cannot be seen, but these two it must take alike.
func (c *checker) matched(sub *subject) {
	if !sub.unverified() {
		c.leave("the policy of %s accepts the unverified", plain.Quote(sub.entry.Name, 80))
		return
	}
	r := c.refuse(sub, `{"contributors":[{"assurance":"unverified"}],"complete":true}`, nil)
	if r.Ran() && !r.disguised {
		c.leave("%s accepts the unverified, maybe by a matcher", plain.Quote(sub.entry.Name, 80))
		return
	}
	if !c.wasRefused("somebody unverified", r) {
		return
	}
	for _, token := range judge.VendorTokens(c.set, sub.Policy) {
		for _, k := range words(sub, token) {
			c.stops(sub, k[0], k[1])
		}
	}
}

// p9 asks for what does not exist, with labels of many shapes. Whatever a label says, the
// server's own error stays what it is; that a refusal takes its place is for g1.
func (c *checker) p9() {
	if !c.gated() {
		return
	}
	def := c.byDefault()
	labels := [][2]string{
		{"the user and the host", labelOf(true, policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
			policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, ""))},
		{"the user", labelOf(true, policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""))},
		{"a label that grants", `{"contributors":[],"complete":true,"allow":true,"granted":true}`}, {"a string", `"user"`},
	}
	if accepted, ok := def.Acceptable(); ok {
		labels = append(labels, [2]string{"whom the default accepts", labelOf(true, accepted)})
	}
	for _, state := range def.Refused() {
		labels = append(labels, [2]string{"whom the default refuses", labelOf(true, policydecl.NewContributor(c.marker, state, ""))})
	}
	for _, u := range append(unknown(), &subject{method: "flowgate/no-such-method", params: map[string]any{}}) {
		if u.method == "prompts/get" && !c.offers("prompts", "") || u.method == "tools/call" && !c.offers("tools", "") {
			continue
		}
		c.staysAnError(u, labels)
	}
}

// staysAnError compares the answers to a request for what does not exist.
func (c *checker) staysAnError(u *subject, labels [][2]string) {
	bare := c.plainly(u.method, u.params, "")
	switch {
	case c.lost != nil:
		return
	case bare.refused(), bare.Outcome != judge.RPCError && bare.Outcome != judge.ToolError:
		c.leave("%s: without a label the server answers with no error of its own, which proves nothing: %s", u.method, bare.got())
		return
	}
	for _, k := range labels {
		r := c.plainly(u.method, u.params, k[1])
		switch {
		case c.lost != nil:
			return
		case r.refused():
			c.leave("%s: a flow policy refused it (G1)", u.method)
			continue
		case r.Outcome != bare.Outcome || r.Code != bare.Code:
			c.fail(u.method+" of what does not exist, "+k[0], r.sent, r.got()+"; without a label: "+bare.got())
		}
		c.Requests++
	}
}

// byDefault aims at the server's default.
func (s *session) byDefault() *judge.Aim {
	return &judge.Aim{Policy: s.inspected.Server.Default, Set: s.set, Self: s.opts.Self, Marker: s.marker}
}

// x4 compares how much refusals of the same request show.
func (c *checker) x4() {
	sub := c.subject()
	if sub == nil {
		return
	}
	one := sub.stranger()
	two := policydecl.NewContributor(sub.Marker+"/second", sub.refusing[len(sub.refusing)-1], "")
	first := ""
	for _, k := range [][2]string{
		{"a stranger", labelOf(true, one)}, {"two strangers", labelOf(true, one, two)}, {"another stranger", labelOf(true, two)},
		{"a stranger and somebody unknown", labelOf(false, one)},
	} {
		if c.askable(sub) == nil || c.lost != nil {
			return
		}
		r := c.refuse(sub, k[1], nil)
		if r.Violation == nil {
			c.leave("there was no detail to look at: %s", r.got())
			continue
		}
		c.Requests++
		form := formOf(r.Violation)
		switch {
		case len(r.Violation.Rejected) == 0 && len(r.Violation.AcceptFrom) > 0:
			c.fail(k[0], r.sent, "it shows the policy and nobody whom it rejects: "+r.got())
		case first == "":
			first = form
		case form != first:
			c.fail(k[0], r.sent, "it shows "+form+", where others show "+first+": "+r.got())
		}
	}
}

// formOf says how much a refusal shows.
func formOf(v *flowerrors.Violation) string {
	switch {
	case len(v.Rejected) == 0:
		return "nothing"
	case anyNamed(v.Rejected):
		return "principals"
	}
	return "states"
}

// anyNamed reports whether anybody is named.
func anyNamed(list []flowerrors.Rejected) bool {
	return slices.ContainsFunc(list, func(r flowerrors.Rejected) bool { return r.Principal != "" })
}

// g3 sends a request that is accepted, and then the same for somebody who is not: whoever
// keeps answers must not give them away.
func (c *checker) g3() {
	sub := c.runnable()
	if sub == nil {
		return
	}
	judged := c.judged
	r := c.refuse(sub, labelOf(true, sub.accepted), nil)
	c.judged = judged || r.refused()
	if c.lost != nil || !r.Ran() {
		c.leave("what the policy accepts did not run: %s", r.got())
		return
	}
	c.refuses(sub, "a stranger, after somebody who was accepted", labelOf(true, sub.stranger()))
}

// runnable returns the tool that may run for real, if there is one.
func (c *checker) runnable() *subject {
	sub := c.subjects[routeTools]
	switch {
	case sub == nil:
		c.skip("%s", c.none("no tool"))
	case !sub.ok:
		c.skip("no policy that can be tried accepts a contributor that could be made up")
	case !sub.mayRun:
		c.leave("no tool that can be tried may run for real: none says that it only reads and needs no arguments, and none was named")
	default:
		return sub
	}
	return nil
}
