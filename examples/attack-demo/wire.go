package main

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// outcome is what became of a step.
type outcome string

const (
	allowed  outcome = "allowed"
	ceiling  outcome = "blocked-by-host-ceiling"
	precheck outcome = "blocked-by-host-precheck"
	rejected outcome = "rejected-by-server"
	failed   outcome = "failed" // anything else: never what must come of a step
)

// sent is one request that has left, and what came back for it.
type sent struct {
	method  string
	label   string // as it was on the wire; empty if there was none
	outcome outcome
}

// wire stands between the host and a transport, and notes what is really sent. What
// the host blocks does not come here.
type wire struct {
	mu   sync.Mutex
	sent []sent
}

// take returns the requests with the given method since the last call.
func (w *wire) take(method string) (list []sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sent {
		if s.method == method {
			list = append(list, s)
		}
	}
	w.sent = nil
	return list
}

type sendFunc func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

// pass sends a request on, and notes it and its answer.
func (w *wire) pass(ctx context.Context, request transport.JSONRPCRequest, send sendFunc) (*transport.JSONRPCResponse, error) {
	response, err := send(ctx, request)
	s := sent{method: request.Method, label: labelOf(request), outcome: failed}
	if err == nil && response != nil {
		s.outcome = outcomeOf(response)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, s)
	return response, err
}

// labelOf returns the origin label in a request.
func labelOf(request transport.JSONRPCRequest) string {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	text, err := json.Marshal(request.Params)
	if err != nil || json.Unmarshal(text, &params) != nil {
		return ""
	}
	return string(params.Meta[policydecl.LabelKey])
}

// outcomeOf reads what a server has answered. A refusal by flow policy is known by the key
// in its data (X2).
func outcomeOf(response *transport.JSONRPCResponse) outcome {
	if response.Error != nil {
		object, err := json.Marshal(response.Error)
		if err != nil {
			return failed
		}
		if _, refusal, _ := flowerrors.ReadViolation(object); refusal {
			return rejected
		}
		return failed
	}
	var result struct{ IsError bool }
	if json.Unmarshal(response.Result, &result) != nil || result.IsError {
		return failed
	}
	return allowed
}

// stdioWire and httpWire are mcp-go's transports with a wire in front. They embed the
// transports themselves, because a client looks for more methods than those of
// transport.Interface.
type (
	stdioWire struct {
		*transport.Stdio
		wire *wire
	}
	httpWire struct {
		*transport.StreamableHTTP
		wire *wire
	}
)

// SendRequest notes a request and sends it.
func (t stdioWire) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.wire.pass(ctx, r, t.Stdio.SendRequest)
}

// SendRequest notes a request and sends it.
func (t httpWire) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.wire.pass(ctx, r, t.StreamableHTTP.SendRequest)
}
