package middleware

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What mcp-go's types cannot say is added on the way out (D1, D2): the policy beside the
// other members of a declaration, copied from the declaration's own _meta, and the
// capability. Nothing else in those answers is touched (D3).

// listOf names the arrays of declarations, by the method that lists them, and "" for any other method.
func listOf(method mcp.MCPMethod) string {
	switch method {
	case mcp.MethodToolsList:
		return "tools"
	case mcp.MethodResourcesList:
		return "resources"
	case mcp.MethodResourcesTemplatesList:
		return "resourceTemplates"
	case mcp.MethodPromptsList:
		return "prompts"
	}
	return ""
}

// publishes reports whether answers to the method may have to be added to.
func publishes(method mcp.MCPMethod) bool {
	return method == mcp.MethodInitialize || method == mcp.MethodServerDiscover || listOf(method) != ""
}

// publish adds to an answer what mcp-go could not say, for a method that publishes. to is
// the path to the result, none if msg is the result itself. It returns msg itself when
// there is nothing to add.
//
// What is said is that of the state in which the door has seen the request: an answer that
// mixes two is true of neither (D4).
func (g *Gate) publish(o outcome, msg []byte, to ...string) []byte {
	if list := listOf(o.publish); list != "" {
		return wire.SpliceDeclarations(msg, policydecl.PolicyKey, policydecl.PolicyMember, append(to, list)...)
	}
	return wire.SpliceCapability(msg, policydecl.CapabilityMember, policydecl.ExtensionKey, capability(o.entry.now), append(to, "capabilities")...)
}

// capability is what the server says of itself (D2). One that refuses nothing, because it
// only reports, says so.
func capability(st *state) []byte {
	def, err := json.Marshal(st.set.Default())
	if err != nil {
		def = []byte(`{"acceptFrom":[]}`)
	}
	b := append([]byte(`{"policy":`), strconv.FormatBool(st.enforces())...)
	return append(append(append(b, `,"default":`...), def...), '}')
}

// What else governs a declaration is published as if its author had said it (D4): in its
// _meta, from where it gets beside the other members like any other policy. That is what
// Govern says, what the global tool says for a session's, and what overrides say.

func (g *Gate) afterListTools(ctx context.Context, id any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	own := sessionTools(ctx) // all at once: each call copies them
	code := func(name string) []policydecl.Policy {
		policies, err := g.toolPoliciesByName(ctx, nil, name, own)
		if err != nil {
			return nothingAccepted
		}
		return policies
	}
	publishMore(ctx, g, g.listState(ctx, id, mcp.MethodToolsList), policydecl.Tool, &result.Tools, code, none, func(t *mcp.Tool) (string, **mcp.Meta) { return t.Name, &t.Meta })
}

func (g *Gate) afterListPrompts(ctx context.Context, id any, _ *mcp.ListPromptsRequest, result *mcp.ListPromptsResult) {
	var registered map[string]*server.ServerPrompt
	code := func(name string) []policydecl.Policy {
		if registered == nil {
			registered = g.server.ListPrompts() // all at once: each call copies them
		}
		if prompt := registered[name]; prompt != nil {
			if p, err := declared(prompt.Prompt.Meta); err != nil {
				return nothingAccepted
			} else if !p.IsZero() {
				return []policydecl.Policy{p}
			}
		}
		return g.undeclared(ctx, nil, key{policydecl.Prompt, name})
	}
	publishMore(ctx, g, g.listState(ctx, id, mcp.MethodPromptsList), policydecl.Prompt, &result.Prompts, code, none, func(p *mcp.Prompt) (string, **mcp.Meta) { return p.Name, &p.Meta })
}

// none is what has to accept beside the policy of a tool or prompt.
func none(string) []policydecl.Policy { return nil }

// nothingAccepted is what is published of something whose policy cannot be read.
var nothingAccepted = []policydecl.Policy{policydecl.AcceptFrom()}

