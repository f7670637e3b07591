package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// RPCError is an error with which a server answered a request. Message and Raw are as
// sent; Error escapes.
type RPCError struct {
	Method  string
	Code    int64
	Message string
	Raw     json.RawMessage // the error object
	Status  int             // of HTTP, where it is not 200
	NoID    bool            // it does not name the request, as it must (X1)
}

// Error says what the server answered.
func (e *RPCError) Error() string {
	at := ""
	if e.NoID {
		at = " without the id of the request (X1)"
	}
	if e.Status != 0 {
		at += fmt.Sprintf(" (HTTP status %d)", e.Status)
	}
	return fmt.Sprintf("%s was answered with error %d, %s%s", plain.Escape(e.Method, 80), e.Code, plain.Quote(e.Message, 200), at)
}

// JSONRPCCode returns the code of the error object.
func (e *RPCError) JSONRPCCode() int64 { return e.Code }

// HTTPError is an answer that is no MCP message. Its strings are as sent; Error escapes.
type HTTPError struct {
	Method      string
	Status      int
	ContentType string
	Challenge   string // WWW-Authenticate
	Location    string
	Body        string // its beginning
}

// Error says what came back and what to do about it.
func (e *HTTPError) Error() string {
	got := fmt.Sprintf("%s was answered with HTTP status %d", plain.Escape(e.Method, 80), e.Status)
	if text := http.StatusText(e.Status); text != "" {
		got += " " + text
	}
	kind, _, _ := mime.ParseMediaType(e.ContentType)
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		if e.Challenge != "" {
			got += ", WWW-Authenticate: " + plain.Quote(e.Challenge, 200)
		}
		return got + "; authorize with -header 'Authorization: Bearer ...'"
	case e.Status >= 300 && e.Status < 400:
		return got + " to " + Address(e.Location) + "; redirects are not followed, so give the URL it leads to"
	case e.Status == http.StatusMethodNotAllowed:
		return got + "; is this the URL of a Streamable HTTP endpoint? The older HTTP+SSE transport is not supported"
	case e.Status == http.StatusAccepted:
		return got + " and without an answer, as if it were a notification"
	case kind == "text/html":
		return got + " and an HTML page; is this the URL of the MCP endpoint? It often ends in /mcp"
	case e.Status == http.StatusNotFound:
		return got + "; is this the URL of the MCP endpoint? It often ends in /mcp"
	case e.Status == http.StatusOK:
		return got + fmt.Sprintf(" and %s, which is no MCP message: %s", plain.Quote(e.ContentType, 80), plain.Quote(e.Body, 120))
	}
	if e.Body != "" {
		got += ": " + plain.Quote(e.Body, 120)
	}
	return got
}

// TimeoutError says that an answer did not come in time.
type TimeoutError struct {
	Method string
	After  string // how long was waited
	Hint   string // what was seen instead, and what may help; fit for a terminal
	Said   string // the end of a child's standard error, on lines of its own
}

// Error says what was waited for.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer to %s within %s%s%s", plain.Escape(e.Method, 80), e.After, e.Hint, e.Said)
}

// sizeError says that a server sent too much.
func sizeError(method string, limit int) error {
	return fmt.Errorf("%s: the answer is larger than %d MiB, the limit", plain.Escape(method, 80), limit>>20)
}

var errFlood = errors.New("too many messages came before the answer")
