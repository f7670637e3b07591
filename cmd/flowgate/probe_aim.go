package main

import (
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// aim fills in the requests. Their number has a bound: five states, three forms of name,
// and five more.
func (p *plan) aim() {
	states := p.Refused()
	accepted, ok := p.Acceptable()
	if len(states) > 0 {
		p.aimAtStates(states, accepted, ok)
		for _, n := range p.Near(states) {
			p.add(shotOther, "a contributor whose "+n.Of+", "+n.State.String(), n.Label)
		}
	}
	p.add(shotUnlabelled, "no label", policydecl.Label{})
	p.add(shotEmpty, "a label that lists nobody", policydecl.BuildLabel(true))
	if ok {
		p.add(shotIncomplete, "an accepted contributor, incomplete", policydecl.BuildLabel(false, accepted))
	}
	p.shots = mustRefuse(p.shots)
	if ok {
		p.add(shotAccepted, "an accepted contributor, "+accepted.Assurance().String(), policydecl.BuildLabel(true, accepted))
	}
	if len(states) > 0 {
		p.aimAtName(accepted, states[0])
	}
}

// aimAtStates adds a stranger in each state that the policy refuses: a server may accept
// any of them. The first one, the least assured, also comes beside an accepted
// contributor, behind which a careless check does not look.
func (p *plan) aimAtStates(states []policydecl.Assurance, accepted policydecl.Contributor, ok bool) {
	first := policydecl.NewContributor(p.Marker, states[0], "")
	if ok {
		p.add(shotStranger, "a stranger, "+states[0].String()+", beside an accepted contributor", policydecl.BuildLabel(true, accepted, first))
	} else {
		p.add(shotStranger, "a stranger, "+states[0].String(), policydecl.BuildLabel(true, first))
		states = states[1:]
	}
	for _, s := range states {
		p.add(shotMarked, "a stranger, "+s.String()+", alone", policydecl.BuildLabel(true, policydecl.NewContributor(p.Marker, s, "")))
	}
}

// mustRefuse keeps the requests that the policy refuses.
func mustRefuse(shots []*shot) []*shot {
	var keep []*shot
	for _, s := range shots {
		if !s.accepted {
			keep = append(keep, s)
		}
	}
	return keep
}

// aimAtName adds a request that only arrives whole if its principal does.
func (p *plan) aimAtName(accepted policydecl.Contributor, state policydecl.Assurance) {
	for _, token := range p.Policy.Tokens() {
		// One that is a mistake matches nothing (P3).
		if _, isState := policydecl.ParseAssurance(token); !isState && policydecl.AcceptFrom(token).Err() == nil {
			p.byName = true
		}
	}
	for _, c := range p.Named(state) {
		label := policydecl.BuildLabel(true, c)
		if c != accepted && p.Accepts(label) {
			p.add(shotNamed, "a contributor accepted by name, "+state.String(), label)
			return
		}
	}
}
