package policydecl_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A refusal is one allocation, however many tokens it will tell of, until somebody asks
// whom it refuses.
func TestRefusalAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	set := mustCompile(t, policydecl.Config{})
	l := label(user(), server(fetchURI, policydecl.Unverified))
	for _, n := range []int{3, 400} {
		p := policydecl.AcceptFrom(manyTokens(n)...)
		if got := testing.AllocsPerRun(100, func() { set.Decide(context.Background(), &l, p) }); got != 1 {
			t.Errorf("%d tokens: %v allocations, want 1", n, got)
		}
	}
}

// Whoever asks a decision whom it refuses, and when, gets the same violation.
func TestViolationIsOne(t *testing.T) {
	var cs []policydecl.Contributor
	for i := range 20 { // each twice
		cs = append(cs, server(fmt.Sprintf("https://mcp%d.example/mcp", i/2), policydecl.TOFU))
	}
	l := label(cs...)
	d := mustCompile(t, policydecl.Config{}).Decide(context.Background(), &l, policydecl.AcceptFrom("user"))
	got := make([]*flowerrors.Violation, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = d.Violation() })
	}
	wg.Wait()
	for _, v := range got {
		if v != got[0] {
			t.Error("two violations of one decision")
		}
	}
	if n := len(got[0].Rejected); n != 10 {
		t.Errorf("%d contributors rejected, want 10", n)
	}
}
