package mcpgo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/flowgate-mcp/flowgate/host"
)

// TestNoBodiesRecorded: what a server writes into an HTTP response that is no answer has no
// place in a record, whichever request it was the response to.
func TestNoBodiesRecorded(t *testing.T) {
	for method, want := range map[string]host.Outcome{"tools/list": host.NotSent, "tools/call": host.Failed} {
		f := newFake("[" + toolText("a") + "]")
		f.set(method, func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, errors.New("request failed with status 500: Dear Dr Secret")
		})
		a := newAgent(t, hostConfig)
		c, _ := f.connect(t, a)
		ctx, _ := a.turn(t)
		if step(ctx, c, "a") == nil {
			t.Fatal("permitted")
		}
		got := a.last(t)
		if got.Outcome != want || !strings.HasSuffix(got.Reason, "request failed with status 500") {
			t.Errorf("%s: recorded %s, %q", method, got.Outcome, got.Reason)
		}
	}
}

// TestUnwritable: a request that cannot be written is not sent, and is recorded.
func TestUnwritable(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, _ := a.turn(t)
	request := call("a")
	request.Params.Arguments = map[string]any{"f": func() {}}
	if _, err := c.CallTool(ctx, request); err == nil {
		t.Error("permitted")
	}
	if got := a.last(t); got.Outcome != host.NotSent || got.Method != "tools/call" || got.Partition != t.Name() {
		t.Errorf("recorded %+v", got)
	}
	if got := f.methods(); got != "" {
		t.Errorf("sent %s", got)
	}
}
