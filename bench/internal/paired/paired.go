// Package paired times several ways to do the same work against each other, on a machine
// that may have other things to do. All ways take turns in short batches, in an order that
// changes from round to round, and two of them are compared round by round: what slows the
// machine for longer than a batch slows both.
package paired

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// Series is what was measured of one way: nanoseconds for one run, by round, and what
// one run allocates.
type Series struct {
	NS     []float64
	Allocs float64
	Bytes  float64
}

// Quartiles are the quartiles of a sample.
type Quartiles struct{ Low, Median, High float64 }

// Quartiles returns those of the times.
func (s Series) Quartiles() Quartiles { return QuartilesOf(s.NS) }

// Over returns the quartiles of s in units of base, round by round.
func (s Series) Over(base Series) Quartiles {
	ratios := make([]float64, min(len(s.NS), len(base.NS)))
	for i := range ratios {
		ratios[i] = s.NS[i] / base.NS[i]
	}
	return QuartilesOf(ratios)
}

// Less returns the quartiles of how much longer s takes than base, in nanoseconds, round by
// round.
func (s Series) Less(base Series) Quartiles {
	differences := make([]float64, min(len(s.NS), len(base.NS)))
	for i := range differences {
		differences[i] = s.NS[i] - base.NS[i]
	}
	return QuartilesOf(differences)
}

// TotalOver returns what s took in all rounds together, in units of base. Other than the
// quartiles it has everything in it: the garbage that is collected now and then, and
// whatever else the machine did.
func (s Series) TotalOver(base Series) float64 {
	sum := func(list []float64) (total float64) {
		for _, v := range list {
			total += v
		}
		return total
	}
	return sum(s.NS) / sum(base.NS)
}

// QuartilesOf returns the quartiles of a sample, with linear interpolation. They are NaN for an
// empty one.
func QuartilesOf(sample []float64) Quartiles {
	sorted := slices.Sorted(slices.Values(sample))
	at := func(q float64) float64 {
		if len(sorted) == 0 {
			return math.NaN()
		}
		pos := q * float64(len(sorted)-1)
		i := int(pos)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + (pos-float64(i))*(sorted[i+1]-sorted[i])
	}
	return Quartiles{at(0.25), at(0.5), at(0.75)}
}

// Rounds bounds how many rounds there are, whatever the budget.
type Rounds struct{ Min, Max int }

// Measure times ways in turn, each in batches of about the given length, until the budget
// is spent. Each way is a function that does its work n times. The order within
// each round comes from seed.
func Measure(ways []func(n int), batch, budget time.Duration, rounds Rounds, seed uint64) []Series {
	n := make([]int, len(ways))
	for i, way := range ways {
		n[i] = calibrate(way, batch)
	}
	runtime.GC()
	out := make([]Series, len(ways))
	order := make([]int, len(ways))
	for i := range order {
		order[i] = i
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(ways))))
	start := time.Now()
	for r := 0; r < rounds.Max && (r < rounds.Min || time.Since(start) < budget); r++ {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			out[i].NS = append(out[i].NS, timed(ways[i], n[i]))
		}
	}
	for i, way := range ways {
		out[i].Allocs, out[i].Bytes = allocated(way, n[i])
	}
	return out
}

// timed returns how long one run takes, in nanoseconds, when n follow each other.
func timed(way func(n int), n int) float64 {
	start := time.Now()
	way(n)
	return float64(time.Since(start)) / float64(n)
}

// calibrate returns how often a way is to be run for a batch to last long enough. It
// warms the way up as it looks.
func calibrate(way func(n int), batch time.Duration) int {
	way(1)
	for n := 1; ; {
		took := time.Duration(timed(way, n) * float64(n))
		if took >= batch/2 || n >= 1<<24 {
			return max(1, min(1<<24, int(float64(n)*float64(batch)/float64(max(took, 1)))))
		}
		n *= 2
	}
}

// allocated returns the allocations and bytes of one run, those of other goroutines
// among them: a server answers in its own.
func allocated(way func(n int), n int) (allocs, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	way(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}
