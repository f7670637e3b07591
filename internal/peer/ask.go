package peer

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// Ask is Call with further headers, for a link that has headers. It tells what came
// beside the answer, and reads on after it for a moment: a server may say one thing and
// then do another. The error is that of a server which did not answer as MCP does.
func (c *Conn) Ask(ctx context.Context, method string, params map[string]any, header http.Header) (*Answer, error) {
	r, err := c.prepare(method, params, header)
	if err != nil {
		return nil, err
	}
	return c.askAll(ctx, r)
}

// Raw is a request in words of one's own.
type Raw struct {
	Method string
	ID     string // as JSON, the same as in Body
	Body   []byte // the whole message
	// Params are what the headers of the stateless era are made of.
	Params map[string]any
	Header http.Header // beside those
}

// AskRaw is Ask for a message that need not be what a request must be.
func (c *Conn) AskRaw(ctx context.Context, raw Raw) (*Answer, error) {
	r, err := c.request(raw.Method, raw.Params)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.header, raw.Header)
	r.id, r.body, r.strict = raw.ID, raw.Body, true
	return c.askAll(ctx, r)
}

func (c *Conn) askAll(ctx context.Context, r *request) (*Answer, error) {
	r.drain, r.settle = true, c.settle
	a, err := c.send(ctx, r)
	if child, ok := c.link.(*child); ok && err == nil {
		c.barrier(ctx, child, r.id, a)
	}
	return a, err
}

// barrier reads what a child says until it answers a ping, or for a moment.
func (c *Conn) barrier(ctx context.Context, child *child, id string, to *Answer) {
	ctx, cancel := context.WithTimeout(ctx, c.settle)
	defer cancel()
	a, err := c.ask(ctx, string(mcp.MethodPing), nil)
	if err == nil {
		to.Beside = append(to.Beside, a.Beside...)
	}
	if again := child.doubles[id]; again != nil {
		to.Again, to.Late = again.again, json.RawMessage(again.late)
	}
}
