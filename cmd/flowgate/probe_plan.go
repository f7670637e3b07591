package main

import (
	"cmp"
	"fmt"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// plan is the requests of one probe, and what is known before they are sent.
type plan struct {
	judge.Aim
	source inspect.Source

	served    bool     // the server announces that it has a flow policy (D2)
	announced bool     // or at least the tool has one
	reports   bool     // it says that it does not enforce it (D2)
	vendor    []string // tokens that only the server can decide (P3)
	sure      bool     // the requests that must be refused are refused for sure
	byName    bool     // some token goes by a principal or publisher
	apart     bool     // each request has a connection of its own, so it is repeated

	flaws   []string // what is wrong with what is published
	others  int      // mistakes in the declaration that are not about its policy
	differs string   // another policy that is published for the tool

	shots []*shot // those that must be refused first
}

// The names of the requests, for machines.
const (
	shotStranger   = "stranger"   // a contributor that the policy does not accept
	shotMarked     = "marked"     // one alone; there is one of these for each state
	shotOther      = "other"      // one that is nearly one which the policy accepts by name
	shotUnlabelled = "unlabelled" // no label (L1)
	shotEmpty      = "empty"      // a label that lists nobody (L2)
	shotIncomplete = "incomplete" // accepted contributors, but perhaps not all (L6)
	shotAccepted   = "accepted"   // a label that the policy accepts
	shotNamed      = "named"      // one that it accepts for the principal's sake
)

// newPlan chooses the labels for a tool's policy.
func newPlan(tool *inspect.Entry, server *inspect.Server, self, nonce string) (*plan, error) {
	set, err := policydecl.Compile(policydecl.Config{URI: cmp.Or(self, judge.PlaceholderSelf)})
	if err != nil {
		return nil, fmt.Errorf("-self: %w", err)
	}
	p := &plan{
		Aim:    judge.Aim{Policy: tool.Policy, Set: set, Self: self, Marker: "https://" + nonce + ".flowgate-probe.invalid/mcp"},
		source: tool.Source,
		served: server.Announced, announced: server.Announced || tool.Source == inspect.FromOwn, reports: server.Announced && !server.Enforces,
	}
	p.vendor = judge.VendorTokens(set, tool.Policy)
	p.sure = p.announced && !p.reports && len(p.vendor) == 0
	p.aim()
	return p, nil
}

// add adds a request with the verdict and the refusal that the policy has for it.
func (p *plan) add(name, about string, l policydecl.Label) {
	s := &shot{name: name, about: about, parsed: l, Answer: judge.Answer{Outcome: judge.NotSent}}
	switch {
	case name == shotEmpty:
		s.label = `{"contributors":[],"complete":true}` // a careless check finds nobody to refuse
	case l.Class() != policydecl.ClassAbsent:
		s.label = string(l.AppendJSON(nil))
	}
	d := p.Decide(l)
	s.accepted = d.Accepted()
	if v := d.Violation(); v != nil {
		s.want = v.Rejected
	}
	p.shots = append(p.shots, s)
}

// refusable reports whether there is a labelled request that the policy refuses, which
// is what shows whether labels arrive.
func (p *plan) refusable() bool { return p.shot(shotStranger) != nil }

// sends reports whether anything is sent.
func (p *plan) sends(run bool) bool { return p.refusable() && (p.sure || run) }

func (p *plan) shot(name string) *shot {
	for _, s := range p.shots {
		if s.name == name {
			return s
		}
	}
	return nil
}
