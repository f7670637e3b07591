package peer

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// StrippedError is an answer that says that params._meta lacks what was sent in it, so
// something on the way takes it out.
type StrippedError struct {
	*RPCError
	Key      string // the member of params._meta
	Probably bool   // the answer may mean something else
}

// Error says what the server answered and what that means.
func (e *StrippedError) Error() string { return e.RPCError.Error() + "; " + e.Diagnosis() }

// Unwrap returns the answer.
func (e *StrippedError) Unwrap() error { return e.RPCError }

// Diagnosis says what the answer means. Its texts are all ours.
func (e *StrippedError) Diagnosis() string {
	if e.Probably {
		return "the server complains of " + e.Key + " in params._meta, which was sent as it must be; probably something on the way changes or deletes params._meta"
	}
	return "the server says that params._meta has no " + e.Key + ", but it was sent; something on the way deletes params._meta"
}

// invalidParams is the code with which a request of the stateless era is refused that
// lacks what every such request has.
const invalidParams = -32602

// always are the members of params._meta that every request of the stateless era has. An
// origin label is none of them: a server may find fault with one that it has received.
var always = []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities, mcp.MetaKeyClientInfo}

// What else an answer says beside the name of a member.
var (
	missing = regexp.MustCompile(`(?i)missing|required|absent|lacks|not found|undefined`)
	header  = regexp.MustCompile(`(?i)\bheader`) // the version goes there too, and may be missing there
)

// doubt returns a [StrippedError] for an answer that denies what was sent, and the answer
// itself for any other. The evidence is the code, and the name of the member in the
// message or in a string of the data. A member of that name in the data is none: whoever
// sends the request back has received it. So has a server that names the version which it
// does not like, unless it says that something is missing.
func (c *Conn) doubt(answer *RPCError) error {
	if c.era != Stateless || answer.Code != invalidParams {
		return answer
	}
	text := answer.Message + "\n" + dataTexts(answer.Raw)
	if header.MatchString(text) {
		return answer
	}
	for _, key := range always {
		if !strings.Contains(text, key) {
			continue
		}
		lacks, knows := missing.MatchString(text), strings.Contains(text, c.version)
		if knows && !lacks {
			return answer
		}
		return &StrippedError{RPCError: answer, Key: key, Probably: knows || !lacks}
	}
	return answer
}

// dataTexts returns the strings in the data of an error object, in no particular order.
func dataTexts(object []byte) string {
	var e struct {
		Data any `json:"data"`
	}
	if json.Unmarshal(object, &e) != nil {
		return ""
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, part := range v {
				walk(part)
			}
		case map[string]any:
			for _, part := range v {
				walk(part)
			}
		}
	}
	walk(e.Data)
	return b.String()
}
