package middleware

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
)

// snkHandler is a log handler of which a test decides what it does.
type snkHandler struct {
	enabled func()
	handle  func(slog.Record)
}

func (h snkHandler) Enabled(context.Context, slog.Level) bool {
	if h.enabled != nil {
		h.enabled()
	}
	return true
}

func (h snkHandler) Handle(_ context.Context, r slog.Record) error {
	if h.handle != nil {
		h.handle(r)
	}
	return nil
}

func (h snkHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h snkHandler) WithGroup(string) slog.Handler      { return h }

// TestBadLogger: whatever the logger does, each sink is asked once for each request, and
// also for what sampling has left out; one that fails itself as well.
func TestBadLogger(t *testing.T) {
	block := make(chan struct{})
	for name, h := range map[string]snkHandler{
		"panics":                       {handle: func(slog.Record) { panic("x") }},
		"panics when asked":            {enabled: func() { panic("x") }},
		"ends its goroutine":           {handle: func(slog.Record) { runtime.Goexit() }},
		"ends its goroutine, if asked": {enabled: func() { runtime.Goexit() }},
		"blocks":                       {handle: func(slog.Record) { <-block }},
		"blocks when asked":            {enabled: func() { <-block }},
	} {
		for _, above := range []int{0, 2} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					block = make(chan struct{})
					defer close(block)
					asked, book := uint64(0), &smpBook{}
					rc := newRecorder(slog.New(h), []decision.Sink{book, decision.SinkFunc(func(_ context.Context, r decision.Record) error {
						asked += r.Requests()
						return errors.New("no")
					})}, above)
					for range 20 {
						for _, kind := range smpKinds() {
							go rc.record(t.Context(), kind)
						}
						synctest.Wait()
					}
					time.Sleep(2 * time.Second)
					synctest.Wait()
					sum := uint64(0)
					for _, s := range book.take() {
						sum += s.Requests()
					}
					if want := uint64(20 * len(smpKinds())); sum != want || asked != want {
						t.Errorf("the sinks were told of %d and %d requests, want %d", sum, asked, want)
					}
				})
			})
		}
	}
}

// TestFlushEnds: Flush ends with its context, whoever blocks, and a sink that calls it does
// not wait for itself.
func TestFlushEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		rc := newRecorder(slog.New(snkHandler{handle: func(slog.Record) { <-block }}), nil, 1)
		for range 3 {
			go rc.record(t.Context(), decision.Record{})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := rc.flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a logger that blocks: %v", err)
		}
		close(block)
		synctest.Wait()
		if err := rc.flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var rc *recorder
		var errs []error
		sink := decision.SinkFunc(func(ctx context.Context, _ decision.Record) error {
			ctx, cancel := context.WithCancel(context.WithValue(ctx, snkKey{}, 1))
			defer cancel()
			errs = append(errs, rc.flush(ctx), smpRecorder(0).flush(ctx))
			return nil
		})
		rc = smpRecorder(0, sink)
		snkSend(t, rc, 2)
		if want := []error{errFlushInSink, nil, errFlushInSink, nil}; !slices.Equal(errs, want) {
			t.Errorf("Flush in a sink: %v", errs)
		}
	})
}

// TestSinkContext: a sink has the values of the request's context and not its end.
func TestSinkContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), snkKey{}, "x"))
	cancel()
	asked := 0
	rc := smpRecorder(0, decision.SinkFunc(func(ctx context.Context, _ decision.Record) error {
		asked++
		if _, dead := ctx.Deadline(); ctx.Err() != nil || ctx.Done() != nil || dead || ctx.Value(snkKey{}) != "x" {
			t.Errorf("%v", ctx)
		}
		return nil
	}))
	rc.record(ctx, decision.Record{})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// TestSinksShareNothing: what one sink does to the slices of a record, others and the log
// do not see.
func TestSinksShareNothing(t *testing.T) {
	book := &smpBook{}
	spoil := decision.SinkFunc(func(_ context.Context, r decision.Record) error {
		r.Rejected[0].Principal, r.AcceptFrom[0] = "spoilt", "spoilt"
		_ = append(r.AcceptFrom[:0], "spoilt")
		return nil
	})
	var logged []string
	rc := newRecorder(slog.New(snkHandler{handle: func(r slog.Record) {
		r.Attrs(func(a slog.Attr) bool { logged = append(logged, a.Value.String()); return true })
	}}), []decision.Sink{spoil, book, spoil}, 1)
	accept, empty := []string{"self", "user"}, []string{}
	for range 3 {
		rc.record(t.Context(), decision.Record{Rejected: []decision.Contributor{{Principal: "urn:mcp:host"}}, AcceptFrom: accept, Policy: "x"})
	}
	smpFlush(t, rc)
	got := book.take()
	if len(got) != 2 || got[0].Rejected[0].Principal != "urn:mcp:host" || got[0].AcceptFrom[0] != "self" || got[1].AcceptFrom[0] != "self" || accept[0] != "self" {
		t.Errorf("%v", got)
	}
	if slices.ContainsFunc(logged, func(s string) bool { return s == "spoilt" || s == "[spoilt user]" }) || len(logged) == 0 {
		t.Errorf("logged %q", logged)
	}
	rc = smpRecorder(0, book)
	rc.record(t.Context(), decision.Record{AcceptFrom: empty})
	if got := book.take(); got[0].AcceptFrom == nil || got[0].Rejected != nil {
		t.Errorf("empty and absent are one: %+v", got[0].Record)
	}
}

type snkKey struct{}
