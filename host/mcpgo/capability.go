package mcpgo

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// origin is the value of the client capability: this client labels what it sends.
var origin = []byte(`{"origin":true}`)

// encode returns the parameters of a request as the transports would write them, with
// the client capability declared where the client states its capabilities: in initialize,
// and in the _meta of every request of the 2026-07-28 protocol. mcp-go's type for them has no
// room for the capability. A request without parameters has none.
func encode(request transport.JSONRPCRequest) (json.RawMessage, error) {
	if request.Params == nil {
		return nil, nil
	}
	params, err := json.Marshal(request.Params)
	if err != nil {
		return nil, err
	}
	to := []string{"_meta", mcp.MetaKeyClientCapabilities}
	if request.Method == string(mcp.MethodInitialize) {
		to = []string{"capabilities"}
	}
	return wire.SpliceCapability(params, policydecl.CapabilityMember, policydecl.ExtensionKey, origin, to...), nil
}

// member returns one member of an object, nil if there is none. It reads names as they
// are, where encoding/json would take others for them too.
func member(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members[name]
}

// text returns one member of an object that is a string, empty if there is none.
func text(object json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(member(object, name), &s)
	return s
}

// has reports whether an object has a member, whatever it is.
func has(object json.RawMessage, name string) bool {
	return len(bytes.TrimSpace(member(object, name))) > 0
}
