package overrides

import (
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// acceptFrom reads the list of tokens of the policy at p. What is wrong with it stays in
// the policy, and judge reports it.
func (b *builder) acceptFrom(p *place.Place, n *node) policydecl.Policy {
	if n.kind != array {
		return b.within(p, nil, policyOf(n.value()))
	}
	list := make([]any, 0, len(n.list))
	for _, e := range n.list {
		list = append(list, e.value())
	}
	return b.within(p, list, policyOf(list))
}

func policyOf(list any) policydecl.Policy {
	policy, _ := policydecl.PolicyOf(map[string]any{memberAcceptFrom: list})
	return policy
}

// within leaves out of a policy what a report has no room for. Every mistake that stays has
// a path in which the name of the target is, so that without this a long name and a long
// list would take the space of their product.
func (b *builder) within(p *place.Place, list []any, policy policydecl.Policy) policydecl.Policy {
	if policy.Err() == nil {
		return policy
	}
	var at []string
	for e := range flowerrors.All(policy.Err()) {
		at = append(at, e.Path)
	}
	size := len(p.PathUnder(isSection))
	room := min(MaxFaults+1-b.mistaken, (maxReport-b.paths)/size+1) // one more, so that it is seen that there are more
	switch {
	case room <= 0:
		b.more = true
		return policydecl.AcceptFrom() // the file is refused for what came before
	case room < len(at):
		b.more = true
		_, last, _ := place.Cut(strings.TrimPrefix(at[room-1], memberAcceptFrom))
		policy, at = policyOf(list[:max(last, 0)+1]), at[:room]
	}
	b.mistaken, b.paths = b.mistaken+len(at), b.paths+size*len(at)
	return policy
}
