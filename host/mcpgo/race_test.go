package mcpgo_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestConcurrentUse: many turns, lists, changes and closes at once. Every call has one
// outcome, and no goroutine is left.
func TestConcurrentUse(t *testing.T) {
	before := stacks()
	everywhere(t, func(t *testing.T, l line, e era) {
		r := newRecords()
		a := newAgent(t, hostConfig)
		c, conn := a.connect(t, l, e, r, policydecl.Verified)
		page := unverified(t, a)
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				ctx, p := a.turn(t)
				shared := i%2 == 0
				if !shared {
					p.Add(page)
				}
				for range 5 {
					if err := step(ctx, c, "export"); (err == nil) != shared {
						t.Errorf("%v", err)
					}
					conn.Stale(policydecl.Tool)
					if _, err := c.ListTools(host.WithPartition(ctx, nil), mcp.ListToolsRequest{}); err != nil {
						t.Errorf("%v", err)
					}
				}
			})
		}
		all.Wait()
		if got := len(a.outcomes()); got != 80 {
			t.Errorf("recorded %d, want 80", got)
		}
		ctx, cancel := context.WithCancel(deadline(t))
		for range 8 {
			all.Go(func() { _ = step(ctx, c, "search") })
		}
		cancel()
		c.Close()
		all.Wait()
	})
	noneLeft(t, before)
}

// stacks counts the goroutines of this module and of mcp-go.
func stacks() int {
	buf := make([]byte, 1<<20)
	n := 0
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "mcp-go") || strings.Contains(g, "flowgate/") {
			n++
		}
	}
	return n
}

// noneLeft waits until no more goroutines run than before.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for ctx := deadline(t); stacks() > before; runtime.Gosched() {
		if ctx.Err() != nil {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}
