package soak_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	howLong = flag.Duration("soak", 12*time.Second, "how long TestSoak lets everybody do everything")
	seed    = flag.Uint64("soak.seed", 3193, "what the clients' choices come from")
)

// A long form has phases of at least as long as mcp-go remembers an expired task.
const (
	phases    = 3
	longPhase = 5 * time.Minute
)

// atMost is how long the last phase goes on while something that must happen has not.
const atMost = 5 * time.Minute

// phasesOf is how many equal phases a soak has.
func phasesOf(d time.Duration) int { return max(phases, int(d/longPhase)) }

// TestSoak is the soak: 64 clients on both transports and every kind of request in both
// eras, while tools come and go, policies are reloaded and connections and servers die.
// Every answer is right (G2, G4, X1, X2), every request has its record (M2), and nothing grows.
func TestSoak(t *testing.T) {
	s, began := newSoak(""), time.Now()
	f, err := launch(s, *seed, size{surfers: 40, bold: 8, pipes: 12, doomed: 4}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v until everybody is there", time.Since(began).Round(time.Millisecond))
	n := phasesOf(*howLong)
	for i := range n {
		if i == n-1 {
			f.until = func() bool { return len(s.missing()) == 0 }
		}
		f.phase(uint64(i), *howLong/time.Duration(n))
		t.Logf("%v, phase %d of %d: %d answers so far", time.Since(began).Round(time.Millisecond), i+1, n, s.answers.Load())
	}
	f.land()
	for _, l := range f.lives {
		l.compareHeap()
	}
	t.Logf("summary:\n%s\n%s", s.counts, f.heaps())
	for _, must := range s.missing() {
		t.Errorf("none of: %s", must)
	}
	if s.found.any() {
		t.Errorf("findings:\n%s", s.found)
	}
}

// heaps is the part of the summary that shows what the servers held.
func (f *fleet) heaps() string {
	var b strings.Builder
	for _, l := range f.lives {
		fmt.Fprintf(&b, "%s: at first, after each phase, without clients:", l.site.name)
		for _, s := range append([]stats{l.before}, l.ends...) {
			fmt.Fprintf(&b, "  %d KiB, %d goroutines, %d files;", s.Heap>>10, s.Goroutines, s.Files)
		}
		b.WriteString("\n")
	}
	return b.String()
}
