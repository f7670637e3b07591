package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// checker makes one check in one era.
type checker struct {
	*session
	*Check
}

// skip ends a check that does not apply.
func (c *checker) skip(format string, args ...any) {
	c.Status, c.Reason = NotApplicable, plain.Escape(fmt.Sprintf(format, args...), MaxText)
}

// leave says why something was not tried or not judged; the first reason stays.
func (c *checker) leave(format string, args ...any) {
	if c.Reason == "" {
		c.Reason = plain.Escape(fmt.Sprintf(format, args...), MaxText)
	}
}

// subject returns the main subject, if it can still be asked.
func (c *checker) subject() *subject {
	if !c.gated() {
		return nil
	}
	return c.askable(c.main())
}

// gated reports whether there is a main subject.
func (c *checker) gated() bool {
	if c.main() == nil {
		c.skip("%s", c.none("nothing"))
		return false
	}
	return true
}

// strict is subject for what is only seen where nothing is accepted of which nothing is
// known.
func (c *checker) strict() *subject {
	sub := c.subject()
	if sub != nil && !sub.unverified() {
		c.skip("no policy that can be tried refuses the unverified")
		return nil
	}
	return sub
}

// askable returns a subject unless it has run although it must not.
func (c *checker) askable(sub *subject) *subject {
	if sub.ran && !sub.mayRun {
		c.leave("%s ran although its policy refuses the request, so it was not asked again", plain.Quote(sub.entry.Name, 80))
		return nil
	}
	return sub
}

// refuses sends a request that must be refused, and judges whether it was and whom the
// refusal names.
func (c *checker) refuses(sub *subject, about, label string) *reply {
	r := c.stops(sub, about, label)
	if r == nil {
		return nil
	}
	if want := sub.want(label); r.Violation != nil && !names(r.Violation, want) {
		c.fail(about, r.sent, "the refusal names others than "+list(want)+": "+r.got())
	}
	return r
}

// stops is refuses where it does not matter whom the refusal names.
func (c *checker) stops(sub *subject, about, label string) *reply {
	if c.askable(sub) == nil || c.lost != nil {
		return nil
	}
	if r := c.refuse(sub, label, nil); c.wasRefused(about, r) {
		return r
	}
	return nil
}

// wasRefused judges whether a flow policy refused.
func (c *checker) wasRefused(about string, r *reply) bool {
	switch {
	case c.lost != nil:
		return false
	case r.refused():
		c.Requests++
		return true
	case r.silent, r.GotThrough(), r.Late, r.misdirected():
		c.Requests++
		c.fail(about, r.sent, r.got())
	default:
		c.leave("the server answered with something else than a refusal or a result, which proves nothing: %s", r.got())
	}
	return false
}

// want returns whom a refusal of a label must name.
func (s *subject) want(label string) []flowerrors.Rejected {
	var v any
	present := label != ""
	if present {
		_ = json.Unmarshal([]byte(label), &v) // made here
	}
	l := policydecl.LabelOf(v, present, policydecl.Limits{})
	if v := s.Decide(l).Violation(); v != nil {
		return v.Rejected
	}
	return nil
}

// names reports whether a refusal names the contributors, as far as it says whom it
// rejects (X4).
func names(v *flowerrors.Violation, want []flowerrors.Rejected) bool {
	if len(v.Rejected) == 0 {
		return len(v.AcceptFrom) == 0
	}
	got, want := canonical(v.Rejected), canonical(want)
	return judge.SameSet(got, want) || judge.SameSet(got, judge.Anonymous(want))
}

// canonical writes principals in the form in which they are compared. A refusal may show
// them in either.
func canonical(list []flowerrors.Rejected) []flowerrors.Rejected {
	list = slices.Clone(list)
	for i := range list {
		if uri, err := resourcematch.Canonical(list[i].Principal); err == nil {
			list[i].Principal = uri
		}
	}
	return list
}

func list(want []flowerrors.Rejected) string {
	text, _ := json.Marshal(want[:min(len(want), 3)]) // two strings each
	return string(text)
}

// labelOf writes a label.
func labelOf(complete bool, cs ...policydecl.Contributor) string {
	l := policydecl.BuildLabel(complete, cs...)
	return string(l.AppendJSON(nil))
}

// contributor writes one contributor, with values as JSON; "" leaves a member out.
func contributor(principal, assurance string) string {
	text := "{"
	if principal != "" {
		text += `"principal":` + principal
	}
	if assurance != "" {
		if text != "{" {
			text += ","
		}
		text += `"assurance":` + assurance
	}
	return text + "}"
}

func quote(s string) string {
	text, _ := json.Marshal(s) // a string always can be
	return string(text)
}
