// Command report measures every comparison of package bench and writes the figures:
//
//	go run ./report
//
// It writes benchmarks.md and benchmarks.svg into the folder docs of the repository and
// takes about seven minutes, setting up included. See -h for the rest.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flowgate-mcp/flowgate/bench"
	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

func main() {
	var o options
	flag.DurationVar(&o.budget, "time", 6*time.Minute, "how long to measure, all together; setting up comes on top")
	flag.BoolVar(&o.quick, "quick", false, "measure next to nothing, to see that it works")
	flag.StringVar(&o.docs, "docs", filepath.Join("..", "docs"), "the folder to write to")
	flag.Uint64Var(&o.seed, "seed", 1, "the order in which the sides of a comparison take turns")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	budget time.Duration
	quick  bool
	docs   string
	seed   uint64
}

func (o options) run() error {
	if o.quick {
		o.budget = 20 * time.Second
	}
	about := machine()
	r, err := measure(o.budget, o.seed)
	if err != nil {
		return err
	}
	r.machine = about
	for name, text := range map[string]string{"benchmarks.md": r.markdown(), "benchmarks.svg": r.svg()} {
		if err := os.WriteFile(filepath.Join(o.docs, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// measure runs all comparisons, each for its share of the budget.
func measure(budget time.Duration, seed uint64) (*results, error) {
	groups := bench.Groups()
	weights := 0
	for _, g := range groups {
		weights += g.Weight
	}
	r := &results{groups: map[key]measured{}}
	for i, g := range groups {
		fmt.Fprintf(os.Stderr, "\r%3d/%d %-60s", i+1, len(groups), string(g.Section)+"/"+g.Name)
		m, err := measureGroup(g, budget*time.Duration(g.Weight)/time.Duration(weights), seed)
		if err != nil {
			return nil, err
		}
		r.groups[key{g.Section, g.Name}] = m
	}
	fmt.Fprintln(os.Stderr)
	return r, nil
}

func measureGroup(g bench.Group, budget time.Duration, seed uint64) (measured, error) {
	ops, done, err := g.Make()
	if err != nil {
		return measured{}, fmt.Errorf("%s: %w", g.Name, err)
	}
	defer done()
	m := measured{names: make([]string, len(ops))}
	ways := make([]func(int), len(ops))
	for i, op := range ops {
		m.names[i], ways[i] = op.Name, op.Run
	}
	m.series = paired.Measure(ways, g.Batch, budget, paired.Rounds{Min: 5, Max: 20_000}, seed)
	return m, nil
}
