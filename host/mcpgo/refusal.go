package mcpgo

import (
	"encoding/json"
	"errors"
	"strconv"
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
// there is one, in whatever spelling, and object is its JSON text, if that is one.
func violationIn(err error) (object json.RawMessage, found bool) {
	text := err.Error()
	if !strings.Contains(strings.ToLower(unescaped(text)), strings.ToLower(flowerrors.ViolationKey)) {
		return nil, false
	}
	_, body, _ := strings.Cut(text, "{")
	var answer struct{ Error json.RawMessage }
	if json.NewDecoder(strings.NewReader("{"+body)).Decode(&answer) != nil {
		return nil, true
	}
	if _, refusal, err := flowerrors.ReadViolation(answer.Error); !refusal && err == nil {
		return nil, true // it is somewhere else
	}
	return answer.Error, true
}

// unescaped takes the escapes of JSON out of a text, however often it was quoted: \/ and \u002f
// are a slash. It is for looking only, so what else it does to a text is of no matter.
func unescaped(text string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = strings.TrimLeft(after, `\`)
		if len(text) < 5 || text[0] != 'u' {
			continue
		}
		if code, err := strconv.ParseUint(text[1:5], 16, 16); err == nil {
			out.WriteRune(rune(code))
			text = text[5:]
		}
	}
}

// brief is err without the body of an HTTP response, which is the server's and has no place
// in a record. Of mcp-go's errors, those with a body say the status before it.
func brief(err error) error {
	text := err.Error()
	const before = " with status "
	i := strings.Index(text, before)
	if i < 0 {
		return err
	}
	i += len(before)
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return errors.New(text[:i])
}
