package wire

// Kind says what a message that leaves the server is.
type Kind uint8

// The kinds of outgoing message.
const (
	Other  Kind = iota // a notification, a request to the client, or no JSON-RPC
	Result             // an answer with a result
	Error              // an answer with an error
)

// Response is the envelope of an outgoing message.
type Response struct {
	Kind Kind
	ID   []byte // the id's JSON text
}

// ReadResponse reads the envelope of one message written by mcp-go. A message
// that has a method is no answer, whatever else it has; one that cannot be read
// is Other. An answer with both a result and an error counts as a result,
// because that is the one that has to be held back.
func ReadResponse(msg []byte) Response {
	var r Response
	c, err := open(msg, space(msg, 0), '{')
	if err != nil {
		return r
	}
	for {
		name, err := c.member()
		if err != nil {
			return Response{ID: r.ID}
		}
		v := c.i
		switch string(name) {
		case "":
			return r
		case `"method"`:
			return Response{ID: r.ID}
		case `"result"`:
			r.Kind = Result
		case `"error"`:
			if r.Kind == Other {
				r.Kind = Error
			}
		}
		if c.skip() != nil {
			return Response{ID: r.ID}
		}
		if string(name) == `"id"` {
			r.ID = msg[v:c.i]
		}
	}
}

// AppendError appends a JSON-RPC error answer with the given id and error
// object, both JSON texts. The id is written as it is given, digit for digit and
// escape for escape (X1). A nil id becomes null.
func AppendError(dst, id, errorObject []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if len(id) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, id...)
	}
	dst = append(dst, `,"error":`...)
	dst = append(dst, errorObject...)
	return append(dst, '}')
}
