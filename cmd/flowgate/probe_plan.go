package main

import (
	"context"
	"fmt"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// plan is the requests of one probe, and what is known before they are sent.
type plan struct {
	policy policydecl.Policy
	source inspect.Source
	set    *policydecl.Set
	marker string // the principal that nobody else uses

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

// placeholderSelf stands for the server's URI where it does not matter.
const placeholderSelf = "https://self.invalid/"

// newPlan chooses the labels for a tool's policy.
func newPlan(tool *inspect.Entry, server *inspect.Server, self, nonce string) (*plan, error) {
	uri := self
	if uri == "" {
		uri = placeholderSelf
	}
	set, err := policydecl.Compile(policydecl.Config{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("-self: %w", err)
	}
	p := &plan{
		policy: tool.Policy, source: tool.Source, set: set, marker: "https://" + nonce + ".flowgate-probe.invalid/mcp",
		served: server.Announced, announced: server.Announced || tool.Source == inspect.FromOwn, reports: server.Announced && !server.Enforces,
	}
	p.vendor = vendorTokens(set, tool.Policy)
	p.sure = p.announced && !p.reports && len(p.vendor) == 0
	p.aim(self)
	return p, nil
}

func (p *plan) accepts(l policydecl.Label) bool { return p.decide(l).Accepted() }

func (p *plan) decide(l policydecl.Label) policydecl.Decision {
	return p.set.Decide(context.Background(), &l, p.policy)
}

// add adds a request with the verdict and the refusal that the policy has for it.
func (p *plan) add(name, about string, l policydecl.Label) {
	s := &shot{name: name, about: about, parsed: l, answer: answer{outcome: notSent}}
	switch {
	case name == shotEmpty:
		s.label = `{"contributors":[],"complete":true}` // a careless check finds nobody to refuse
	case l.Class() != policydecl.ClassAbsent:
		s.label = string(l.AppendJSON(nil))
	}
	d := p.decide(l)
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

// vendorTokens returns the tokens that are well formed but need a matcher (P3).
func vendorTokens(set *policydecl.Set, p policydecl.Policy) []string {
	var list []string
	for _, token := range p.Tokens() {
		one := policydecl.AcceptFrom(token)
		if one.Err() == nil && set.Check(one) != nil {
			list = append(list, token)
		}
	}
	return list
}
