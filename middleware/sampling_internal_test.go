package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// smpBook is a sink that keeps records with the time when they came.
type smpBook struct {
	mu  sync.Mutex
	all []smpSeen
}

type smpSeen struct {
	decision.Record
	at time.Time
}

func (b *smpBook) Record(_ context.Context, r decision.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, smpSeen{r, time.Now()})
	return nil
}

// take returns what came since the last time.
func (b *smpBook) take() []smpSeen {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.all = nil }()
	return b.all
}

func smpRecorder(above int, sinks ...decision.Sink) *recorder {
	return newRecorder(slog.New(slog.DiscardHandler), sinks, above)
}

// smpKinds are records of different kinds.
func smpKinds() []decision.Record {
	base := decision.Record{
		Method: "tools/call", Target: "export", Registered: true, Verdict: decision.Refused,
		Mode: policydecl.Enforce, Reason: decision.ReasonContributor, Judged: true, Class: policydecl.ClassOK,
	}
	kinds := []decision.Record{base}
	for _, change := range []func(*decision.Record){
		func(r *decision.Record) { r.Method = "prompts/get" },
		func(r *decision.Record) { r.Target = "search" },
		func(r *decision.Record) { r.Target, r.Registered = "", false },
		func(r *decision.Record) { r.Verdict = decision.Accepted },
		func(r *decision.Record) { r.Mode = policydecl.DangerouslyReport },
		func(r *decision.Record) { r.Reason = decision.ReasonMatcher },
		func(r *decision.Record) { r.Class = policydecl.ClassIncomplete },
		func(r *decision.Record) { r.Method, r.Target, r.Registered = "vendor/run", "", false },
	} {
		r := base
		change(&r)
		kinds = append(kinds, r)
	}
	return kinds
}

// smpTwin is the slow twin of the sampler: it looks on, and knows of each kind what has to
// go out.
type smpTwin struct {
	t     *testing.T
	above int
	open  map[int]*smpWindow // by index of smpKinds
	asked map[int]uint64
	told  map[int]uint64
}

type smpWindow struct {
	start   time.Time
	n, left int
}

// smpIndex is the kind of a record.
func smpIndex(r decision.Record) int {
	return slices.IndexFunc(smpKinds(), func(k decision.Record) bool {
		return k.Method == r.Method && (k.Target == r.Target || !k.Registered) && k.Registered == r.Registered && k.Verdict == r.Verdict &&
			k.Mode == r.Mode && k.Reason == r.Reason && k.Class == r.Class
	})
}

// request says how many records a request of that kind sends out at once.
func (tw *smpTwin) request(kind int) (records int) {
	tw.asked[kind]++
	w := tw.open[kind]
	if w == nil || w.left == 0 && time.Since(w.start) >= time.Second {
		w = &smpWindow{start: time.Now()}
		tw.open[kind] = w
	}
	if w.n < tw.above {
		w.n++
		return 1
	}
	w.left++
	return 0
}

// tail checks a record that came without a request: the last of its window.
func (tw *smpTwin) tail(s smpSeen, flushed bool) {
	kind := smpIndex(s.Record)
	w := tw.open[kind]
	if w == nil || w.left == 0 || s.Suppressed != uint64(w.left-1) {
		tw.t.Fatalf("kind %d, window %+v: %v", kind, w, s.Record)
	}
	if age := s.at.Sub(w.start); !flushed && (age < time.Second || age > time.Second+sampleSlack) {
		tw.t.Fatalf("kind %d: the window lasted %v", kind, age)
	}
	tw.told[kind] += s.Requests()
	delete(tw.open, kind)
}

