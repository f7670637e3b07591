package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

// interrupt cancels a run with the nth line that is written.
type interrupt struct {
	left   int
	cancel context.CancelFunc
}

func (i *interrupt) Write(p []byte) (int, error) {
	if i.left--; i.left == 0 {
		i.cancel()
	}
	return len(p), nil
}

// TestInterrupted: a run that is interrupted says so and leaves nothing behind, be it between
// two steps or, where the host logs its decision, in the middle of one.
func TestInterrupted(t *testing.T) {
	d := opened(t)
	quietly := d.log
	for _, line := range []int{1, 2, 6, 20} {
		for _, inStep := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			env, _ := environment()
			d.log = quietly
			if stop := (&interrupt{line, cancel}); inStep {
				d.log = serve.Logger(stop, env, true)
			} else {
				env.Stdout = stop
			}
			if err := d.tell(ctx, story(), newReporter(env, false)); !errors.Is(err, context.Canceled) {
				t.Errorf("at line %d: %v", line, err)
			}
			cancel()
			noProcess(t, d)
		}
	}
}

// TestInterruptedBuild: there is nothing but the directory then, and that goes too.
func TestInterruptedBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env, out := environment()
	env.Stderr = &interrupt{1, cancel} // the line that says that it is building
	if err := run(ctx, env); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGoroutines: none of this program or of mcp-go is left after a run.
func TestGoroutines(t *testing.T) {
	env, _ := environment()
	if err := run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond) // one that ends may not have ended yet
	defer again.Stop()
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		_, others, _ := strings.Cut(string(stacks), "\n\n") // the first is this one
		var left []string
		for stack := range strings.SplitSeq(others, "\n\n") {
			if strings.Contains(stack, "mcp-go") || strings.Contains(stack, "attack-demo") && !strings.Contains(stack, "testing.(*T)") ||
				strings.Contains(stack, "net/http.") || strings.Contains(stack, "os/exec.") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("left:\n%s", strings.Join(left, "\n\n"))
		}
	}
}
