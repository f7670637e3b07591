package main

import (
	"fmt"
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
)

// verdict is what a probe concludes, for machines.
type verdict string

const (
	enforced      verdict = "enforced"           // the label arrives and is enforced
	stripped      verdict = "stripped"           // no label arrives
	altered       verdict = "altered"            // a label arrives, but not the one that was sent
	noPrincipals  verdict = "principals-missing" // principals do not show, and the policy needs them
	notEnforced   verdict = "not-enforced"       // what the policy refuses got through
	policyDiffers verdict = "policy-differs"     // enforced is another policy than is published
	flawed        verdict = "flawed"             // enforced, but not as it must be
	otherRefusal  verdict = "other-refusal"      // something else refuses
	noPolicy      verdict = "no-policy"          // the server publishes none
	reportOnly    verdict = "report-only"        // the server says that it does not enforce
	acceptsAll    verdict = "accepts-all"        // the policy refuses nobody
	unclear       verdict = "unclear"            // what came back does not tell
)

// conclusion is the verdict with its reasons, for people.
type conclusion struct {
	verdict verdict
	text    string
	notes   []string
}

func (c *conclusion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// sight says how much of a label a server saw, as far as its refusal tells.
type sight string

const (
	sawWhole   sight = "whole"   // every contributor as sent
	sawStates  sight = "states"  // the assurance states, without principals
	sawNothing sight = "nothing" // what a request without a label gives
	sawOther   sight = "other"   // something else
	sawUnclear sight = "unclear" // the states, which are also what no label gives
	sawHidden  sight = "hidden"  // the refusal names nobody (X4)
)

// unlabelled is the violation of a request without a label (L1).
var unlabelled = []flowerrors.Rejected{{Assurance: "unverified"}}

// sees compares the refusal of a labelled request with what was sent.
func (s *shot) sees() sight {
	switch {
	case s.Violation == nil || len(s.Violation.Rejected) == 0:
		return sawHidden
	case judge.SameSet(s.Violation.Rejected, s.want):
		return sawWhole
	case judge.SameSet(s.Violation.Rejected, judge.Anonymous(s.want)):
		if judge.SameSet(judge.Anonymous(s.want), unlabelled) {
			return sawUnclear
		}
		return sawStates
	case judge.SameSet(s.Violation.Rejected, unlabelled):
		return sawNothing
	}
	return sawOther
}

// conclude says what the answers mean.
func (p *plan) conclude(run bool) *conclusion {
	c := &conclusion{}
	switch {
	case !p.sends(run):
		p.concludeUnsent(c)
	case p.stripped() != nil:
		c.denied(p.stripped())
	case p.through() != nil:
		p.concludeThrough(c)
	case p.mixed() != nil:
		p.concludeMixed(c)
	case p.notRefused() != nil:
		p.concludeOther(c)
	default:
		p.concludeRefused(c, run)
	}
	p.judgeFlaws(c)
	if c.verdict == enforced {
		p.admit(c)
	}
	return c
}

// admit says what has not been found out.
func (p *plan) admit(c *conclusion) {
	if p.apart {
		c.note("Each request that must be refused was sent %d times, on connections of their own. Whether everything behind this URL answers alike cannot be known.", repeats)
	}
	c.note("Whether the server accepts somebody whom the policy does not name cannot be known.")
}

// concludeRefused is for a probe whose refusals all came from a flow policy.
func (p *plan) concludeRefused(c *conclusion, run bool) {
	accepted := p.shot(shotAccepted)
	ran := accepted != nil && accepted.Ran()
	turned := accepted != nil && accepted.Outcome == judge.Refused
	switch seen := p.seen(); {
	case seen == sawOther:
		c.verdict, c.text = altered, "A label arrives, but not the one that was sent: the refusal names other contributors. Something on the way rewrites params._meta, or the server reads labels wrongly."
	case turned:
		p.concludeTurned(c, accepted, seen)
	case seen == sawNothing && ran:
		c.verdict, c.text = altered, "The request that the policy accepts ran, but labels that it refuses arrive as if there were none. Something on the way rewrites params._meta."
	case seen == sawNothing:
		c.strip()
	case !ran && (seen == sawUnclear || seen == sawHidden):
		c.verdict, c.text = unclear, "Every request was refused, but the refusals do not tell what the server saw."
		switch {
		case accepted != nil && !run:
			c.text += " -run also sends a request that the policy accepts, which shows whether its label arrives."
		case accepted != nil:
			c.text = "Every request that must be refused was refused, but the refusals do not tell what the server saw, and the request that the policy accepts did not run either."
		}
		p.showMore(c, seen)
	case seen != sawWhole && p.byName && !p.nameArrived():
		c.verdict, c.text = noPrincipals, "The label arrives and is enforced, but no principal shows, and the policy goes by principals. Something on the way may strip them, or the server keeps them to itself (X4)."
		if s := p.shot(shotNamed); s == nil || s.Outcome == judge.NotSent {
			c.note("-run with a principal that the policy accepts shows which: a URI token, or self with -self.")
		}
	default:
		c.verdict, c.text = enforced, "The label arrives and is enforced."
	}
	p.compare(c)
	p.remark(c, accepted)
}

// concludeTurned is for a request that the published policy accepts and that a flow
// policy refused.
func (p *plan) concludeTurned(c *conclusion, accepted *shot, seen sight) {
	arrived := seen == sawWhole || seen == sawStates
	if v := accepted.Violation; v != nil && len(v.Rejected) > 0 && !judge.SameSet(v.Rejected, unlabelled) {
		arrived = true // it names somebody whom only the label can have brought
	}
	switch {
	case arrived:
		c.verdict, c.text = policyDiffers, "The label arrives, but a request that the published policy accepts is refused."
	case seen == sawHidden:
		c.verdict, c.text = unclear, "Every request is refused, also the one that the policy accepts: either no label arrives, or the server enforces another policy than it publishes. The refusals do not tell which."
		p.showMore(c, seen)
		c.note("Or probe the server past the gateway: if the request that the policy accepts runs there, no label arrives through it. The server's log, too, says how it read the label.")
	default:
		c.strip()
	}
}

// showMore says how to go on where refusals name nobody.
func (p *plan) showMore(c *conclusion, seen sight) {
	if p.shot(shotAccepted) == nil && slices.Contains(p.Policy.Tokens(), judge.TokenSelf) {
		c.note("With -self URI, the server's own URI, -run can send a request that the policy accepts; if it runs, its label arrives.")
	}
	if seen == sawHidden && p.keyOnly() {
		c.note("The refusals show no more than that a policy refused, as a server may choose (X4). Let it show whom it refuses while you probe: flowgate's Config.Detail does that with flowerrors.DetailNoPrincipals or DetailFull.")
	}
}

// keyOnly reports whether the refusals could be read and name nobody (X4).
func (p *plan) keyOnly() bool {
	for _, s := range p.shots {
		if s.Outcome == judge.Refused && (s.Violation == nil || len(s.Violation.Rejected) > 0) {
			return false
		}
	}
	return true
}

// denied is for a server that says that it did not get what was sent in params._meta.
func (c *conclusion) denied(e *peer.StrippedError) {
	text := e.Diagnosis()
	c.verdict, c.text = stripped, strings.ToUpper(text[:1])+text[1:]+"."
	c.note("%s.", e.RPCError)
	c.note("Probe the server past the gateway to make sure.")
}

func (c *conclusion) strip() {
	c.verdict, c.text = stripped, "No label arrives: every request is refused as if it had none. Something on the way, such as a gateway, strips params._meta or what it does not know in it; or the server does not read the label."
	c.note("Probe the server past the gateway to see which of the two it is.")
}

// seen returns how much of the labels was seen: the worst that a refusal tells, if any
// tells something.
func (p *plan) seen() sight {
	saw := map[sight]bool{}
	for _, s := range p.shots {
		if s.labelled() && s.Outcome == judge.Refused {
			saw[s.sees()] = true
		}
	}
	for _, worst := range []sight{sawOther, sawNothing, sawStates, sawWhole, sawUnclear} {
		if saw[worst] {
			return worst
		}
	}
	return sawHidden
}

// nameArrived reports whether a request was accepted for its principal's sake.
func (p *plan) nameArrived() bool {
	s := p.shot(shotNamed)
	return s != nil && s.Ran()
}

// compare looks at the policy that the refusals name (D4).
func (p *plan) compare(c *conclusion) {
	want := p.Policy.Tokens()
	for _, s := range p.shots {
		if s.Violation == nil || len(s.Violation.AcceptFrom) == 0 {
			continue
		}
		got := slices.Sorted(slices.Values(s.Violation.AcceptFrom))
		if !slices.Equal(slices.Compact(got), slices.Compact(slices.Sorted(slices.Values(want)))) {
			if c.verdict == enforced {
				c.verdict, c.text = policyDiffers, "The label arrives and is enforced, but by another policy than the one that is published."
			}
			c.note("Refused by a policy that accepts %s; published is %s.", clean(strings.Join(s.Violation.AcceptFrom, ", "), 120), tokens(p.Policy))
			return
		}
	}
}

// remark adds what else is worth knowing.
func (p *plan) remark(c *conclusion, accepted *shot) {
	if p.source == inspect.FromDraft && !p.announced {
		c.note("The server publishes no flow policy, so it was taken to apply the draft's default.")
	}
	switch {
	case accepted == nil:
		c.note("The policy accepts no contributor that probe could make up, so only refusals were tried.")
	case accepted.Outcome == judge.NotSent && c.verdict == enforced:
		c.note("A request that the policy accepts was not sent; -run sends one.")
	case accepted.Outcome == judge.ToolError, accepted.Outcome == judge.RPCError, accepted.Outcome == judge.HTTPError:
		c.note("The request that the policy accepts was not refused by it, but %s.", accepted.cameBack())
	}
	if s := p.shot(shotNamed); s != nil && s.Outcome == judge.Refused && c.verdict != stripped {
		c.note("A contributor that the policy accepts by name was refused: its principal does not arrive, or -self is not what the server takes itself for.")
		if c.verdict == enforced {
			c.verdict, c.text = policyDiffers, "The label arrives and is enforced, but a request that the published policy accepts is refused."
		}
	}
	for _, s := range p.shots {
		if s.Outcome == judge.Refused && s.Violation == nil {
			c.note("The refusal of %s holds no readable detail (X2).", s.about)
			return
		}
	}
}