// TestSamplingLaw: whatever comes when, the requests that the records stand for add up to
// what there was, and each window has its first records at once and one for the rest.
func TestSamplingLaw(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { smpWalk(t, rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

func smpWalk(t *testing.T, rng *rand.Rand) {
	book, kinds := &smpBook{}, smpKinds()
	tw := &smpTwin{t: t, above: 1 + rng.IntN(4), open: map[int]*smpWindow{}, asked: map[int]uint64{}, told: map[int]uint64{}}
	rc := smpRecorder(tw.above, book)
	gaps := []time.Duration{0, 0, time.Millisecond, 90 * time.Millisecond, time.Second / 2, time.Second, time.Second + sampleSlack, 5 * time.Second}
	for range 300 {
		kind := rng.IntN(len(kinds))
		for range 1 + rng.IntN(6)*rng.IntN(3) {
			r := kinds[kind]
			r.Time, r.RequestID, r.Client = time.Now(), strconv.Itoa(rng.Int()), "any"
			if !r.Registered {
				r.Target = "hostile " + strconv.Itoa(rng.Int())
			}
			want := tw.request(kind)
			rc.record(t.Context(), r)
			got := book.take()
			if len(got) != want || want == 1 && (got[0].RequestID != r.RequestID || got[0].Requests() != 1) {
				t.Fatalf("kind %d: %v, want %d", kind, got, want)
			}
			tw.told[kind] += uint64(want)
		}
		time.Sleep(gaps[rng.IntN(len(gaps))] + time.Duration(rng.IntN(3)))
		synctest.Wait()
		flush := rng.IntN(20) == 0
		for _, s := range book.take() {
			tw.tail(s, false)
		}
		if flush {
			smpFlush(t, rc)
			for _, s := range book.take() {
				tw.tail(s, true)
			}
			clear(tw.open)
		}
	}
	if rng.IntN(2) == 0 {
		smpFlush(t, rc)
	} else {
		time.Sleep(time.Second + sampleSlack)
		synctest.Wait()
	}
	for _, s := range book.take() {
		tw.tail(s, true)
	}
	for kind, asked := range tw.asked {
		if tw.told[kind] != asked {
			t.Errorf("kind %d: the records stand for %d requests of %d", kind, tw.told[kind], asked)
		}
	}
	if time.Sleep(2 * time.Second); len(rc.sampler.kinds) != 0 {
		t.Errorf("%d windows are left", len(rc.sampler.kinds))
	}
}

func smpFlush(t *testing.T, rc *recorder) {
	t.Helper()
	if err := rc.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSampledKinds: what makes records alike, and what does not.
func TestSampledKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &smpBook{}
		rc := smpRecorder(1, book)
		for round, want := range []int{len(smpKinds()), 0} {
			for i, r := range smpKinds() {
				r.RequestID, r.Session, r.Client, r.Detail = strconv.Itoa(i), fmt.Sprint(round), fmt.Sprint("client ", round), fmt.Sprint(round)
				r.Rejected = []decision.Contributor{{Principal: fmt.Sprint("https://", round)}}
				if !r.Registered {
					r.Target = fmt.Sprint("name ", round)
				}
				if r.Method == "vendor/run" {
					r.Method = fmt.Sprint("vendor/", round)
				}
				rc.record(t.Context(), r)
			}
			if got := len(book.take()); got != want {
				t.Errorf("round %d: %d records, want %d", round, got, want)
			}
		}
	})
}

// TestSamplerIsBounded: however many names and methods a peer invents, and however many
// targets a server has, the sampler keeps so many kinds and no more, loses count of
// nothing, and a peer cannot make more records than one kind of them has.
func TestSamplerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &smpBook{}
		rc := smpRecorder(2, book)
		const n = 20_000
		for i := range n {
			r := decision.Record{Method: "vendor/" + strconv.Itoa(i), Target: "name" + strconv.Itoa(i), Verdict: decision.Invalid}
			rc.record(t.Context(), r)
		}
		if kinds, records := len(rc.sampler.kinds), len(book.all); kinds != 1 || records != 2 {
			t.Errorf("hostile names: %d kinds, %d records", kinds, records)
		}
		for i := range n {
			rc.record(t.Context(), decision.Record{Method: "tools/call", Registered: true, Target: strconv.Itoa(i % 5000), Verdict: decision.Verdict(i % 5)})
		}
		if kinds := len(rc.sampler.kinds); kinds < maxKinds || kinds > maxKinds+20 {
			t.Errorf("%d kinds", kinds)
		}
		smpFlush(t, rc)
		sum := uint64(0)
		for _, s := range book.take() {
			sum += s.Requests()
			if s.Method == "" && (s.Target != "" || s.Registered || s.Suppressed == 0) {
				t.Errorf("what stands for several kinds says %v", s.Record)
			}
		}
		if sum != 2*n {
			t.Errorf("the records stand for %d requests of %d", sum, 2*n)
		}
	})
}

// TestUnsampled: without SampleAbove every request has its own record.
func TestUnsampled(t *testing.T) {
	book := &smpBook{}
	rc := smpRecorder(0, book)
	for range 5000 {
		rc.record(t.Context(), smpKinds()[0])
	}
	smpFlush(t, rc)
	got := book.take()
	if len(got) != 5000 || slices.ContainsFunc(got, func(s smpSeen) bool { return s.Requests() != 1 }) {
		t.Errorf("%d records", len(got))
	}
}

// TestSamplingAtOnce: many requests at the same time as windows end and somebody flushes.
// After the last flush nothing is missing.
func TestSamplingAtOnce(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			book := &smpBook{}
			rc := smpRecorder(3, book)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					for range 100 {
						rc.record(t.Context(), smpKinds()[i%4])
						if i == 7 {
							smpFlush(t, rc)
						}
						time.Sleep(sampleWindow / 4)
					}
				})
			}
			all.Wait()
			smpFlush(t, rc)
			sum := uint64(0)
			for _, s := range book.take() {
				sum += s.Requests()
			}
			if sum != 800 {
				t.Fatalf("the records stand for %d requests of 800", sum)
			}
		})
	}
}
