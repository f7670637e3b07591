package main

import (
	"net/url"
	"strings"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// aim fills in the requests. Their number has a bound: five states, three forms of name,
// and five more.
func (p *plan) aim(self string) {
	var states []policydecl.Assurance // that the policy refuses
	for _, s := range []policydecl.Assurance{policydecl.Unverified, policydecl.TOFU, policydecl.Verified, policydecl.Host, policydecl.User} {
		if !p.accepts(policydecl.BuildLabel(true, policydecl.NewContributor(p.marker, s, ""))) {
			states = append(states, s)
		}
	}
	accepted, ok := p.acceptable(self)
	if len(states) > 0 {
		p.aimAtStates(states, accepted, ok)
		p.aimBesideNames(self, states)
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
		p.aimAtName(self, accepted, states[0])
	}
}

// aimAtStates adds a stranger in each state that the policy refuses: a server may accept
// any of them. The first one, the least assured, also comes beside an accepted
// contributor, behind which a careless check does not look.
func (p *plan) aimAtStates(states []policydecl.Assurance, accepted policydecl.Contributor, ok bool) {
	first := policydecl.NewContributor(p.marker, states[0], "")
	if ok {
		p.add(shotStranger, "a stranger, "+states[0].String()+", beside an accepted contributor", policydecl.BuildLabel(true, accepted, first))
	} else {
		p.add(shotStranger, "a stranger, "+states[0].String(), policydecl.BuildLabel(true, first))
		states = states[1:]
	}
	for _, s := range states {
		p.add(shotMarked, "a stranger, "+s.String()+", alone", policydecl.BuildLabel(true, policydecl.NewContributor(p.marker, s, "")))
	}
}

// aimBesideNames adds for each form of token that goes by a name a contributor whose name
// is nearly the accepted one, as one that a server accepts which compares no more than
// the beginning (P1, P2).
func (p *plan) aimBesideNames(self string, states []policydecl.Assurance) {
	state := states[0]
	for _, s := range states {
		if s == policydecl.Verified { // that of whoever has a name as a rule
			state = s
		}
	}
	done := map[string]bool{}
	add := func(form string, c policydecl.Contributor) {
		label := policydecl.BuildLabel(true, c)
		if named := c.Principal() + c.Publisher(); named != "" && !done[form] && !p.accepts(label) {
			done[form] = true
			p.add(shotOther, "a contributor whose "+form+", "+state.String(), label)
		}
	}
	for _, token := range p.policy.Tokens() {
		_, isState := policydecl.ParseAssurance(token)
		switch publisher, ok := strings.CutPrefix(token, tokenPublisher); {
		case isState, token == tokenSelf && self == "": // the marked ones have another URI
		case ok:
			add("publisher is nearly an accepted one", policydecl.NewContributor(p.marker, state, almost(publisher)))
		case token == tokenSelf:
			add("principal is nearly the server's own URI", policydecl.NewContributor(almost(self), state, ""))
		default:
			add("principal is nearly an accepted one", policydecl.NewContributor(almost(token), state, ""))
		}
	}
}

// almost returns another URI that begins with the given one.
func almost(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return uri
	case u.Opaque != "":
		return uri + ":flowgate-probe"
	}
	return u.JoinPath("flowgate-probe").String()
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

// acceptable returns a contributor that the policy accepts, one by its state if it can.
func (p *plan) acceptable(self string) (policydecl.Contributor, bool) {
	candidates := []policydecl.Contributor{
		policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""),
		policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, ""),
		policydecl.NewContributor(p.marker, policydecl.Verified, ""),
		policydecl.NewContributor(p.marker, policydecl.TOFU, ""),
		policydecl.NewContributor(p.marker, policydecl.Unverified, ""),
	}
	for _, c := range append(candidates, p.named(self, policydecl.Verified)...) {
		if p.accepts(policydecl.BuildLabel(true, c)) {
			return c, true
		}
	}
	return policydecl.Contributor{}, false
}

// tokenPublisher is how a token begins that goes by the publisher.
const tokenPublisher = "publisher:"

// named returns contributors that a token accepts by their principal or publisher.
func (p *plan) named(self string, state policydecl.Assurance) []policydecl.Contributor {
	var list []policydecl.Contributor
	for _, token := range p.policy.Tokens() {
		switch publisher, ok := strings.CutPrefix(token, tokenPublisher); {
		case ok:
			list = append(list, policydecl.NewContributor(p.marker, state, publisher))
		case token == tokenSelf && self != "":
			list = append(list, policydecl.NewContributor(self, state, ""))
		default:
			list = append(list, policydecl.NewContributor(token, state, ""))
		}
	}
	return list
}

// aimAtName adds a request that only arrives whole if its principal does.
func (p *plan) aimAtName(self string, accepted policydecl.Contributor, state policydecl.Assurance) {
	for _, token := range p.policy.Tokens() {
		// One that is a mistake matches nothing (P3).
		if _, isState := policydecl.ParseAssurance(token); !isState && policydecl.AcceptFrom(token).Err() == nil {
			p.byName = true
		}
	}
	for _, c := range p.named(self, state) {
		label := policydecl.BuildLabel(true, c)
		if c != accepted && p.accepts(label) {
			p.add(shotNamed, "a contributor accepted by name, "+state.String(), label)
			return
		}
	}
}
