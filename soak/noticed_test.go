package soak_test

import (
	"testing"
	"time"
)

// TestNoticed is the test of the test: servers with a bug each are not taken for good ones.
func TestNoticed(t *testing.T) {
	for bug, kind := range map[string]string{
		bugVerdict: "verdicts", bugStrict: "verdicts", bugForeign: "verdicts", bugStale: "verdicts", bugStaleHTTP: "verdicts",
		bugTwice: "answers", bugTwiceHTTP: "answers", bugLost: "answers", bugLostHTTP: "answers",
		bugRecord: "ledger", bugList: "lists", bugLeak: "memory", bugGoroutine: "goroutines",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			s := newSoak(bug)
			s.least = 400
			s.settle = 50 * time.Millisecond // it need not wait for what is not to come
			switch bug {
			case bugLost:
				s.waits = 5 * time.Second // nor need its clients
			case bugGoroutine:
				s.settle = 5 * time.Second // sessions that were left have ended by then
			}
			f, err := launch(s, *seed, size{surfers: 4, pipes: 1}, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				f.phase(uint64(i), 200*time.Millisecond)
			}
			f.land()
			for _, l := range f.lives {
				l.compareHeap()
			}
			if s.found.kinds[kind] == 0 {
				t.Errorf("no finding of kind %s in %d answers; findings:\n%s", kind, s.answers.Load(), s.found)
			}
			t.Logf("%d answers, findings:\n%s", s.answers.Load(), s.found)
		})
	}
}
