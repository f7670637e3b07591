// Package middlewaretest helps the authors of gated servers to test them, as
// net/http/httptest helps those of HTTP servers.
//
// It asks the gate as a client would, so it sees what hosts see: what is listed, by
// whatever has registered it.
package middlewaretest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// ValidateDeclarations fails the test for every mistake in what the gated server
// publishes (D1, D2): in the capability, and in every tool, resource, template and prompt
// that it lists, page by page. It says of each where it is, as a JSON Pointer, which rule
// it breaks and what to write instead; policydecl.ValidateDeclaration has the list of
// what is looked at, a tool's schemas among it.
//
// One line in a test of the author's own suffices:
//
//	middlewaretest.ValidateDeclarations(t.Context(), t, gate)
//
// ctx reaches the server's filters as that of a request does, so it is the place for a
// role or a user whom they let see everything. What is added for single sessions is not
// seen. A server that lists nothing fails the test, because nothing was tested, and so
// does one whose gate is off, because it publishes no policy.
func ValidateDeclarations(ctx context.Context, t testing.TB, gate *middleware.Gate) {
	t.Helper()
	c := client{inner: gate.InProcess()}
	defer c.inner.Close()
	if err := c.inner.Start(ctx); err != nil {
		t.Errorf("the server cannot be asked: %v", err)
		return
	}
	hello, err := c.call(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION,
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "middlewaretest", "version": "1"},
	})
	if err != nil {
		t.Errorf("the server cannot be asked: %v", err)
		return
	}
	report, err := inspect.Run(ctx, c.call, hello)
	if err != nil {
		t.Errorf("the server was not listed to the end: %v", err)
	}
	if !report.Server.Announced {
		t.Errorf("the server does not announce flow policy; is the gate off?")
	}
	for _, finding := range findings(report) { // not in the loop over All, whose line the test would name
		t.Errorf("%s", finding)
	}
	if len(report.Entries) == 0 {
		t.Errorf("the server lists nothing; register everything before the test")
	}
}

// findings lists what is wrong, and where.
func findings(report *inspect.Report) (list []string) {
	for where, fault := range report.All() {
		list = append(list, fmt.Sprintf("%s: %v", where, fault))
	}
	return list
}

// client sends requests to the gated server and hands out the results as they came.
type client struct {
	inner transport.Interface
	id    int64
}

func (c *client) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	c.id++
	request := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(c.id), Method: method}
	if params != nil {
		request.Params = params
	}
	answer, err := c.inner.SendRequest(ctx, request)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case answer.Error != nil:
		return nil, &answerError{method, answer.Error}
	}
	return answer.Result, nil
}

// answerError is an error with which the server answered.
type answerError struct {
	method string
	*mcp.JSONRPCErrorDetails
}

func (e *answerError) Error() string {
	return fmt.Sprintf("%s: error %d: %+q", e.method, e.Code, e.Message)
}

func (e *answerError) JSONRPCCode() int64 { return int64(e.Code) }
