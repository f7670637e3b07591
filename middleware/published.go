package middleware

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What is published is enforced (D4), also where an author writes a policy into the
// _meta of a resource or template by hand and adds it with mcp-go's own methods while
// the gate serves. mcp-go shows such a declaration to nobody until it is listed, which
// is when its policy becomes public; so that is when the gate takes it over. Tools and
// prompts need no such help: their declaration is at hand whenever they run.

func (g *Gate) afterListResources(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	var own map[string]server.ServerResource
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResources); ok {
		own = s.GetSessionResources()
	}
	for i := range result.Resources {
		r := &result.Resources[i]
		if _, session := own[r.URI]; !session {
			g.adoptListed(ctx, policydecl.Resource, r.URI, r.Meta)
		}
	}
}

func (g *Gate) afterListTemplates(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, result *mcp.ListResourceTemplatesResult) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	var own map[string]server.ServerResourceTemplate
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResourceTemplates); ok {
		own = s.GetSessionResourceTemplates()
	}
	for i := range result.ResourceTemplates {
		t := &result.ResourceTemplates[i]
		raw, err := rawTemplate(*t)
		if err != nil {
			continue // nothing matches it
		}
		if _, session := own[raw]; !session {
			g.adoptListed(ctx, policydecl.Template, raw, t.Meta)
		}
	}
}

// adoptListed takes over the policy of a declaration that was just listed, unless it
// is known. A mistake in it cannot stop the server any more, so the operator is told.
func (g *Gate) adoptListed(ctx context.Context, kind policydecl.TargetKind, name string, meta *mcp.Meta) {
	if meta == nil || meta.AdditionalFields[policydecl.PolicyKey] == nil {
		return
	}
	t := target{kind, name, helper}
	p, err := declared(meta)
	if err == nil {
		err = checkPolicy(g.reg, kind, name, p)
	}
	if err == nil {
		if known := g.reg.lookup(t); slices.Equal(known.Tokens(), p.Tokens()) && !known.IsZero() {
			return
		}
		err = g.reg.declare(t, p, func() bool { return false })
	}
	if err != nil {
		g.logFault(ctx, about{target: name}, err)
	}
}
