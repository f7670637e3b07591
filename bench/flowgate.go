package bench

import (
	"context"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// flowgateDecider decides with policydecl.
type flowgateDecider struct {
	set    *policydecl.Set
	policy policydecl.Policy
}

func newFlowgate(tokens []string) (Decider, error) {
	set, err := policydecl.Compile(policydecl.Config{URI: ownURI})
	if err != nil {
		return nil, err
	}
	p := policydecl.AcceptFrom(tokens...)
	return flowgateDecider{set, p}, p.Err()
}

func (d flowgateDecider) decide(l *policydecl.Label) bool {
	decision := d.set.Decide(context.Background(), l, d.policy)
	return decision.Accepted()
}

func (d flowgateDecider) Prepared(raw []byte) (func() bool, error) {
	l := policydecl.ParseLabel(raw, policydecl.Limits{})
	return func() bool { return d.decide(&l) }, nil
}

func (d flowgateDecider) Decoded(v any) func() bool {
	return func() bool {
		l := policydecl.LabelOf(v, true, policydecl.Limits{})
		return d.decide(&l)
	}
}

func (d flowgateDecider) JSON(raw []byte) func() bool {
	return func() bool {
		l := policydecl.ParseLabel(raw, policydecl.Limits{})
		return d.decide(&l)
	}
}
