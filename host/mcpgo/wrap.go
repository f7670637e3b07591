package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
)

// errNoAnswer is the error of a transport that returns neither an answer nor an error, or
// panics.
var errNoAnswer = errors.New("no answer")

// NewClient returns mcp-go's client over a wrapped transport; see [Wrap]. It takes the
// place of client.NewClient. The caller starts, initialises and closes it.
func NewClient(inner transport.Interface, conn *host.Connection, opts ...client.ClientOption) *client.Client {
	return client.NewClient(Wrap(inner, conn), opts...)
}

// Wrap returns a transport that sends over inner what conn permits, with its label, and
// tells conn of everything that comes back. It has the optional interfaces of inner and no
// others. Closing it closes conn too.
//
// A request's partition is that of its context; see [host.WithPartition]. A request that
// is refused has an error response for its answer, the same one whoever has refused. A
// request whose context ends while a list is read for it is not sent, and the error is the
// context's.
//
// Neither argument may be nil, and inner must not be started yet: Wrap sets its handler for
// notifications. The transport is safe for concurrent use if inner is.
func Wrap(inner transport.Interface, conn *host.Connection) transport.Interface {
	t := &wrapped{Interface: inner, conn: conn, lists: newLists(inner, conn)}
	inner.SetNotificationHandler(t.notify)
	return like(inner, t)
}

// wrapped is what all wrapped transports have. The methods that it does not define are
// those of the inner one: what a client starts, and the notifications that it sends, carry
// nothing that a policy governs.
type wrapped struct {
	transport.Interface
	conn  *host.Connection
	lists *lists

	mu      sync.RWMutex
	handler func(mcp.JSONRPCNotification)
}

// Close closes the connection in the host, so that nothing is sent any more, and then the
// transport.
func (t *wrapped) Close() error {
	t.conn.Close()
	return t.Interface.Close()
}

// SetNotificationHandler sets the handler for notifications of the server.
func (t *wrapped) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handler = handler
}

// notify counts a notification before the application has it (H2). It must not wait for
// the server: some transports read nothing else until it returns.
func (t *wrapped) notify(n mcp.JSONRPCNotification) {
	t.conn.Heard(nil)
	t.lists.announced(n.Method)
	t.mu.RLock()
	handler := t.handler
	t.mu.RUnlock()
	if handler != nil {
		handler(n)
	}
}

// SendRequest sends a request if it may be sent.
func (t *wrapped) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	p := host.PartitionFrom(ctx)
	params, err := encode(request)
	if err != nil {
		err = fmt.Errorf("the parameters cannot be written: %w", err)
		t.conn.Refuse(ctx, p, request.Method, nil, err.Error())
		return nil, err
	}
	needed := t.conn.NeedsList(p, request.Method, params)
	if len(needed) > 0 {
		// What comes on the stream of a list, or beside it, reaches the application (H2).
		// So it does for those who wait for a list that another request has asked for.
		defer t.conn.Waiting(p)()
	}
	for _, kind := range needed {
		if err := t.lists.refresh(ctx, kind, likeness{request.Header, params}); err != nil {
			t.conn.Refuse(ctx, p, request.Method, params, "the server's policies are not known: "+brief(err).Error())
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return refused(request.ID), nil
		}
	}
	r, err := t.conn.Prepare(ctx, p, request.Method, params)
	if err != nil {
		return refused(request.ID), nil
	}
	// Whatever happens, the request ends: only the first end counts.
	defer r.Failed(ctx, errNoAnswer)
	if r.Params != nil {
		request.Params = r.Params
	}
	return t.exchange(ctx, r, request)
}

// exchange sends a request that may be sent, and notes what comes back before the caller
// has it.
func (t *wrapped) exchange(ctx context.Context, r *host.Request, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	reading := t.lists.begin(request)
	response, err := t.Interface.SendRequest(ctx, request)
	switch {
	case err != nil:
		if object, found := violationIn(err); found {
			_ = r.Error(ctx, object) // what cannot be read is a refusal too
			return refused(request.ID), nil
		}
		r.Failed(ctx, brief(err))
		return nil, err
	case response == nil:
		r.Failed(ctx, errNoAnswer)
		return nil, errNoAnswer
	case response.Error != nil:
		object, err := json.Marshal(response.Error)
		if err != nil {
			object = nil // it may be a refusal
		}
		if r.Error(ctx, object) != nil {
			return refused(request.ID), nil
		}
		return response, nil
	}
	t.learn(ctx, request, reading, response.Result)
	r.Answered(ctx)
	return response, nil
}

// learn reads the policies in a result, from its raw text: typed clients drop them (H5).
// What cannot be read is noted by the host, which sends nothing that depends on it; the
// caller may still have the result.
func (t *wrapped) learn(ctx context.Context, request transport.JSONRPCRequest, reading *reading, result json.RawMessage) {
	switch mcp.MCPMethod(request.Method) {
	case mcp.MethodInitialize, mcp.MethodServerDiscover:
		if t.conn.Hello(ctx, result) == nil {
			t.lists.hello(result)
		}
	case mcp.MethodToolsCall, mcp.MethodTasksList:
		t.conn.Tasks(request.Method, result)
	default:
		if reading != nil {
			t.lists.page(ctx, reading, result)
		}
	}
}
