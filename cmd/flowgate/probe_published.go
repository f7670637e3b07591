package main

import (
	"fmt"
	"slices"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// published looks at what is wrong with what hosts read of the tool: they could take it
// for another policy than the one that is probed.
func (p *plan) published(r *inspect.Report, tool string) {
	listed := 0
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Kind != policydecl.Tool || e.Name != tool {
			continue
		}
		if listed++; p.differs == "" && !judge.SameSet(e.Policy.Tokens(), p.Policy.Tokens()) {
			p.differs = tokens(e.Policy)
		}
		for _, f := range e.Faults {
			switch {
			case f.Rule == "P6" && f.Pointer == "/name": // counted below
			case inspect.AboutPolicy(&f):
				p.flaws = append(p.flaws, "Its declaration has a mistake: "+f.Error())
			default:
				p.others++
			}
		}
		p.others += e.More
	}
	if listed > 1 {
		p.flaws = append(p.flaws, fmt.Sprintf("The tool is listed %d times, and hosts differ in which they take (P6)", listed))
	}
	for _, f := range r.Other {
		p.flaws = append(p.flaws, "The answer to "+f.Where+" has a mistake: "+f.Error())
	}
}

// maxFlaws is how many flaws are told one by one.
const maxFlaws = 10

// judgeFlaws takes enforced back where it is not the whole truth.
func (p *plan) judgeFlaws(c *conclusion) {
	flaws := slices.Clone(p.flaws)
	for _, s := range p.shots {
		for _, a := range []*judge.Answer{&s.Answer, s.other} {
			if a == nil {
				continue
			}
			for _, f := range a.Flaws {
				if text := "An answer is not as it must be: " + f.String(); !slices.Contains(flaws, text) {
					flaws = append(flaws, text)
				}
			}
		}
	}
	switch {
	case c.verdict != enforced:
	case p.differs != "":
		c.verdict, c.text = policyDiffers, "The label arrives and is enforced, but the tool is listed more than once, with another policy besides."
	case len(flaws) > 0:
		c.verdict, c.text = flawed, "The label arrives and is enforced, but not as it must be, so that hosts may take it for something else."
	}
	if p.differs != "" {
		c.note("Also published for the tool: %s.", p.differs)
	}
	for _, f := range flaws[:min(len(flaws), maxFlaws)] {
		c.note("%s.", f)
	}
	if more := len(flaws) - maxFlaws; more > 0 {
		c.note("And %d more.", more)
	}
	if p.others > 0 {
		c.note("Its declaration has %s the policy; flowgate validate shows more.", plural(p.others, "mistake that does not touch", "mistakes that do not touch"))
	}
}
