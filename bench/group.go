package bench

import "time"

// Op is one thing that can be timed.
type Op struct {
	// Name says which side of a comparison it is, such as "mw=flowgate" or, where a
	// group has one dimension more, "engine=cedar/n=64".
	Name string
	// Run does it n times. It panics if an answer is not as it should be.
	Run func(n int)
}

// Group is one comparison. Its Ops do the same work in different ways, or in
// different sizes, and are timed in turn within one run.
type Group struct {
	Section Section
	// Name is like a benchmark's, such as "from=json/case=accept-self".
	Name string
	// Make prepares the Ops. done frees what they hold.
	Make func() (ops []Op, done func(), err error)
	// Batch is about how long one Op is run before it is the next one's turn.
	Batch time.Duration
	// Weight is how much of a run's time the group gets, beside others.
	Weight int
}

// Section is a part of the report, and a benchmark.
type Section string

// The sections.
const (
	Decide Section = "decide" // one decision, by engine
	Gate   Section = "gate"   // one request, by what guards the server
	Growth Section = "growth" // what grows with what
)

// Groups returns everything there is to compare, in the order of the report.
func Groups() []Group {
	var all []Group
	all = append(all, decideGroups()...)
	all = append(all, gateGroups()...)
	return append(all, growthGroups()...)
}

// once makes a Run of a function that returns a verdict.
func once(want bool, decide func() bool) func(n int) {
	return func(n int) {
		for range n {
			if decide() != want {
				panic("bench: not the verdict that it should be")
			}
		}
	}
}
