package mcpgo

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// refused is the answer that stands for every refusal: one text, one code, no data (H7). It
// has to be an answer, because mcp-go's client puts words of its own before the error of
// a transport, and the code has to be one that mcp-go gives no meaning.
func refused(id mcp.RequestId) *transport.JSONRPCResponse {
	return transport.NewJSONRPCErrorResponse(id, flowerrors.DefaultCode, flowerrors.ModelText, nil)
}

// IsRefusal reports whether an error of mcp-go's client, or one that wraps it, stands for
// a request that a flow policy has refused: the host's own or the server's. mcp-go keeps
// nothing of an error but its text, so it is known by that alone, and a server can imitate
// it. Nothing should be inferred from it but that the call was not permitted; what there
// is to know is in the host's record.
func IsRefusal(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == flowerrors.ModelText {
			return true
		}
	}
	return false
}

// violationIn finds the refusal of a server in the text of a transport's error. mcp-go puts
// the body of an HTTP response there that it cannot take for an answer. found says that
// there is one, and object is its JSON text, if it can be read.
func violationIn(err error) (object json.RawMessage, found bool) {
	text := err.Error()
	if !strings.Contains(text, flowerrors.ViolationKey) {
		return nil, false
	}
	_, body, _ := strings.Cut(text, "{")
	var answer struct{ Error json.RawMessage }
	if json.NewDecoder(strings.NewReader("{"+body)).Decode(&answer) != nil {
		return nil, true
	}
	return answer.Error, true
}
