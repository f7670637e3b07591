package conformance

import (
	"strings"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// each sends labels that must be refused, by what they are.
func (c *checker) each(sub *subject, cases ...[2]string) {
	for _, k := range cases {
		c.refuses(sub, k[0], k[1])
	}
}

func (c *checker) l1() {
	if sub := c.strict(); sub != nil {
		c.each(sub, [2]string{"no label", ""}, [2]string{"null", "null"}, [2]string{"a string", `"user"`},
			[2]string{"a number", "1"}, [2]string{"an array", "[]"}, [2]string{"true", "true"})
	}
}

func (c *checker) l2() {
	if sub := c.strict(); sub != nil {
		c.each(sub,
			[2]string{"no contributors", `{"complete":true}`}, [2]string{"contributors null", `{"contributors":null,"complete":true}`},
			[2]string{"contributors no array", `{"contributors":{},"complete":true}`},
			[2]string{"contributors empty", `{"contributors":[],"complete":true}`}, [2]string{"an empty object", `{}`})
	}
}

// beside writes a label with a contributor after one that the policy accepts, if it
// accepts one: a careless reader skips what it cannot read.
func (s *subject) beside(contributor string) string {
	if !s.ok {
		return `{"contributors":[` + contributor + `],"complete":true}`
	}
	first := strings.TrimSuffix(labelOf(true, s.accepted), `],"complete":true}`)
	return first + "," + contributor + `],"complete":true}`
}

func (c *checker) l3() {
	if sub := c.strict(); sub != nil {
		c.each(sub, [2]string{"a string", sub.beside(`"user"`)}, [2]string{"null", sub.beside("null")},
			[2]string{"a number", sub.beside("1")}, [2]string{"an array", sub.beside(`[{"assurance":"user"}]`)})
	}
}

func (c *checker) l4() {
	sub := c.strict()
	if sub == nil {
		return
	}
	state := policydecl.User.String()
	if sub.ok {
		state = sub.accepted.Assurance().String()
	}
	for _, assurance := range []string{
		quote(strings.ToUpper(state)), quote(strings.ToUpper(state[:1]) + state[1:]), quote(state + " "), quote(" " + state),
		quote("trusted"), quote(""), "null", "true", `["` + state + `"]`, "",
	} {
		c.refuses(sub, "assurance "+assurance, `{"contributors":[`+contributor(quote(sub.Marker), assurance)+`],"complete":true}`)
	}
}

func (c *checker) l5() {
	sub := c.subject()
	if sub == nil {
		return
	}
	state := quote(sub.refusing[0].String())
	unusable := []string{`"not a URI"`, `"/relative"`, `""`, `"https://user:secret@host.invalid/mcp"`, `"https://host.invalid/mcp#part"`, "null", "1", `{}`}
	for _, named := range sub.Named(sub.refusing[0]) {
		if name := named.CanonicalPrincipal(); name != "" && name != sub.Marker {
			unusable = append(unusable, quote(name+"#part"), `[`+quote(name)+`]`)
		}
	}
	for _, principal := range unusable {
		c.refuses(sub, "principal "+principal, `{"contributors":[`+contributor(principal, state)+`],"complete":true}`)
	}
}

func (c *checker) l6() {
	sub := c.strict()
	switch {
	case sub == nil:
		return
	case !sub.ok:
		c.skip("no policy that can be tried accepts a contributor that could be made up")
		return
	}
	accepted := strings.TrimSuffix(labelOf(true, sub.accepted), `,"complete":true}`)
	for _, complete := range []string{"", `,"complete":false`, `,"complete":null`, `,"complete":"true"`, `,"complete":1`, `,"complete":[true]`, `,"complete":{}`} {
		c.refuses(sub, "incomplete "+strings.TrimPrefix(complete, ","), accepted+complete+"}")
	}
}

// l7 sends labels that are large, in which somebody whom the policy refuses comes last. A
// server may allow more than the budgets of the rule, but not read half of it.
func (c *checker) l7() {
	sub := c.strict()
	if sub == nil {
		return
	}
	state := quote(sub.refusing[0].String())
	last := contributor(quote(sub.Marker), state)
	first := last
	if sub.ok {
		first = strings.TrimSuffix(strings.TrimPrefix(labelOf(true, sub.accepted), `{"contributors":[`), `],"complete":true}`)
	}
	note := func(text string) string { return `{"assurance":` + state + `,"note":` + text + "}," }
	deep := strings.Repeat("[", policydecl.MaxDepth+1) + strings.Repeat("]", policydecl.MaxDepth+1)
	for _, k := range [][2]string{
		{"many contributors", strings.Repeat(first+",", policydecl.MaxContributors+50)},
		{"a large contributor", note(quote(strings.Repeat("x", policydecl.MaxLabelBytes)))},
		{"a long principal", contributor(quote("https://host.invalid/"+strings.Repeat("x", policydecl.MaxString)), state) + ","},
		{"a member that is deep", note(deep)},
	} {
		if c.askable(sub) == nil || c.lost != nil {
			return
		}
		r := c.refuse(sub, `{"contributors":[`+k[1]+last+`],"complete":true}`, nil)
		c.wasRefused(k[0], r) // whom it names depends on the budgets
	}
}
