package main

import (
	"fmt"
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// concludeUnsent is for a probe that sent nothing.
func (p *plan) concludeUnsent(c *conclusion) {
	switch {
	case !p.refusable():
		c.verdict, c.text = acceptsAll, "The policy accepts every contributor, so there is nothing to enforce."
	case p.reports:
		c.verdict, c.text = reportOnly, "The server announces that it does not enforce its policy (\"policy\": false), so every request may run. Nothing was sent; -run sends all the same."
	case !p.announced:
		c.verdict, c.text = noPolicy, "The server publishes no flow policy, so no request is sure to be refused. Nothing was sent; -run sends all the same."
		c.note("A gateway that drops what it does not know would hide the policy too.")
	default:
		c.verdict, c.text = unclear, "The policy has tokens that only the server can decide ("+clean(strings.Join(p.vendor, ", "), 120)+"), so no request is sure to be refused. Nothing was sent; -run sends all the same."
	}
}

// through returns the first request that got through although the policy refuses it.
func (p *plan) through() *shot {
	for _, s := range p.shots {
		if !s.accepted && s.GotThrough() {
			return s
		}
	}
	return nil
}

// mixed returns the first request that was not always answered alike.
func (p *plan) mixed() *shot {
	for _, s := range p.shots {
		if s.other != nil {
			return s
		}
	}
	return nil
}

// concludeMixed is for answers that contradict each other.
func (p *plan) concludeMixed(c *conclusion) {
	s := p.mixed()
	c.verdict = unclear
	c.text = fmt.Sprintf("The same request (%s) is not always answered alike: %s. Several servers may stand behind this URL, and not all of them enforce alike.", s.about, s.cameBack())
	c.note("Probe each of them by its own URL.")
}

// notRefused returns the first request that should have met the policy and met something
// else.
func (p *plan) notRefused() *shot {
	for _, s := range p.shots {
		if !s.accepted && (s.Outcome == judge.RPCError || s.Outcome == judge.HTTPError) {
			return s
		}
	}
	return nil
}

// concludeThrough is for a request that got through although it must not.
func (p *plan) concludeThrough(c *conclusion) {
	s := p.through()
	how := "ran"
	switch {
	case s.Began != "" && s.Outcome == judge.Refused:
		how = "was refused only after a handler had begun: the server sent " + quoted(s.Began, 60) + " with it, and nothing may happen before the verdict (G2)"
	case s.Late:
		how = "was refused and then ran: a result followed the refusal (X1)"
	case s.Outcome == judge.ToolError:
		how = "got through to the tool, which answered with an error of its own"
		c.note("If it was not the tool but a policy that answered so: a refusal is a JSON-RPC error, never a tool result (X1).")
	}
	c.verdict = notEnforced
	c.text = fmt.Sprintf("The label is not enforced: a request that the policy refuses (%s) %s; or something on the way replaces the label: probe past the gateway to tell.", s.about, how)
	p.compare(c)
	var others []string
	for _, o := range p.shots {
		if o.Outcome == judge.Refused && !o.GotThrough() {
			others = append(others, o.about)
		}
	}
	switch {
	case !p.announced:
		c.verdict, c.text = noPolicy, "The server publishes no flow policy and enforces none: a request that the draft's default policy refuses ("+s.about+") "+how+"."
	case p.reports:
		c.verdict, c.text = reportOnly, "The server announces that it does not enforce its policy, and so it is: a request that the policy refuses ("+s.about+") "+how+"."
	case len(p.vendor) > 0:
		c.verdict = unclear
		c.note("A matcher of the server may have accepted it: %s.", clean(strings.Join(p.vendor, ", "), 120))
	case p.Accepts(policydecl.Label{}):
		c.note("The policy accepts requests without a label, so a gateway that strips labels would look the same.")
	case !p.served:
		c.note("The server declares the policy, but does not announce that it has any: it is not served through its gate, or the gate is off.")
	case s.other != nil:
		c.note("The same request was also answered otherwise: %s. Several servers may stand behind this URL.", s.other.Text())
	case len(others) > 0:
		c.note("Refused as it should be: %s.", strings.Join(others, "; "))
	}
}

// concludeOther is for requests that something other than the policy refused.
func (p *plan) concludeOther(c *conclusion) {
	s := p.notRefused()
	c.verdict = otherRefusal
	c.text = "Refused by something else than a flow policy: " + s.cameBack() + "."
	if slices.ContainsFunc(p.shots, func(s *shot) bool { return s.Outcome == judge.Refused }) {
		c.text = "A flow policy refuses some requests, but not all met it. " + s.about + ": " + s.cameBack() + "."
	}
	if s.Nameless {
		c.note("The answer does not name the request by its id, as every refusal of a request must (X1), so it proves nothing.")
		return
	}
	if text := s.pastGate(); text != "" {
		c.note("%s", text)
		return
	}
	c.note("The server's own refusals come first (G1): try arguments that the tool takes, or a token that may call it.")
	if s.Outcome == judge.HTTPError {
		c.note("HTTP status %d came without an MCP message, so it may come from a gateway.", s.Status)
	}
}

// How a gate of this project answers a request that did not come in through it (G6). The
// second text is that of a refusal whose code and key only the way out puts there (X2).
const (
	internalError  = -32603
	gateNotInOrder = "The flow gate of this server is not in order"
)

// pastGate says what it means if such a gate answered, or nothing.
func (s *shot) pastGate() string {
	const past = "requests reach the server past its gate, as when the MCP server is served itself in place of the gate's handler"
	switch {
	case s.Outcome != judge.RPCError || s.Code != internalError:
	case s.Detail == gateNotInOrder:
		return "This is the flow gate of the server, which refuses what it cannot judge: " + past + ", or the gate is not set up as it must be. See the server's log."
	case s.Detail == flowerrors.Message:
		return "This is a refusal by a flow gate, but without its code and its key (X2): " + past + ". See the server's log."
	}
	return ""
}

// stripped returns the first answer that says that params._meta did not arrive, or nil.
func (p *plan) stripped() *peer.StrippedError {
	for _, s := range p.shots {
		if s.Stripped != nil {
			return s.Stripped
		}
	}
	return nil
}
