package conformance

import (
	"encoding/json"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// ids are those with which a refusal must come back, digit for digit.
var ids = []string{"0", "-1", "7", "9007199254740993", `"flowgate"`, `"7"`, `""`, `"\u00e9\n"`}

func (c *checker) x1() {
	sub := c.subject()
	if sub == nil {
		return
	}
	for _, id := range ids {
		if c.askable(sub) == nil || c.lost != nil {
			return
		}
		r := c.post(sub, &message{id: id, label: labelOf(true, sub.stranger())})
		about := "id " + id
		switch {
		case c.lost != nil:
			return
		case r.silent, r.disguised, r.refused() && r.Nameless, r.Outcome == judge.HTTPError && r.Status == 200:
			c.fail(about, r.sent, r.got())
		case r.GotThrough(), r.Late:
			c.leave("a result came, and no refusal; %s", throughGate)
			continue
		case r.Outcome != judge.Refused:
			c.leave("the server answered with something else than a refusal: %s", r.got())
			continue
		}
		c.Requests++
		c.flaws(about, r, "X1")
	}
}

// flaws reports what of a refusal breaks a rule.
func (c *checker) flaws(about string, r *reply, rules ...string) {
	for _, f := range r.Flaws {
		for _, rule := range rules {
			if f.Rule == rule {
				c.fail(about, r.sent, f.String()+": "+r.got())
			}
		}
	}
}

// refusal returns the refusal of a plain request, or nil if there is none.
func (c *checker) refusal(meta map[string]any) *reply {
	sub := c.subject()
	if sub == nil || c.lost != nil {
		return nil
	}
	r := c.refuse(sub, labelOf(true, sub.stranger()), meta)
	if r.Outcome != judge.Refused && !(r.Began != "" || r.Late) {
		c.leave("there was no refusal to look at: %s", r.got())
		return nil
	}
	return r
}

func (c *checker) x2() {
	r := c.refusal(nil)
	if r == nil {
		return
	}
	c.Requests++
	if r.Violation == nil {
		c.fail("the detail", r.sent, "it cannot be read: "+r.got())
	}
	c.flaws("a stranger", r, "X2", "L8", "")
}

func (c *checker) x3() {
	if r := c.refusal(nil); r != nil {
		c.Requests++
		c.flaws("a stranger", r, "X3")
	}
}

// g2 tempts the server to report progress.
func (c *checker) g2() {
	r := c.refusal(map[string]any{"progressToken": "flowgate"})
	if r == nil {
		return
	}
	c.Requests++
	if r.Began != "" || r.Late {
		c.fail("a stranger", r.sent, r.got())
	}
	c.flaws("a stranger", r, "G2")
}

// missing is the name of what no server has.
const missing = "flowgate-conformance-there-is-no-such-thing"

// unknown are requests for what no server has.
func unknown() []*subject {
	return []*subject{
		{method: "tools/call", params: map[string]any{"name": missing, "arguments": map[string]any{}}},
		{method: "prompts/get", params: map[string]any{"name": missing, "arguments": map[string]any{}}},
	}
}

// plainly sends a request that is none of a subject's.
func (c *checker) plainly(method string, params map[string]any, label string) *reply {
	all := map[string]any{}
	for k, v := range params {
		all[k] = v
	}
	if label != "" {
		all["_meta"] = map[string]any{policydecl.LabelKey: json.RawMessage(label)}
	}
	return c.ask(method, all, nil)
}

// x5 asks for what does not exist, so that the server answers with errors of its own.
func (c *checker) x5() {
	if !c.gated() {
		return
	}
	def := c.byDefault()
	list := []*subject{{method: "flowgate/no-such-method", params: map[string]any{}}, {method: "tools/list", params: map[string]any{"cursor": missing}}}
	label := ""
	if accepted, ok := def.Acceptable(); ok {
		label = labelOf(true, accepted)
		list = append(list, unknown()...)
	}
	for _, u := range list {
		r := c.plainly(u.method, u.params, label)
		if c.lost != nil {
			return
		}
		if r.Outcome == judge.HTTPError {
			c.leave("%s: the server answered with no error of MCP, which proves nothing: %s", u.method, r.got())
			continue
		}
		c.Requests++
		if _, flow, _ := flowerrors.ReadViolation(r.raw); flow || r.disguised {
			c.fail(u.method+" of what does not exist", r.sent, r.got())
		}
	}
}

// g1 asks for the same with a label that the default refuses: a refusal would tell that
// there is a policy, and with it what is hidden.
func (c *checker) g1() {
	if !c.gated() {
		return
	}
	def := c.byDefault()
	states := def.Refused()
	if len(states) == 0 {
		c.skip("the server's default refuses nobody")
		return
	}
	for _, u := range unknown() {
		if u.method == "prompts/get" && !c.offers("prompts", "") || u.method == "tools/call" && !c.offers("tools", "") {
			continue
		}
		r := c.plainly(u.method, u.params, labelOf(true, policydecl.NewContributor(c.marker, states[0], "")))
		switch {
		case c.lost != nil:
			return
		case r.Outcome == judge.HTTPError:
			c.leave("%s: the server answered with no error of MCP, which proves nothing: %s", u.method, r.got())
			continue
		case r.refused():
			c.fail(u.method+" of what does not exist", r.sent, r.got())
		}
		c.Requests++
	}
}

func (c *checker) g5() {
	sub := c.runnable()
	if sub == nil {
		return
	}
	judged := c.judged
	r := c.refuse(sub, labelOf(true, sub.accepted), nil)
	c.judged = judged || r.refused() // that it runs is as it must be
	switch {
	case c.lost != nil:
		return
	case r.refused(), r.Outcome == judge.Refused, r.Late:
		c.fail("an accepted contributor", r.sent, r.got())
	case !r.Ran():
		c.leave("the server answered with something that proves nothing: %s", r.got())
		return
	}
	c.Requests++
}
