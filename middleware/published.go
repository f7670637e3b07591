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

func (g *Gate) afterListResources(ctx context.Context, id any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	var own map[string]server.ServerResource
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResources); ok {
		own = s.GetSessionResources()
	}
	var found []listed
	for i := range result.Resources {
		r := &result.Resources[i]
		if _, session := own[r.URI]; !session {
			g.reg.know(key{policydecl.Resource, r.URI})
			found = g.unknown(ctx, found, policydecl.Resource, r.URI, r.Meta)
		}
	}
	g.adopt(ctx, found)
	code, besides := g.byURI(ctx, policydecl.Resource, func(uri string) bool { _, ok := own[uri]; return ok })
	publishMore(ctx, g, g.listState(ctx, id, mcp.MethodResourcesList), policydecl.Resource, &result.Resources, code, besides, func(r *mcp.Resource) (string, **mcp.Meta) { return r.URI, &r.Meta })
}

func (g *Gate) afterListTemplates(ctx context.Context, id any, _ *mcp.ListResourceTemplatesRequest, result *mcp.ListResourceTemplatesResult) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	var own map[string]server.ServerResourceTemplate
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResourceTemplates); ok {
		own = s.GetSessionResourceTemplates()
	}
	var found []listed
	for i := range result.ResourceTemplates {
		t := &result.ResourceTemplates[i]
		raw, err := rawTemplate(*t)
		if err != nil {
			continue // nothing matches it
		}
		if _, session := own[raw]; !session {
			found = g.unknown(ctx, found, policydecl.Template, raw, t.Meta)
		}
	}
	g.adopt(ctx, found)
	code, besides := g.byURI(ctx, policydecl.Template, func(raw string) bool { _, ok := own[raw]; return ok })
	publishMore(ctx, g, g.listState(ctx, id, mcp.MethodResourcesTemplatesList), policydecl.Template, &result.ResourceTemplates, code, besides, func(t *mcp.ResourceTemplate) (string, **mcp.Meta) {
		raw, _ := rawTemplate(*t)
		return raw, &t.Meta
	})
}

// unknown appends a listed declaration whose policy is not in force yet.
func (g *Gate) unknown(ctx context.Context, found []listed, kind policydecl.TargetKind, name string, meta *mcp.Meta) []listed {
	if meta == nil || meta.AdditionalFields[policydecl.PolicyKey] == nil {
		return found
	}
	d := listed{target: target{kind, name, helper}}
	var err error
	d.policy, err = declared(meta)
	if told, ok := g.reg.unfit.Load(d.target); ok && told == d.tokens() {
		return found
	}
	if err == nil {
		if known := g.reg.lookup(d.target); slices.Equal(known.Tokens(), d.policy.Tokens()) && !known.IsZero() {
			return found
		}
		err = checkPolicy(g.reg, kind, name, d.policy)
	}
	if err != nil {
		g.unfit(ctx, d, err)
		return found
	}
	return append(found, d)
}

// adopt takes over the policies of listed declarations.
func (g *Gate) adopt(ctx context.Context, found []listed) {
	if len(found) == 0 {
		return
	}
	for _, f := range g.reg.adoptListed(found) {
		g.unfit(ctx, f.listed, f.err)
	}
}

// unfit tells the operator of a declaration that cannot be taken over: a mistake in it
// cannot stop the server any more. It is told once.
func (g *Gate) unfit(ctx context.Context, d listed, err error) {
	g.reg.unfit.Store(d.target, d.tokens())
	g.fault(ctx, about{}, err)
}
