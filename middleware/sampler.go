package middleware

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// sampler leaves out records when there are too many alike, and counts them: of each kind
// so many a second go out, and at the end of the second one more that stands for the
// rest. The numbers of requests that all records stand for add up to what there was.
type sampler struct {
	above int
	rec   *recorder

	mu    sync.Mutex
	kinds map[recordKind]*window
	armed bool
}

// recordKind is what makes records alike. A target that the server does not know is the
// peer's text, of which there is no end, so it is no part of it; nor is a method that the
// gate does not know, which a message with two readings can name.
type recordKind struct {
	method  string
	target  string
	verdict decision.Verdict
	mode    policydecl.Mode
	reason  decision.Reason
	class   policydecl.Class
}

// window counts the records of one kind since start.
type window struct {
	start time.Time
	n     int
	last  decision.Record // of those that were left out
	left  uint64
}

const (
	// sampleWindow is how long alike records are counted together.
	sampleWindow = time.Second
	// sampleSlack is how much later than that a window may end, so that few timers end many.
	sampleSlack = sampleWindow / 16
	// maxKinds bounds what the sampler keeps. What is beyond it is counted by verdict.
	maxKinds = 1024
)

func newSampler(above int, rec *recorder) *sampler {
	return &sampler{above: above, rec: rec, kinds: make(map[recordKind]*window)}
}

// admit reports whether the record goes out now.
func (s *sampler) admit(ctx context.Context, r decision.Record) bool {
	k := recordKind{"", "", r.Verdict, r.Mode, r.Reason, r.Class}
	if gated(r.Method) {
		k.method = r.Method
	}
	if r.Registered {
		k.target = r.Target
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.kinds[k]
	if w == nil && len(s.kinds) >= maxKinds {
		k = recordKind{verdict: r.Verdict, mode: r.Mode, reason: decision.ReasonSampled}
		r = decision.Record{
			Time: r.Time, Server: r.Server, Settings: r.Settings, Verdict: r.Verdict, Mode: r.Mode, Reason: decision.ReasonSampled,
		}
		w = s.kinds[k]
	}
	switch {
	case w == nil:
		w = &window{start: now}
		s.kinds[k] = w
		s.arm(now)
	case w.left == 0 && now.Sub(w.start) >= sampleWindow:
		w.start, w.n = now, 0
	}
	if w.n < s.above {
		w.n++
		return true
	}
	w.left++
	w.last = r
	return false
}

// arm sees to it that windows end in time. The caller holds s.mu.
func (s *sampler) arm(now time.Time) {
	if s.armed || len(s.kinds) == 0 {
		return
	}
	s.armed = true
	wait := sampleWindow
	for _, w := range s.kinds {
		wait = min(wait, w.start.Add(sampleWindow).Sub(now))
	}
	time.AfterFunc(max(wait, sampleSlack), s.tick)
}

// tick ends the windows whose time is over.
func (s *sampler) tick() {
	s.mu.Lock()
	now := time.Now()
	ended, waits := s.end(now)
	s.armed = false
	s.arm(now)
	s.mu.Unlock()
	s.rec.finish(ended, waits)
}

// flush ends all windows.
func (s *sampler) flush() {
	s.mu.Lock()
	ended, waits := s.end(time.Now().Add(sampleWindow))
	s.mu.Unlock()
	s.rec.finish(ended, waits)
}

// end takes out the windows that have ended at a time, and hands the sinks what stands for
// the records that were left out, oldest first. The caller holds s.mu, so that whoever
// finds nothing here finds it in the queues of the sinks.
func (s *sampler) end(now time.Time) (ended []outgoing, waits []*delivery) {
	for k, w := range s.kinds {
		if now.Sub(w.start) < sampleWindow {
			continue
		}
		delete(s.kinds, k)
		if w.left > 0 {
			w.last.Suppressed = w.left - 1
			ended = append(ended, outgoing{context.Background(), w.last})
		}
	}
	slices.SortFunc(ended, func(a, b outgoing) int {
		return cmp.Or(a.rec.Time.Compare(b.rec.Time), cmp.Compare(a.rec.Target, b.rec.Target))
	})
	return ended, s.rec.queue(ended)
}
