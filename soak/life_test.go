package soak_test

import "time"

// life is a server that lives as long as the test.
type life struct {
	site   *site
	proc   *process
	before stats
	ends   []stats // at the end of each phase
}

// learn puts every state in force once, before there is a request, and measures the server.
func (l *life) learn(to func(state int) error) (err error) {
	for state := len(variants) - 1; state >= 0; state-- {
		if err := to(state); err != nil {
			return err
		}
	}
	r, err := l.proc.tell("stats", "", 0)
	l.before = r.Stats
	return err
}

// collect enters the server's account while it serves, so that nothing of it piles up.
func (l *life) collect(quiet <-chan struct{}) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		l.take()
		select {
		case <-quiet:
			return
		case <-again.C:
		}
	}
}

func (l *life) take() {
	r, err := l.proc.tell("take", "", 0)
	if err != nil {
		l.site.found.add("servers", "%s: %v", l.site.name, err)
		return
	}
	l.site.ledger.enter(r.Runs, r.Records)
}

// balance asserts that the account is whole now that nothing is on its way, and measures.
func (l *life) balance() {
	if _, err := l.proc.tell("flush", "", 0); err != nil {
		l.site.found.add("servers", "%s: %v", l.site.name, err)
		return
	}
	_ = untilFor(l.site.soak.settle, func() bool {
		l.take()
		return l.site.ledger.left() == 0
	})
	l.site.ledger.report()
	var now stats
	_ = untilFor(l.site.settle, func() bool { // what the last answers needed may still be there
		r, err := l.proc.tell("stats", "", 0)
		if err != nil {
			l.site.found.add("servers", "%s: %v", l.site.name, err)
		}
		now = r.Stats
		return err != nil || len(l.ends) == 0 || !grew(l.ends[0], now)
	})
	l.ends = append(l.ends, now)
}

// land asserts that the server holds no more than before the first client, and ends it.
func (l *life) land() {
	var now stats
	err := untilFor(l.site.settle, func() bool {
		r, err := l.proc.tell("stats", "", 0)
		now = r.Stats
		return err != nil || now.Goroutines <= l.before.Goroutines && now.Files <= l.before.Files
	})
	l.ends = append(l.ends, now)
	if err != nil {
		l.site.found.add("goroutines", "%s: %d goroutines and %d files, %d and %d before the first client",
			l.site.name, now.Goroutines, now.Files, l.before.Goroutines, l.before.Files)
	}
	if err := l.proc.stop(); err != nil {
		l.site.found.add("servers", "%s: %v", l.site.name, err)
	}
}

// Heap that a server may have gained from the end of the first phase to the end of the
// last: sessions and tasks that have not expired yet, and what maps keep.
const (
	slack      = 1 << 20
	slackShare = 10 // one part of so many
)

// compareHeap asserts that the live heap at the end of the phases does not grow.
func (l *life) compareHeap() {
	ends := l.ends[:len(l.ends)-1] // the last one is without clients
	if first, last := ends[0], ends[len(ends)-1]; grew(first, last) {
		l.site.found.add("memory", "%s: %d KiB live after the first phase, %d after the last", l.site.name, first.Heap>>10, last.Heap>>10)
	}
}

func grew(first, last stats) bool { return last.Heap > first.Heap+slack+first.Heap/slackShare }
