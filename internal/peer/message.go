package peer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// message is one JSON-RPC message from a server, with its parts as sent.
type message struct {
	id, method, result, err jsontext.Value
}

var errNoMessage = errors.New("not a JSON-RPC message")

// readMessage reads the envelope of a message. What two readers could take for
// different answers is none: a name that matters must stand there once.
func readMessage(raw []byte) (m message, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return m, errNoMessage
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return m, errNoMessage
		}
		part := m.part(name.String())
		v, err := d.ReadValue()
		if err != nil {
			return m, errNoMessage
		}
		if part == nil {
			continue
		}
		if *part != nil {
			return m, fmt.Errorf("%w: it has the same member twice", errNoMessage)
		}
		to := d.InputOffset()
		*part = raw[to-int64(len(v)) : to : to]
	}
	if _, err := d.ReadToken(); err != nil {
		return m, errNoMessage
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return m, errNoMessage
	}
	return m, nil
}

// part returns where the value of a member goes, or nil for one that does not matter.
func (m *message) part(name string) *jsontext.Value {
	switch name {
	case "id":
		return &m.id
	case "method":
		return &m.method
	case "result":
		return &m.result
	case "error":
		return &m.err
	}
	return nil
}

// answers reports whether m is an answer to the request with that id. An error without
// an id counts: a server that could not read the request cannot name it.
func (m *message) answers(id int64) bool {
	if m.method != nil || m.result == nil && m.err == nil {
		return false
	}
	if m.err != nil && (m.id == nil || m.id.Kind() == 'n') {
		return true
	}
	return string(m.id) == strconv.FormatInt(id, 10)
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
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	}
	_ = json.Unmarshal(m.err, &object) // what cannot be read stays zero; Raw has it all
	e.Code, _ = object.Code.Int64()
	e.Message = object.Message
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
