package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/flowgate-mcp/flowgate/decision"
)

// recorder hands decision records to the operator's logger and sinks (M2). Both are
// somebody else's code: what they do, or fail to do, reaches neither a verdict nor each
// other.
type recorder struct {
	log     *slog.Logger
	lanes   []*lane
	sampler *sampler // nil: every record goes out
}

func newRecorder(log *slog.Logger, sinks []decision.Sink, above int) *recorder {
	rc := &recorder{log: log}
	for i, sink := range sinks {
		rc.lanes = append(rc.lanes, newLane(sink, rc, i))
	}
	if above > 0 {
		rc.sampler = newSampler(above, rc)
	}
	return rc
}

// wants reports whether anybody would see a record of that level.
func (rc *recorder) wants(ctx context.Context, level slog.Level) (wanted bool) {
	if len(rc.lanes) > 0 {
		return true
	}
	defer func() {
		if recover() != nil {
			wanted = true
		}
	}()
	return rc.log.Enabled(ctx, level)
}

// outgoing is a record that goes out, and the context of its request.
type outgoing struct {
	ctx context.Context
	rec decision.Record
}

// record delivers a record, or leaves it out if there are too many of its kind.
func (rc *recorder) record(ctx context.Context, r decision.Record) {
	if rc.sampler == nil || rc.sampler.admit(ctx, r) {
		one := []outgoing{{ctx, r}}
		rc.finish(one, rc.queue(one))
	}
}

// queue hands records to every sink and returns what to wait for. It runs nobody else's
// code.
func (rc *recorder) queue(batch []outgoing) (waits []*delivery) {
	if len(rc.lanes) == 0 {
		return nil
	}
	for _, o := range batch {
		// The request may end, and its cancellation with it, before a sink gets there.
		ctx := sinkContext{context.WithoutCancel(o.ctx), rc}
		for _, l := range rc.lanes {
			if d := l.put(ctx, o.rec); d != nil {
				waits = append(waits, d)
			}
		}
	}
	return waits
}

// finish logs records that the sinks have been handed, and waits for each sink a moment. The
// logger comes last because it can keep this goroutine for ever, or end it.
func (rc *recorder) finish(batch []outgoing, waits []*delivery) {
	defer waitFor(waits)
	for i := range batch {
		r := &batch[i].rec
		rc.line(batch[i].ctx, r.Level(), r.Message(), r.Attrs)
	}
}

// line writes one log line. A handler that panics loses it, and nothing else.
func (rc *recorder) line(ctx context.Context, level slog.Level, msg string, attrs func([]slog.Attr) []slog.Attr) {
	defer func() { _ = recover() }()
	if rc.log.Enabled(ctx, level) {
		rc.log.LogAttrs(ctx, level, msg, attrs(nil)...)
	}
}

// say is line with attributes that are at hand.
func (rc *recorder) say(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	rc.line(ctx, level, msg, func([]slog.Attr) []slog.Attr { return attrs })
}

// flush delivers what sampling holds back, waits until every sink has what it was given, and
// logs what is still to be said of those that failed.
func (rc *recorder) flush(ctx context.Context) error {
	if ctx.Value(sinkKey{rc}) != nil {
		return errFlushInSink
	}
	var errs []error
	if rc.sampler != nil {
		// The logger may block.
		errs = append(errs, within(ctx, rc.sampler.flush))
	}
	for i, l := range rc.lanes {
		if err := l.drain(ctx); err != nil {
			errs = append(errs, fmt.Errorf("flowgate: sinks[%d]: %w", i, err))
		}
	}
	for _, l := range rc.lanes {
		for _, c := range []*complaint{&l.failed, &l.full} {
			if c.pending() {
				errs = append(errs, within(ctx, c.tell))
			}
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

// errFlushInSink keeps a sink from waiting for itself.
var errFlushInSink = errors.New("flowgate: Flush waits for the sinks, so a sink cannot call it")

// within runs f and waits for it no longer than ctx lasts.
func within(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sinkContext is what a sink is called with. Whoever gets it, or one made of it, is part of
// what [Gate.Flush] would wait for.
type sinkContext struct {
	context.Context
	rec *recorder
}

type sinkKey struct{ rec *recorder }

// Value finds the mark of the sink.
func (c sinkContext) Value(key any) any {
	if k, ok := key.(sinkKey); ok && k.rec == c.rec {
		return true
	}
	return c.Context.Value(key)
}
