package mcpgo_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestSaidWhileListed: what a server says while the adapter reads a list reaches the
// application, so it counts for all who wait for that list, before the handler has it (H2).
// The list itself counts for nobody.
func TestSaidWhileListed(t *testing.T) {
	for _, method := range []string{"", "notifications/message"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("")
			speak := make(chan struct{})
			f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
				<-speak
				if method != "" {
					f.say(method)
				}
				return reply(`{"tools":[`+toolText("a")+`,{"name":"b","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":[]}}]}`)(ctx, r)
			})
			a := newAgent(t, hostConfig)
			c, _ := f.connect(t, a)
			leader, first := a.calm(t)
			waiter, second := a.calm(t)
			_, idle := a.calm(t)
			c.OnNotification(func(mcp.JSONRPCNotification) {
				if !holds(first) || !holds(second) || holds(idle) {
					t.Errorf("in the handler they hold %s / %s / %s", principals(first), principals(second), principals(idle))
				}
			})
			var calls sync.WaitGroup
			calls.Go(func() { _ = step(leader, c, "b") })
			calls.Go(func() { _ = step(waiter, c, "b") })
			synctest.Wait()
			close(speak)
			calls.Wait()
			if said := method != ""; holds(first) != said || holds(second) != said {
				t.Errorf("%q: they hold %s / %s", method, principals(first), principals(second))
			}
		})
	}
}

// TestNoLongerWaiting: a request that was refused after its list was read waits no more.
func TestNoLongerWaiting(t *testing.T) {
	f := newFake(`[{"name":"b","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":[]}}]`)
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, p := a.turn(t)
	if err := step(ctx, c, "b"); err == nil {
		t.Fatal("permitted")
	}
	f.say("notifications/message")
	if holds(p) {
		t.Errorf("it holds %s", principals(p))
	}
}
