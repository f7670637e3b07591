package policydecl_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A refusal takes no memory, however many tokens it will tell of, until somebody asks whom
// it refuses; only a label of more than 64 contributors does.
func TestRefusalAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	set := mustCompile(t, policydecl.Config{})
	for _, contributors := range []int{1, 64} {
		l := label(manyServers(contributors)...)
		for _, tokens := range []int{3, 400} {
			p := policydecl.AcceptFrom(manyTokens(tokens)...)
			if got := testing.AllocsPerRun(100, func() { set.Decide(context.Background(), &l, p) }); got != 0 {
				t.Errorf("%d contributors, %d tokens: %v allocations, want none", contributors, tokens, got)
			}
		}
	}
}

// manyServers are n contributors that no token of manyTokens accepts.
func manyServers(n int) (cs []policydecl.Contributor) {
	for i := range n {
		cs = append(cs, server(fmt.Sprintf("https://refused%d.example/mcp", i), policydecl.TOFU))
	}
	return cs
}

// A violation lists who matches no token, in the order of the label and however long that
// is (P7), with the synthetic contributor last (L6).
func TestViolationOrder(t *testing.T) {
	set := mustCompile(t, policydecl.Config{})
	for _, n := range []int{1, 2, 63, 64, 65, 66, 127, 128, 129, 250} {
		for _, complete := range []bool{true, false} {
			cs := manyServers(n)
			var want []string
			for i := range cs {
				if i%3 == 1 {
					cs[i] = user() // accepted
					continue
				}
				want = append(want, fmt.Sprintf("https://refused%d.example/mcp", i))
			}
			if !complete {
				want = append(want, "")
			}
			l := policydecl.BuildLabel(complete, cs...)
			var got []string
			for _, r := range set.Decide(context.Background(), &l, policydecl.AcceptFrom("user")).Violation().Rejected {
				got = append(got, r.Principal)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d contributors, complete %v: %q, want %q", n, complete, got, want)
			}
		}
	}
}

// Whoever asks a decision whom it refuses, and when, gets a violation that says the same and
// is nobody else's.
func TestViolationIsOwn(t *testing.T) {
	var cs []policydecl.Contributor
	for i := range 20 { // each twice
		cs = append(cs, server(fmt.Sprintf("https://mcp%d.example/mcp", i/2), policydecl.TOFU))
	}
	l := label(cs...)
	d := mustCompile(t, policydecl.Config{}).Decide(context.Background(), &l, policydecl.AcceptFrom("user"))
	want := d.Violation()
	if n := len(want.Rejected); n != 10 {
		t.Errorf("%d contributors rejected, want 10", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got := d.Violation()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			got.Rejected[0], got.AcceptFrom[0] = flowerrors.Rejected{}, "https://attacker.example/mcp"
		})
	}
	wg.Wait()
	if got := d.Violation(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
