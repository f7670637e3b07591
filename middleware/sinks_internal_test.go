package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
)

// snkLine is one log line about a sink.
type snkLine struct {
	Msg, Error string
	Sink       int
	Requests   uint64
}

// snkLog is a log that a test reads.
type snkLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *snkLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// about returns the lines with that message since the last time, and forgets the others.
func (b *snkLog) about(t *testing.T, msg string) (lines []snkLine) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	for line := range bytes.Lines(b.buf.Bytes()) {
		var l snkLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l.Msg == msg {
			lines = append(lines, l)
		}
	}
	return lines
}

const (
	snkFailed = "a decision sink failed"
	snkFull   = "a decision sink is too slow; records are lost to it and counted"
)

func snkRecorder(above int, sinks ...decision.Sink) (*recorder, *snkLog) {
	b := &snkLog{}
	return newRecorder(slog.New(slog.NewJSONHandler(b, nil)), sinks, above), b
}

// snkSend records n refused requests.
func snkSend(t *testing.T, rc *recorder, n int) {
	for i := range n {
		rc.record(t.Context(), decision.Record{Method: "tools/call", RequestID: strconv.Itoa(i)})
	}
}

// badText is an error whose text cannot be had.
type badText struct{}

func (*badText) Error() string { panic("no text") }

// snkBad are the ways in which a sink can fail at once.
var snkBad = map[string]struct {
	record func() error
	text   string
}{
	"an error":                   {func() error { return errors.New("disk\nfull\x1b[31m") }, `disk\nfull\x1b[31m`},
	"a panic":                    {func() error { panic("at the disk") }, "the sink panicked: at the disk"},
	"a panic with nil":           {func() error { panic(nil) }, "the sink panicked: panic called with nil argument"},
	"a panic with a bad text":    {func() error { panic(&badText{}) }, "the sink panicked: %!v(PANIC=Error method: no text)"},
	"an error with a bad text":   {func() error { return &badText{} }, "a *middleware.badText, whose text cannot be had"},
	"an error that is a nil":     {func() error { var e *flowNil; return e }, "a *middleware.flowNil, whose text cannot be had"},
	"the end of its goroutine":   {func() error { runtime.Goexit(); return nil }, "the sink ended its goroutine"},
	"the same, while it panics":  {func() error { defer runtime.Goexit(); panic("x") }, "the sink ended its goroutine"},
	"a panic in a deferred call": {func() error { defer func() { panic("y") }(); return nil }, "the sink panicked: y"},
}

type flowNil struct{ text string }

func (e *flowNil) Error() string { return e.text }

// TestFailingSink: the log says at once that a sink has failed, and then once a second how
// many more requests it has missed. The sink is asked about every one, and so are others.
func TestFailingSink(t *testing.T) {
	for name, bad := range snkBad {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, book := 0, &smpBook{}
				rc, log := snkRecorder(0, book, decision.SinkFunc(func(context.Context, decision.Record) error {
					asked++
					return bad.record()
				}))
				start := time.Now()
				snkSend(t, rc, 1)
				synctest.Wait()
				if lines := log.about(t, snkFailed); len(lines) != 1 || !strings.HasPrefix(lines[0].Error, bad.text) || lines[0].Sink != 1 || lines[0].Requests != 1 {
					t.Fatalf("%+v", lines)
				}
				snkSend(t, rc, 500)
				synctest.Wait()
				if lines := log.about(t, snkFailed); len(lines) != 0 {
					t.Errorf("too soon: %+v", lines)
				}
				if took := time.Since(start); took != 0 || asked != 501 || len(book.all) != 501 {
					t.Errorf("asked %d times, the other has %d, in %v", asked, len(book.all), took)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if lines := log.about(t, snkFailed); len(lines) != 1 || lines[0].Requests != 500 {
					t.Errorf("%+v", lines)
				}
				snkSend(t, rc, 3)
				if err := rc.flush(t.Context()); err != nil {
					t.Error(err)
				}
				if lines := log.about(t, snkFailed); len(lines) != 1 || lines[0].Requests != 3 {
					t.Errorf("after Flush: %+v", lines)
				}
				if time.Sleep(3 * time.Second); len(log.about(t, snkFailed)) != 0 {
					t.Error("a line about nothing")
				}
			})
		})
	}
}

