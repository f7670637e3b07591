package peer

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxBeside is how many messages beside an answer are remembered.
const maxBeside = 20

// maxSettle is how long is waited for what may still come when an answer is there.
const maxSettle = time.Second

// Answer is what came back for one request, with what came beside it.
type Answer struct {
	Result json.RawMessage // if Err is nil
	Err    error           // an [RPCError] or [StrippedError]

	// Beside holds the methods of the other messages that came before and after the
	// answer, as sent, at most 20. A ping is left out.
	Beside []string
	// Streamed reports that Beside came on a stream that belongs to this request alone.
	Streamed bool
	// Again counts further answers to the request, and Late holds the result in one.
	Again int
	Late  json.RawMessage
	// Open reports that the stream did not end after the answer, so that more may come.
	Open bool
	// Unnamed is the first answer to a request in words of one's own that came before and
	// names no id: its result or error, as sent.
	Unnamed json.RawMessage
	// Unversioned reports that the answer does not say jsonrpc "2.0".
	Unversioned bool
}

// reply is what a link has read for one request.
type reply struct {
	message
	id     string // of the request, as JSON
	strict bool   // an error without an id is no answer (X1)
	status int    // of HTTP, where it is not 200

	found  bool
	stray  *message       // an error without an id
	none   jsontext.Value // what an answer without an id says
	beside []string
	again  int
	late   jsontext.Value
	open   bool
	stream bool
}

// take puts a message where it belongs and reports whether the answer is there now.
func (r *reply) take(m message) bool {
	if r.strict && r.none == nil && m.isAnswer() && m.unnamed() {
		r.none = m.says()
	}
	switch {
	case m.answers(r.id) && !r.found, m.nameless() && !r.found && (!r.strict || m.unread()):
		r.message, r.found = m, true
	case m.answers(r.id):
		r.another(m)
	case m.nameless():
		if r.stray == nil {
			r.stray = &m
		}
	case m.method != nil && len(r.beside) < maxBeside:
		if name := m.name(); name != string(mcp.MethodPing) {
			r.beside = append(r.beside, name)
		}
	}
	return r.found
}

// another keeps a further answer. A result among them says what became of the request.
func (r *reply) another(m message) {
	r.again++
	if m.result != nil && r.late == nil {
		r.late = m.result
	}
}

// settle makes an error without an id the answer if there is no other, and reports
// whether there is one then.
func (r *reply) settle() bool {
	if !r.found && r.stray != nil {
		r.message, r.found = *r.stray, true
	}
	return r.found
}

// name returns the method, as sent.
func (m *message) name() string {
	var name string
	if json.Unmarshal(m.method, &name) != nil {
		return string(m.method)
	}
	return name
}
