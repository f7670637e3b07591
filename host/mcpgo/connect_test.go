package mcpgo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var info = mcp.Implementation{Name: "agent", Version: "1.0.0"}

// startable is a fake that keeps the context that it was started with.
type startable struct {
	*fake
	ctx context.Context
	err error
}

// Start keeps the context.
func (s *startable) Start(ctx context.Context) error {
	s.ctx = ctx
	return s.err
}

// TestConnectOutlivesItsContext: the context is for the handshake.
func TestConnectOutlivesItsContext(t *testing.T) {
	s := &startable{fake: newFake("[" + toolText("a") + "]")}
	a := newAgent(t, hostConfig)
	ctx, cancel := context.WithCancel(t.Context())
	c, _, err := mcpgo.Connect(ctx, a.Host, records(policydecl.Verified), s, info)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if s.ctx.Err() != nil {
		t.Error("the transport's context has ended with the handshake's")
	}
	turn, _ := a.turn(t)
	permitted(t, step(turn, c, "a"))
}

// TestConnectFails: after an error nothing is left open.
func TestConnectFails(t *testing.T) {
	broken := errors.New("no such program")
	synctest.Test(t, func(t *testing.T) {
		for name, s := range map[string]*startable{
			"start":      {fake: newFake(""), err: broken},
			"initialize": {fake: newFake("")},
			"too late":   {fake: newFake("")},
		} {
			want := broken
			switch name {
			case "initialize":
				s.set("initialize", func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
					return nil, broken
				})
			case "too late":
				s.set("initialize", hang)
				want = context.DeadlineExceeded
			}
			a := newAgent(t, hostConfig)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			c, conn, err := mcpgo.Connect(ctx, a.Host, records(policydecl.Verified), s, info)
			cancel()
			if c != nil || conn != nil || !errors.Is(err, want) || s.closed != 1 {
				t.Errorf("%s: %v, closed %d times", name, err, s.closed)
			}
		}
	})
}

// TestConnectToAMistake: a mistake in the server's description is reported before anything
// is started.
func TestConnectToAMistake(t *testing.T) {
	s := &startable{fake: newFake("")}
	_, _, err := mcpgo.Connect(t.Context(), newAgent(t, hostConfig).Host, host.Server{URI: "records"}, s, info)
	n := 0
	for range flowerrors.All(err) {
		n++
	}
	if n == 0 || s.ctx != nil || s.closed != 0 {
		t.Errorf("%v, %v", err, s)
	}
}

// TestIsRefusal: it looks through wrapping, and at nothing but the text.
func TestIsRefusal(t *testing.T) {
	refusal := errors.New(flowerrors.ModelText)
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {refusal, true}, {transport.NewError(refusal), true}, {errors.New("x: " + flowerrors.ModelText), false},
		{new(host.Refusal), true}, {errors.New(flowerrors.Message), false},
	} {
		if got := mcpgo.IsRefusal(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}
