package middleware

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// NewInProcessClient makes the gate for s and a client that talks to it inside the
// process. It takes the place of client.NewInProcessClient.
func NewInProcessClient(s *server.MCPServer, cfg Config, opts ...transport.InProcessOption) (*client.Client, error) {
	g, err := New(s, cfg)
	if err != nil {
		return nil, err
	}
	return client.NewClient(g.InProcess(opts...)), nil
}

// InProcess returns a transport to the gated server inside the process, for
// client.NewClient. mcp-go's typed client drops the data of an error; a caller
// that wants to read a refusal asks the transport itself.
func (g *Gate) InProcess(opts ...transport.InProcessOption) transport.Interface {
	if !g.made() {
		return noServer{}
	}
	inner := transport.NewInProcessTransportWithOptions(g.server, opts...)
	return &inProcess{Interface: inner, gate: g}
}

type inProcess struct {
	transport.Interface
	gate *Gate
}

// SendRequest sends one request and applies the way out's rule to its answer.
func (t *inProcess) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	edge := &singleEdge{gate: t.gate}
	defer edge.conclude() // also if a handler panics
	if !t.gate.hooksIntact() {
		msg, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		answer, passed := t.gate.standIn(ctx, msg)
		if answer != nil {
			return t.gate.inProcessError(request.ID, outcome{fate: fail})
		}
		if id, err := json.Marshal(request.ID); err == nil {
			passed.mark(edge.open(id, about{}))
		}
	}
	resp, err := t.Interface.SendRequest(t.gate.withEdge(ctx, edge), request)
	if err != nil || resp == nil {
		return resp, err
	}
	kind := wire.Result
	if resp.Error != nil {
		kind = wire.Error
	}
	o, _ := edge.answer(wire.Response{Kind: kind})
	if o.fate != pass {
		o.conclude(t.gate)
		return t.gate.inProcessError(request.ID, o)
	}
	if o.publish != "" {
		resp.Result = t.gate.publish(o, resp.Result)
	}
	return resp, nil
}

// inProcessError returns the answer that replaces mcp-go's, decoded as the
// transport decodes one.
func (g *Gate) inProcessError(id mcp.RequestId, o outcome) (*transport.JSONRPCResponse, error) {
	var details mcp.JSONRPCErrorDetails
	if err := json.Unmarshal(g.errorObject(o), &details); err != nil {
		return nil, err
	}
	return &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &details}, nil
}

// noServer is the transport of a Gate that has none.
type noServer struct{}

// Start returns the error that every call returns.
func (noServer) Start(context.Context) error { return errZeroGate }

// SendRequest returns the error that every call returns.
func (noServer) SendRequest(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return nil, errZeroGate
}

// SendNotification returns the error that every call returns.
func (noServer) SendNotification(context.Context, mcp.JSONRPCNotification) error { return errZeroGate }

// SetNotificationHandler does nothing: no notification will come.
func (noServer) SetNotificationHandler(func(mcp.JSONRPCNotification)) {}

// Close does nothing.
func (noServer) Close() error { return nil }

// GetSessionId returns no session.
func (noServer) GetSessionId() string { return "" }
