package paired_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

func TestQuartilesOf(t *testing.T) {
	for _, row := range []struct {
		sample []float64
		want   paired.Quartiles
	}{
		{[]float64{5}, paired.Quartiles{Low: 5, Median: 5, High: 5}},
		{[]float64{3, 1}, paired.Quartiles{Low: 1.5, Median: 2, High: 2.5}},
		{[]float64{5, 1, 4, 2, 3}, paired.Quartiles{Low: 2, Median: 3, High: 4}},
	} {
		if got := paired.QuartilesOf(row.sample); got != row.want {
			t.Errorf("QuartilesOf(%v) = %v, want %v", row.sample, got, row.want)
		}
	}
	if got := paired.QuartilesOf(nil); !math.IsNaN(got.Median) {
		t.Errorf("the median of nothing is %v", got.Median)
	}
}

// Two ways are compared round by round, not median by median.
func TestOver(t *testing.T) {
	a, b := paired.Series{NS: []float64{2, 40, 6}}, paired.Series{NS: []float64{1, 20, 3}}
	if got := a.Over(b); got != (paired.Quartiles{Low: 2, Median: 2, High: 2}) {
		t.Errorf("Over() = %v", got)
	}
	if got := a.Less(b); got != (paired.Quartiles{Low: 2, Median: 3, High: 11.5}) {
		t.Errorf("Less() = %v", got)
	}
	if got := a.TotalOver(b); got != 2 {
		t.Errorf("TotalOver() = %v", got)
	}
}

// sink keeps what a way allocates.
var sink []byte

// Every way is run in batches of the length that was asked for, as often as the others, until
// the budget is spent, but neither more nor less often than allowed. The clock is not
// the machine's, so that every number is known.
func TestMeasure(t *testing.T) {
	for name, row := range map[string]struct {
		budget time.Duration
		rounds paired.Rounds
		want   int
	}{
		"budget": {100 * time.Microsecond, paired.Rounds{Min: 1, Max: 100}, 5}, // of 24µs each
		"min":    {0, paired.Rounds{Min: 3, Max: 100}, 3},
		"max":    {time.Hour, paired.Rounds{Min: 3, Max: 7}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran [2]int
				ways := []func(int){
					func(n int) { ran[0] += n; time.Sleep(time.Duration(n) * time.Microsecond) },
					func(n int) {
						ran[1] += n
						time.Sleep(time.Duration(n) * 3 * time.Microsecond)
						for range n {
							sink = make([]byte, 64)
						}
					},
				}
				got := paired.Measure(ways, 12*time.Microsecond, row.budget, row.rounds, 1)
				for i, ns := range []float64{1000, 3000} {
					if want := slices.Repeat([]float64{ns}, row.want); !slices.Equal(got[i].NS, want) {
						t.Errorf("way %d took %v, want %v", i, got[i].NS, want)
					}
				}
				// To warm up once; to find the number, doubled from 1; in each round, and once
				// more to count what is allocated.
				if want := [2]int{1 + 1 + 2 + 4 + 8 + 12*row.want + 12, 1 + 1 + 2 + 4*row.want + 4}; ran != want {
					t.Errorf("ran %v times, want %v", ran, want)
				}
				if got[1].Allocs < 1 || got[1].Bytes < 64 { // others may allocate meanwhile
					t.Errorf("%v allocations of %v bytes", got[1].Allocs, got[1].Bytes)
				}
			})
		})
	}
}

// The order within a round comes from the seed, and changes from round to round.
func TestMeasureOrder(t *testing.T) {
	order := func(seed uint64) (rounds []string) {
		synctest.Test(t, func(t *testing.T) {
			var ran []byte
			way := func(name byte) func(int) {
				return func(int) { ran = append(ran, name); time.Sleep(time.Microsecond) }
			}
			paired.Measure([]func(int){way('a'), way('b')}, time.Microsecond, 0, paired.Rounds{Min: 20, Max: 20}, seed)
			for round := range slices.Chunk(ran[len("aabb"):len(ran)-len("ab")], 2) {
				rounds = append(rounds, string(round))
			}
		})
		return rounds
	}
	got := order(1)
	if len(got) != 20 || !slices.Contains(got, "ab") || !slices.Contains(got, "ba") {
		t.Errorf("the rounds are %q", got)
	}
	if again := order(1); !slices.Equal(again, got) {
		t.Errorf("the same seed gives %q and %q", got, again)
	}
	if other := order(2); slices.Equal(other, got) {
		t.Errorf("two seeds give %q", got)
	}
}