// byURI returns what is known of a listed resource or template by its name alone, with a
// policy in its declaration (then that has to accept too) and without. session says which of them
// the session has for itself: these count beside the server's own of that name.
func (g *Gate) byURI(ctx context.Context, kind policydecl.TargetKind, session func(name string) bool) (code, besides func(name string) []policydecl.Policy) {
	govern := func(name string) policydecl.Policy { return g.reg.lookup(target{kind, name, byGovern}) }
	code = func(name string) []policydecl.Policy {
		k := key{kind, name}
		if p := g.remembered(k); session(name) && !p.IsZero() {
			return []policydecl.Policy{p, {}}
		}
		return g.undeclared(ctx, nil, k)
	}
	besides = func(name string) (list []policydecl.Policy) {
		if p := govern(name); !p.IsZero() {
			list = append(list, p)
		}
		if p := g.remembered(key{kind, name}); session(name) && !p.IsZero() {
			list = append(list, p)
		}
		return list
	}
	return code, besides
}

// listState returns the state in which the door has seen a request for a list, or the one in
// force where nobody can tell.
func (g *Gate) listState(ctx context.Context, id any, method mcp.MCPMethod) *state {
	if edge := g.edgeOf(ctx); edge != nil {
		if e, sure := edge.find(id, about{method: method}); sure && e != nil && e.seen.Load() && e.now != nil {
			return e.now
		}
	}
	return g.now()
}

// publishMore puts policies into listed declarations that have none, or another one, in
// their _meta. code returns the policies that the code gives something whose declaration has
// none, and besides those that have to accept beside the declaration's own. The list shares memory with the server's own, so
// what changes is copied.
func publishMore[D any](ctx context.Context, g *Gate, st *state, kind policydecl.TargetKind, list *[]D, code, besides func(name string) []policydecl.Policy, parts func(*D) (string, **mcp.Meta)) {
	if !st.publishes() || server.ServerFromContext(ctx) != g.server {
		return
	}
	copied := false
	for i := range *list {
		name, meta := parts(&(*list)[i])
		p, changed := st.published(key{kind, name}, *meta, code, besides)
		if !changed {
			continue
		}
		if !copied {
			*list, copied = slices.Clone(*list), true
		}
		_, meta = parts(&(*list)[i])
		*meta = withMeta(*meta, p)
	}
}

// published returns what lists say of a declaration, and whether that is anything but what
// its _meta says. Of several policies that have to accept it is the first, less what another
// one does not list: only the rest is certain to be accepted.
func (st *state) published(k key, meta *mcp.Meta, code, besides func(name string) []policydecl.Policy) (p policydecl.Policy, changed bool) {
	over, has := st.policies[k]
	own, err := declared(meta)
	switch {
	case err != nil:
		return policydecl.AcceptFrom(), has
	case has && st.over.DangerouslyLoosen:
		return over, true
	case !own.IsZero():
		others := besides(k.name)
		if has {
			return narrowed(over, append(others, own)...), true
		}
		return narrowed(own, others...), len(others) > 0
	}
	policies := code(k.name)
	for i, c := range policies {
		switch {
		case !c.IsZero():
		case has:
			policies[i] = st.before
		case len(policies) > 1:
			policies[i] = st.set.Default()
		default:
			return p, false // the default governs it, which is not published here
		}
	}
	if has {
		policies = append([]policydecl.Policy{over}, policies...)
	}
	if len(policies) == 0 {
		return p, false
	}
	return narrowed(policies[0], policies[1:]...), true
}

// narrowed returns p without the tokens that one of the others does not list.
func narrowed(p policydecl.Policy, others ...policydecl.Policy) policydecl.Policy {
	beyond := beyondAny(p, others)
	if len(beyond) == 0 {
		return p
	}
	return policydecl.AcceptFrom(slices.DeleteFunc(p.Tokens(), func(token string) bool { return slices.Contains(beyond, token) })...)
}
