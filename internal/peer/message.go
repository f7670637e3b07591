package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/rawjson"
)

// message is one JSON-RPC message from a server, with its parts as sent.
type message struct {
	jsonrpc, id, method, result, err jsontext.Value
}

var errNoMessage = errors.New("not a JSON-RPC message")

// readMessage reads the envelope of a message. What two readers could take for
// different answers is none: a name that matters must stand there once.
func readMessage(raw []byte) (m message, err error) {
	err = rawjson.Each(raw, func(member rawjson.Member) error {
		part, odd := m.part(member.Name)
		switch {
		case odd:
			return fmt.Errorf("%w: some readers take a member of it for another one", errNoMessage)
		case part == nil:
			return nil
		case *part != nil:
			return fmt.Errorf("%w: it has the same member twice", errNoMessage)
		}
		*part = member.Value
		return nil
	})
	if err != nil && !errors.Is(err, errNoMessage) {
		err = errNoMessage // where it stops being JSON is of no use to anybody
	}
	return m, err
}

// part returns where the value of a member goes, or nil for one that does not matter. A
// name is odd that is one of those but for letter case (L8).
func (m *message) part(name string) (at *jsontext.Value, odd bool) {
	switch name {
	case "jsonrpc":
		return &m.jsonrpc, false
	case "id":
		return &m.id, false
	case "method":
		return &m.method, false
	case "result":
		return &m.result, false
	case "error":
		return &m.err, false
	}
	for _, known := range []string{"jsonrpc", "id", "method", "result", "error"} {
		odd = odd || strings.EqualFold(name, known)
	}
	return nil, odd
}

// isAnswer reports whether m answers something.
func (m *message) isAnswer() bool { return m.method == nil && (m.result != nil || m.err != nil) }

// answers reports whether m is an answer to the request with that id, digit for
// digit and character for character (X1).
func (m *message) answers(id string) bool {
	return m.isAnswer() && string(m.id) == id
}

// nameless reports whether m is an error that does not say to what. A server that could
// not read a request cannot name it; any other must (X1).
func (m *message) nameless() bool {
	return m.isAnswer() && m.err != nil && m.unnamed()
}

// unnamed reports whether m has no id.
func (m *message) unnamed() bool { return m.id == nil || m.id.Kind() == 'n' }

// says returns the result of an answer, or its error.
func (m *message) says() jsontext.Value {
	if m.result != nil {
		return m.result
	}
	return m.err
}

// unread reports whether the code of an error says that the request could not be read.
func (m *message) unread() bool {
	code := m.code()
	return code == mcp.PARSE_ERROR || code == mcp.INVALID_REQUEST
}

// code returns the code of the error object, or 0 if there is none.
func (m *message) code() int64 {
	var e struct {
		Code json.Number `json:"code"`
	}
	_ = json.Unmarshal(m.err, &e)
	code, _ := e.Code.Int64()
	return code
}

// outcome returns what an answer says. One that has both parts, or an error that is no
// object, says nothing that could be relied on.
func (m *message) outcome(method string) (json.RawMessage, error) {
	switch {
	case m.result != nil && m.err != nil:
		return nil, fmt.Errorf("%s: %w: it has both a result and an error", method, errNoMessage)
	case m.err == nil:
		return json.RawMessage(m.result), nil
	case m.err.Kind() != '{':
		return nil, fmt.Errorf("%s: %w: its error is no object", method, errNoMessage)
	}
	e := &RPCError{Method: method, Raw: json.RawMessage(m.err)}
	var object struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(m.err, &object) // what cannot be read stays zero; Raw has it all
	e.Code, e.Message = m.code(), object.Message
	return nil, e
}

// reply answers a request that the server sends while it is asked something itself.
// Nothing is offered to it, but a ping is answered, or it might give up.
func (m *message) reply() []byte {
	if m.method == nil || m.id == nil {
		return nil
	}
	if string(m.method) == `"ping"` {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.id)
}
