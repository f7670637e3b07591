package middleware

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/decision"
)

// errChain says that something of the author's stands behind the gate.
func errChain(what string) error {
	return errors.New(what + " was added after the gate; install flowgate last")
}

// Faults of the gate itself (G6), for the operator's log.
var (
	errHooks     = errors.New("hooks were replaced, or one was added after the gate; install flowgate last")
	errNoRecord  = errors.New("the request has no record: the propagator of _meta was replaced; pass yours in Config.MetaPropagator")
	errUnbound   = errors.New("the request reached a seam that its Before hook never announced")
	errUnseen    = errors.New("an answer was on its way out whose request the door never saw, or nobody judged; a context function may have dropped the context")
	errUndecided = errors.New("the request reached the handler's side without a verdict")
)

// pass applies the verdict right before a handler. last says that the seam is
// the innermost.
//
// own says that the handler itself has a policy to apply: then that is the last seam, and
// makes the decision record.
func (g *Gate) pass(ctx context.Context, method mcp.MCPMethod, last, own bool) error {
	r := g.recordOf(ctx)
	if r == nil {
		if g.orphan(ctx, about{method: method}, errNoRecord) {
			return errBroken
		}
		return nil
	}
	bound, v := r.judged()
	var fault error
	switch {
	case bound != method:
		fault = errUnbound
	case !last:
		fault = errChain("a handler middleware")
	case v == undecided:
		fault = errUndecided
	}
	if fault != nil {
		r.fail(decision.ReasonSeams, fault)
		v = r.state()
	}
	if v != accepted {
		return r.apply()
	}
	if !own {
		r.conclude() // before the handler runs, so that nothing runs without a record
	}
	return nil
}
