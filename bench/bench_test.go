package bench_test

import (
	"testing"

	"github.com/flowgate-mcp/flowgate/bench"
)

// The benchmarks run every side of every comparison by itself, for profiles and for
// benchstat. The report runs the sides of one in turn.

func BenchmarkDecide(b *testing.B) { run(b, bench.Decide) }
func BenchmarkGate(b *testing.B)   { run(b, bench.Gate) }
func BenchmarkGrowth(b *testing.B) { run(b, bench.Growth) }

func run(b *testing.B, s bench.Section) {
	for _, g := range bench.Groups() {
		if g.Section != s {
			continue
		}
		b.Run(g.Name, func(b *testing.B) {
			ops, done, err := g.Make()
			if err != nil {
				b.Fatal(err)
			}
			defer done()
			for _, op := range ops {
				b.Run(op.Name, func(b *testing.B) {
					b.ReportAllocs()
					op.Run(b.N)
				})
			}
		})
	}
}
