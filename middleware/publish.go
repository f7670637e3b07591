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
func (g *Gate) publish(method mcp.MCPMethod, msg []byte, to ...string) []byte {
	if list := listOf(method); list != "" {
		return wire.SpliceDeclarations(msg, policydecl.PolicyKey, policydecl.PolicyMember, append(to, list)...)
	}
	return wire.SpliceCapability(msg, policydecl.CapabilityMember, policydecl.ExtensionKey, g.capability(), append(to, "capabilities")...)
}

// capability is what the server says of itself (D2). One that refuses nothing, because it
// only reports, says so.
func (g *Gate) capability() []byte {
	st := g.now()
	def, err := json.Marshal(st.set.Default())
	if err != nil {
		def = []byte(`{"acceptFrom":[]}`)
	}
	b := append([]byte(`{"policy":`), strconv.FormatBool(st.enforces())...)
	return append(append(append(b, `,"default":`...), def...), '}')
}

// What overrides say about a declaration is published as if its author had said it (D4):
// in its _meta, from where it gets beside the other members like any other policy.

func (g *Gate) afterListTools(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	publishOverrides(ctx, g, policydecl.Tool, &result.Tools, func(t *mcp.Tool) (string, **mcp.Meta) { return t.Name, &t.Meta })
}

func (g *Gate) afterListPrompts(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, result *mcp.ListPromptsResult) {
	publishOverrides(ctx, g, policydecl.Prompt, &result.Prompts, func(p *mcp.Prompt) (string, **mcp.Meta) { return p.Name, &p.Meta })
}

// publishOverrides puts the policies of the overrides into listed declarations. These
// share memory with the server's own, so what changes is copied.
func publishOverrides[D any](ctx context.Context, g *Gate, kind policydecl.TargetKind, list *[]D, parts func(*D) (string, **mcp.Meta)) {
	st := g.now()
	if len(st.policies) == 0 || !st.publishes() || server.ServerFromContext(ctx) != g.server {
		return
	}
	copied := false
	for i := range *list {
		name, _ := parts(&(*list)[i])
		p, ok := st.policies[key{kind, name}]
		if !ok {
			continue
		}
		if !copied {
			*list, copied = slices.Clone(*list), true
		}
		_, meta := parts(&(*list)[i])
		*meta = withMeta(*meta, st.published(p, *meta))
	}
}

// published is what lists say of a declaration that a policy of the overrides governs: that
// policy. A declaration that came later may have a narrower one, which has to accept
// besides; then only what both list is certain to be accepted.
func (st *state) published(over policydecl.Policy, meta *mcp.Meta) policydecl.Policy {
	own, err := declared(meta)
	if err != nil {
		return policydecl.AcceptFrom()
	}
	if own.IsZero() || st.over.DangerouslyLoosen {
		return over
	}
	beyond := over.Beyond(own)
	if len(beyond) == 0 {
		return over
	}
	return policydecl.AcceptFrom(slices.DeleteFunc(over.Tokens(), func(token string) bool { return slices.Contains(beyond, token) })...)
}