// TestBlockedSink: the first request waits a moment for a sink that blocks, others do not;
// what does not fit into its queue is counted to the request, and it gets the rest when it
// goes on. The log says so at once and then once a second.
func TestBlockedSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, book, other := make(chan struct{}), &smpBook{}, &smpBook{}
		rc, log := snkRecorder(0, decision.SinkFunc(func(ctx context.Context, r decision.Record) error {
			<-release
			return book.Record(ctx, r)
		}), other)
		start := time.Now()
		snkSend(t, rc, 1)
		if took := time.Since(start); took != sinkPatience {
			t.Errorf("the first request waited %v", took)
		}
		start = time.Now()
		snkSend(t, rc, laneDepth-1)
		// These do not fit. One of them stands for ten.
		snkSend(t, rc, 98)
		rc.record(t.Context(), decision.Record{Suppressed: 9})
		if took := time.Since(start); took != 0 {
			t.Errorf("later ones waited %v", took)
		}
		synctest.Wait()
		if lines := log.about(t, snkFull); len(lines) != 1 || lines[0].Requests == 0 {
			t.Errorf("%+v", lines)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := rc.flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v", err)
		}
		close(release)
		synctest.Wait()
		snkSend(t, rc, 2)
		if err := rc.flush(t.Context()); err != nil {
			t.Error(err)
		}
		snkChecks(t, book.take(), other.take())
	})
}

func snkChecks(t *testing.T, got, other []smpSeen) {
	t.Helper()
	sum := uint64(0)
	for i, s := range got {
		sum += s.Requests()
		// The last of those that were lost stands for all of them, and for the nine besides.
		if want := map[int]uint64{laneDepth: 98}[i]; s.Lost != want {
			t.Errorf("record %d tells of %d lost requests, want %d", i, s.Lost, want)
		}
		if i < laneDepth && i > 0 && s.RequestID != strconv.Itoa(i-1) {
			t.Fatalf("record %d is of %s", i, s.RequestID)
		}
	}
	if want := laneDepth + 98 + 10 + 2; len(got) != laneDepth+3 || sum != uint64(want) {
		t.Errorf("%d records for %d requests, want %d", len(got), sum, want)
	}
	if len(other) != laneDepth+98+1+2 {
		t.Errorf("the other sink has %d", len(other))
	}
}

// TestOverflowIsToldOnce: a sink that is always a little too slow does not flood the log.
func TestOverflowIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go1 := make(chan struct{})
		sum := uint64(0)
		rc, log := snkRecorder(0, decision.SinkFunc(func(_ context.Context, r decision.Record) error {
			<-go1
			sum += r.Requests()
			return nil
		}))
		snkSend(t, rc, laneDepth+1)
		for range 1000 {
			go1 <- struct{}{} // room for one
			synctest.Wait()
			snkSend(t, rc, 2) // one has room, one has not
		}
		synctest.Wait()
		if lines := log.about(t, snkFull); len(lines) != 1 {
			t.Errorf("%d lines", len(lines))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if lines := log.about(t, snkFull); len(lines) != 1 || lines[0].Requests != 1000 {
			t.Errorf("%+v", lines)
		}
		close(go1)
		synctest.Wait()
		if l := rc.lanes[0]; sum != laneDepth+1+2000 || l.lost != 0 {
			t.Errorf("told of %d requests, %d still to be told", sum, l.lost)
		}
	})
}

// TestSlowSink: a sink that takes less than the patience there is holds up every request
// for as long; one that takes more, only the first, until it has caught up.
func TestSlowSink(t *testing.T) {
	for _, c := range []struct{ takes, waits time.Duration }{
		{40 * time.Millisecond, 10 * 40 * time.Millisecond}, {60 * time.Millisecond, sinkPatience},
	} {
		synctest.Test(t, func(t *testing.T) {
			rc, _ := snkRecorder(0, decision.SinkFunc(func(context.Context, decision.Record) error {
				time.Sleep(c.takes)
				return nil
			}))
			for range 2 {
				start := time.Now()
				snkSend(t, rc, 10)
				if took := time.Since(start); took != c.waits {
					t.Errorf("a sink that takes %v holds ten requests up for %v", c.takes, took)
				}
				if err := rc.flush(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != 10*c.takes {
					t.Errorf("it had its records after %v", took)
				}
			}
		})
	}
}
