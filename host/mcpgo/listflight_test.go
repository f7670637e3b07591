package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
)

// TestListShared: requests that wait for one list share it, and what went wrong with it.
func TestListShared(t *testing.T) {
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("")
			release := make(chan struct{})
			f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
				<-release
				if broken {
					return nil, errors.New("gone")
				}
				return reply("{\"tools\":["+toolText("a")+"]}")(ctx, r)
			})
			a := newAgent(t, hostConfig)
			c, _ := f.connect(t, a)
			var calls sync.WaitGroup
			for range 50 {
				calls.Go(func() {
					ctx, _ := a.calm(t)
					if err := step(ctx, c, "a"); (err != nil) != broken {
						t.Errorf("%v", err)
					}
				})
			}
			synctest.Wait() // all of them wait
			close(release)
			calls.Wait()
			if got := strings.Count(f.methods(), "tools/list"); got != 1 {
				t.Errorf("listed %d times", got)
			}
			if got := len(a.outcomes()); got != 50 {
				t.Errorf("recorded %d", got)
			}
		})
	}
}

// TestWaiterWantsNewer: a request that comes after a change does not make do with a list
// that was asked for before it.
func TestWaiterWantsNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("")
		release := make(chan struct{})
		var asked atomic.Int32
		f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			if asked.Add(1) == 1 {
				<-release
				return reply(`{"tools":[`+toolText("a", "user", "self", "unverified")+`]}`)(ctx, r)
			}
			return reply(`{"tools":[`+toolText("a", "user")+`]}`)(ctx, r)
		})
		a := newAgent(t, hostConfig)
		c, _ := f.connect(t, a)
		var calls sync.WaitGroup
		var before, after error
		with := func(err *error) {
			ctx, _ := a.calm(t, unverified(t, a))
			*err = step(ctx, c, "a")
		}
		calls.Go(func() { with(&before) })
		synctest.Wait()
		f.say(changed)
		calls.Go(func() { with(&after) })
		synctest.Wait()
		close(release)
		calls.Wait()
		if before != nil || !mcpgo.IsRefusal(after) {
			t.Errorf("the first has %v, the second %v", before, after)
		}
	})
}

// TestListAbandoned: a request that stops waiting has its context's error and is not
// sent; the others go on, with a reader of their own if it was the reader.
func TestListAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("")
		var asked atomic.Int32
		f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			if asked.Add(1) == 1 {
				return hang(ctx, r)
			}
			time.Sleep(time.Second) // of the bubble's clock
			return reply("{\"tools\":["+toolText("a")+"]}")(ctx, r)
		})
		a := newAgent(t, hostConfig)
		c, _ := f.connect(t, a)
		within := func(d time.Duration) error {
			ctx, _ := a.calm(t)
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return step(ctx, c, "a")
		}
		var calls sync.WaitGroup
		var reader, waiter, patient error
		calls.Go(func() { reader = within(3 * time.Second) })
		synctest.Wait()
		calls.Go(func() { waiter = within(2 * time.Second) })
		calls.Go(func() { patient = within(10 * time.Second) })
		calls.Wait()
		if !errors.Is(reader, context.DeadlineExceeded) || !errors.Is(waiter, context.DeadlineExceeded) || patient != nil {
			t.Errorf("the reader has %v, the waiter %v, the patient one %v", reader, waiter, patient)
		}
		if got := f.methods(); got != "tools/list tools/list tools/call" {
			t.Errorf("sent %s", got)
		}
		if got := fmt.Sprint(a.outcomes()); got != "[not-sent not-sent answered]" {
			t.Errorf("recorded %s", got)
		}
	})
}

// TestListStorm: a server that announces a change whenever it is asked starves nobody, and
// what it has published counts. The announcements count for whoever waits (H2).
func TestListStorm(t *testing.T) {
	f := newFake("")
	f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		for range 1000 {
			f.say(changed)
		}
		return reply("{\"tools\":["+toolText("a", "user", "self")+"]}")(ctx, r)
	})
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	for range 3 {
		ctx, p := a.turn(t)
		permitted(t, step(ctx, c, "a"))
		if got := f.methods(); got != "tools/list tools/call" {
			t.Errorf("sent %s", got)
		}
		p.Add(unverified(t, a))
		a.refusedBy(t, host.BlockedByPolicy, step(ctx, c, "a"))
		f.methods()
	}
}

// TestChangeWhileListed: a change that is announced while a list is read makes the next
// request read it again.
func TestChangeWhileListed(t *testing.T) {
	f := newFake("")
	first := true
	f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if !first {
			return reply("{\"tools\":["+toolText("a", "host")+"]}")(ctx, r)
		}
		first = false
		f.say(changed)
		return reply("{\"tools\":["+toolText("a", "user", "self")+"]}")(ctx, r)
	})
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, _ := a.turn(t)
	permitted(t, step(ctx, c, "a"))
	ctx, _ = a.turn(t)
	a.refusedBy(t, host.BlockedByPolicy, step(ctx, c, "a"))
}
