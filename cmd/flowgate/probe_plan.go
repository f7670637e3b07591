package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/peer"
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

	shots []*shot // those that must be refused first
}

// The names of the requests, for machines.
const (
	shotStranger   = "stranger"   // a contributor that the policy does not accept
	shotMarked     = "marked"     // one in a state that a missing label never has
	shotUnlabelled = "unlabelled" // no label (L1)
	shotEmpty      = "empty"      // a label that lists nobody (L2)
	shotIncomplete = "incomplete" // accepted contributors, but perhaps not all (L6)
	shotAccepted   = "accepted"   // a label that the policy accepts
	shotNamed      = "named"      // one that it accepts for the principal's sake
)

// shot is one request and what came of it.
type shot struct {
	name     string
	about    string // for people
	label    string // JSON; empty for none
	parsed   policydecl.Label
	accepted bool // what the policy says of it
	want     []flowerrors.Rejected

	outcome   outcome
	violation *flowerrors.Violation // of a refusal that could be read
	detail    string                // what came back, as sent
	code      int64                 // of another error
	status    int                   // of HTTP
	stripped  *peer.StrippedError   // if the answer denies that params._meta arrived
}

// outcome says what came back for a request.
type outcome string

const (
	notSent   outcome = "not-sent"
	refused   outcome = "refused"    // by a flow policy
	result    outcome = "result"     // the tool ran
	toolError outcome = "tool-error" // a result that says it is an error: it got through
	rpcError  outcome = "error"      // another JSON-RPC error
	httpError outcome = "http"       // no MCP answer at all
)

// placeholderSelf stands for the server's URI where it does not matter.
const placeholderSelf = "https://self.invalid/"

// gotThrough reports whether no policy stood in the way.
func (s *shot) gotThrough() bool { return s.outcome == result || s.outcome == toolError }

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

// aim fills in the requests.
func (p *plan) aim(self string) {
	states := []policydecl.Assurance{policydecl.Unverified, policydecl.TOFU, policydecl.Verified, policydecl.Host, policydecl.User}
	var refusedStates []policydecl.Assurance
	for _, s := range states {
		if !p.accepts(policydecl.BuildLabel(true, policydecl.NewContributor(p.marker, s, ""))) {
			refusedStates = append(refusedStates, s)
		}
	}
	accepted, ok := p.acceptable(self)
	var known []policydecl.Contributor
	if ok {
		known = append(known, accepted)
	}
	for i, s := range refusedStates {
		stranger := policydecl.NewContributor(p.marker, s, "")
		if i == 0 {
			label := policydecl.BuildLabel(true, append(known[:len(known):len(known)], stranger)...)
			p.add(shotStranger, "a stranger, "+s.String()+", beside an accepted contributor", label)
			if !ok {
				p.shots[len(p.shots)-1].about = "a stranger, " + s.String()
			}
		}
		if s != policydecl.Unverified {
			p.add(shotMarked, "a stranger, "+s.String()+", alone", policydecl.BuildLabel(true, stranger))
			break
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
	if len(refusedStates) > 0 {
		p.aimAtName(self, accepted, refusedStates[0])
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

// named returns contributors that a token accepts by their principal or publisher.
func (p *plan) named(self string, state policydecl.Assurance) []policydecl.Contributor {
	var list []policydecl.Contributor
	for _, token := range p.policy.Tokens() {
		switch publisher, ok := strings.CutPrefix(token, "publisher:"); {
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
		if _, isState := policydecl.ParseAssurance(token); !isState {
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

func (p *plan) accepts(l policydecl.Label) bool { return p.decide(l).Accepted() }

func (p *plan) decide(l policydecl.Label) policydecl.Decision {
	return p.set.Decide(context.Background(), &l, p.policy)
}

// add adds a request with the verdict and the refusal that the policy has for it.
func (p *plan) add(name, about string, l policydecl.Label) {
	s := &shot{name: name, about: about, parsed: l, outcome: notSent}
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

// reconsider finds out whom a refusal should name if it is one by another policy than
// the published one, as the refusal itself says. Or else a label would seem to have
// been changed on the way.
func (p *plan) reconsider(s *shot) {
	if s.violation == nil || len(s.violation.AcceptFrom) == 0 {
		return
	}
	applied, _ := policydecl.ReadPublished(map[string]any{"acceptFrom": s.violation.AcceptFrom}, p.policy)
	if v := p.set.Decide(context.Background(), &s.parsed, applied).Violation(); v != nil {
		s.want = v.Rejected
	}
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

// record keeps what came back. The error is that of a server that was lost.
func (s *shot) record(raw json.RawMessage, err error) error {
	var answer *peer.RPCError
	var page *peer.HTTPError
	switch {
	case err == nil:
		s.outcome, s.detail = result, string(raw)
		if obj, err := inspect.ReadObject(raw); err == nil && string(obj.Get("isError")) == "true" {
			s.outcome = toolError
		}
	case errors.As(err, &answer):
		s.outcome, s.code, s.status, s.detail = rpcError, answer.Code, answer.Status, answer.Message
		if v, flow, _ := flowerrors.ReadViolation(answer.Raw); flow {
			s.outcome, s.violation = refused, v // nil if its detail is unusable
		}
		errors.As(err, &s.stripped)
	case errors.As(err, &page):
		s.outcome, s.status, s.detail = httpError, page.Status, page.Body
	default:
		return err
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
