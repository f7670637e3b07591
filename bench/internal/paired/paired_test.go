package paired_test

import (
	"math"
	"testing"
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

// Every way is run, as often as the others and no more often than allowed.
func TestMeasure(t *testing.T) {
	var ran [2]int
	ways := []func(int){
		func(n int) { ran[0] += n; time.Sleep(time.Microsecond) },
		func(n int) { ran[1] += n; time.Sleep(time.Microsecond) },
	}
	for _, s := range paired.Measure(ways, time.Microsecond, 0, paired.Rounds{Min: 3, Max: 3}, 1) {
		if len(s.NS) != 3 {
			t.Errorf("%d rounds", len(s.NS))
		}
	}
	if ran[0] < 4 || ran[1] < 4 {
		t.Errorf("ran %v times", ran)
	}
}
