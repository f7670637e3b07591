package middleware

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

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

// capability is what the server says of itself (D2).
func (g *Gate) capability() []byte {
	def, err := json.Marshal(g.set().Default())
	if err != nil {
		def = []byte(`{"acceptFrom":[]}`)
	}
	return append(append([]byte(`{"policy":true,"default":`), def...), '}')
}
