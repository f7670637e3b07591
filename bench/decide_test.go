package bench_test

import (
	"slices"
	"testing"

	"github.com/flowgate-mcp/flowgate/bench"
)

// All engines give the verdicts of the table, from every form of the label.
func TestEnginesAgree(t *testing.T) {
	cases := append(bench.Cases(), readings...)
	for _, c := range cases {
		for _, from := range bench.Forms() {
			for _, e := range bench.Engines() {
				decide, err := e.Decide(c, from)
				if err != nil {
					t.Fatal(err)
				}
				if got := decide(); got != c.Accept {
					t.Errorf("%s: %s from %s: accepted %v, want %v", c.Name, e.Name, from, got, c.Accept)
				}
			}
		}
	}
}

// readings are not timed; they hold the other engines to the draft's reading of labels,
// lest one of them be fast because it looks at less.
var readings = []bench.Case{
	{Name: "unknown-assurance", Tokens: []string{"user"}, Label: `{"contributors":[{"assurance":"platinum"}],"complete":true}`},
	{Name: "unknown-is-unverified", Tokens: []string{"unverified"}, Label: `{"contributors":[{"assurance":"platinum"},7],"complete":true}`, Accept: true},
	{Name: "no-object", Tokens: []string{"user"}, Label: `{"contributors":["user"],"complete":true}`},
	{Name: "no-array", Tokens: []string{"user"}, Label: `{"contributors":{"assurance":"user"},"complete":true}`},
	{Name: "empty", Tokens: []string{"user"}, Label: `{"contributors":[],"complete":true}`},
	{Name: "empty-is-unverified", Tokens: []string{"unverified"}, Label: `{"contributors":[]}`, Accept: true},
	{Name: "absent-is-unverified", Tokens: []string{"unverified"}, Label: `null`, Accept: true},
	{Name: "incomplete-is-unverified", Tokens: []string{"user", "unverified"}, Label: `{"contributors":[{"assurance":"user"}]}`, Accept: true},
	{Name: "complete-is-literal", Tokens: []string{"user"}, Label: `{"contributors":[{"assurance":"user"}],"complete":"true"}`},
	{Name: "case-matters", Tokens: []string{"user"}, Label: `{"contributors":[{"assurance":"User"}],"complete":true}`},
	{Name: "empty-principal", Tokens: []string{"self"}, Label: `{"contributors":[{"principal":"","assurance":"user"}],"complete":true}`},
}

// Where the others cannot follow, they differ in just this way.
func TestEnginesDiffer(t *testing.T) {
	for _, d := range bench.Differences() {
		for i, e := range bench.Engines() {
			decide, err := e.Decide(d.Case, d.From)
			if err != nil {
				t.Fatal(err)
			}
			want := d.Others
			if i == 0 {
				want = d.Accept
			}
			if got := decide(); got != want {
				t.Errorf("%s: %s: accepted %v, want %v", d.Name, e.Name, got, want)
			}
		}
	}
}

// There are twelve decisions, of either kind, and flowgate allocates for none that it accepts.
func TestDecideAllocations(t *testing.T) {
	cases := bench.Cases()
	accepted := 0
	for _, c := range cases {
		decide, err := bench.Engines()[0].Decide(c, bench.FromPrepared)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Accept {
			continue
		}
		accepted++
		if got := testing.AllocsPerRun(100, func() { decide() }); got != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations", c.Name, got)
		}
	}
	if len(cases) != 12 || accepted != 6 || !slices.IsSortedFunc(cases, func(a, b bench.Case) int {
		if a.Accept && !b.Accept {
			return -1
		}
		return 0
	}) {
		t.Errorf("%d cases, %d accepted", len(cases), accepted)
	}
}
