package bench_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/bench"
)

// Everything that is timed can be run, and gives the answers that it should: an Op panics
// otherwise.
func TestOpsRun(t *testing.T) {
	names := map[string]bool{}
	for _, g := range bench.Groups() {
		t.Run(string(g.Section)+"/"+g.Name, func(t *testing.T) {
			if names[string(g.Section)+g.Name] || g.Weight <= 0 {
				t.Errorf("the name is taken, or the weight is %d", g.Weight)
			}
			names[string(g.Section)+g.Name] = true
			ops, done, err := g.Make()
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			sides := map[string]bool{}
			for _, op := range ops {
				if sides[op.Name] || !strings.Contains(op.Name, "=") {
					t.Errorf("%q is no name, or is taken", op.Name)
				}
				sides[op.Name] = true
				op.Run(3)
			}
			if len(ops) == 0 {
				t.Error("nothing to run")
			}
		})
	}
}
