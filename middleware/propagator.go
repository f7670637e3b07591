package middleware

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// propagator is the gate's place in mcp-go's one slot for a propagator of
// _meta. mcp-go calls it once for every request, after the door and with the
// _meta that it decoded itself, so the label that is judged is the label of the
// message that runs.
type propagator struct {
	gate *Gate
	next tracing.MetaPropagator
}

// InjectMeta is the outgoing half of the propagator; it is the author's.
func (p propagator) InjectMeta(ctx context.Context, meta *mcp.Meta) *mcp.Meta {
	return p.next.InjectMeta(ctx, meta)
}

// ExtractMeta gives the request its record.
func (p propagator) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	began := p.gate.tick()
	r := &record{gate: p.gate, edge: p.gate.edgeOf(ctx)}
	r.now.Store(p.gate.now())
	if outer := p.gate.recordOf(ctx); outer != nil {
		r.nested = outer.edge == r.edge
	}
	if meta != nil {
		// Before the author's propagator, which may edit the map.
		if v, ok := meta.AdditionalFields[policydecl.LabelKey]; ok {
			r.label = policydecl.LabelOf(v, true, p.gate.limits)
		}
		if server.IsModernRequest(ctx) {
			r.origin = originInMeta(meta)
		}
	}
	r.spend(began)
	r.Context = p.next.ExtractMeta(ctx, meta)
	return r
}
