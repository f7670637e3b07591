package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// snkTap is a log handler that counts the lines of each request and then does what a test
// wants.
type snkTap struct {
	mu      sync.Mutex
	lines   map[string]int // by id
	enabled func()
	handle  func(context.Context) error
}

func (h *snkTap) Enabled(context.Context, slog.Level) bool {
	if h.enabled != nil {
		h.enabled()
	}
	return true
}

func (h *snkTap) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "request ") {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == decision.KeyID {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.lines[a.Value.String()]++
			}
			return true
		})
	}
	if h.handle != nil {
		return h.handle(ctx)
	}
	return nil
}

func (h *snkTap) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *snkTap) WithGroup(string) slog.Handler      { return h }

// snkBench is a gate with a sink or a logger that misbehaves, beside a sink that does not.
type snkBench struct {
	r       *recipient
	gate    *middleware.Gate
	lines   []namedLine
	book    *recordBook
	tap     *snkTap
	release chan struct{}
	busy    atomic.Bool   // the sink or logger is calling back
	nested  atomic.Int64  // requests that it has made
	told    atomic.Uint64 // requests that its records stand for

	extra  decision.Sink // beside the others
	mirror slog.Handler  // has all lines as well
}

// callBack makes a request of the gated server, for the first few times that it is
// called and never inside itself.
func (b *snkBench) callBack(ctx context.Context) error {
	if b.nested.Load() >= 5 || !b.busy.CompareAndSwap(false, true) {
		return nil
	}
	defer b.busy.Store(false)
	r := call("search", labelU)
	r.id = fmt.Sprintf(`"nested %d"`, b.nested.Add(1))
	got := b.r.server.HandleMessage(ctx, json.RawMessage(r.body(legacy)))
	if m, err := json.Marshal(got); err != nil || !strings.Contains(string(m), "search ran") {
		return fmt.Errorf("it was answered %s, %v", m, err)
	}
	return nil
}

// snkSinks are sinks that misbehave.
var snkSinks = map[string]func(*snkBench, context.Context, decision.Record) error{
	"fails":               func(*snkBench, context.Context, decision.Record) error { return errors.New("no") },
	"panics":              func(*snkBench, context.Context, decision.Record) error { panic("no") },
	"ends its goroutine":  func(*snkBench, context.Context, decision.Record) error { runtime.Goexit(); return nil },
	"blocks":              func(b *snkBench, _ context.Context, _ decision.Record) error { <-b.release; return nil },
	"calls Flush":         func(b *snkBench, ctx context.Context, _ decision.Record) error { return b.gate.Flush(ctx) },
	"calls Apply":         func(b *snkBench, _ context.Context, _ decision.Record) error { return b.gate.Apply(b.gate.Overrides()) },
	"makes a request":     func(b *snkBench, ctx context.Context, _ decision.Record) error { return b.callBack(ctx) },
	"makes one of no own": func(b *snkBench, _ context.Context, _ decision.Record) error { return b.callBack(context.Background()) },
	"spoils the record": func(_ *snkBench, _ context.Context, r decision.Record) error {
		for i := range r.AcceptFrom {
			r.AcceptFrom[i] = "unverified"
		}
		clear(r.Rejected)
		return nil
	},
}

// snkLoggers are log handlers that misbehave. Those that block or end the goroutine hold up
// the request; see TestBlockedLogger.
var snkLoggers = map[string]func(*snkBench, *snkTap){
	"panics":            func(_ *snkBench, h *snkTap) { h.handle = func(context.Context) error { panic("no") } },
	"panics when asked": func(_ *snkBench, h *snkTap) { h.enabled = func() { panic("no") } },
	"fails":             func(_ *snkBench, h *snkTap) { h.handle = func(context.Context) error { return errors.New("no") } },
	"makes a request":   func(b *snkBench, h *snkTap) { h.handle = b.callBack },
	"makes one of no own": func(b *snkBench, h *snkTap) {
		h.handle = func(context.Context) error { return b.callBack(context.Background()) }
	},
	"calls Flush": func(b *snkBench, h *snkTap) { h.handle = func(ctx context.Context) error { return b.gate.Flush(ctx) } },
	"calls Apply": func(b *snkBench, h *snkTap) {
		h.handle = func(context.Context) error { return b.gate.Apply(b.gate.Overrides()) }
	},
}

// newSnkBench builds the gate. A nil sink and a nil logger make the control.
func newSnkBench(t *testing.T, sink func(*snkBench, context.Context, decision.Record) error, logger func(*snkBench, *snkTap)) *snkBench {
	t.Helper()
	b := &snkBench{r: newRecipient(), book: newRecordBook(), tap: &snkTap{lines: map[string]int{}}, release: make(chan struct{})}
	cfg := b.book.config()
	cfg.Logger = slog.New(b.tap)
	if sink != nil {
		bad := decision.SinkFunc(func(ctx context.Context, r decision.Record) error {
			b.told.Add(r.Requests())
			return sink(b, ctx, r)
		})
		cfg.Sinks = []decision.Sink{bad, b.book}
	}
	if logger != nil {
		logger(b, b.tap)
	}
	if b.extra != nil {
		cfg.Sinks = append(cfg.Sinks, b.extra)
	}
	if b.mirror != nil {
		cfg.Logger = slog.New(slog.NewMultiHandler(b.tap, b.mirror))
	}
	b.gate, b.lines = everywhere(t, b.r, cfg)
	return b
}

// run sends every kind of request by every way and returns the answers by id: accepted and
// refused by policy, ambiguous, turned away by the server, and, at the end, to a gate that
// is not in order.
func (b *snkBench) run(t *testing.T) map[string]string {
	t.Helper()
	answers, n := map[string]string{}, 0
	send := func(l namedLine, e era, r request) {
		n++
		r.id = fmt.Sprintf(`"%d"`, n)
		a := l.line.exchange(t, e, r)
		answers[r.id] = fmt.Sprintf("%d %s %s", a.status, a.raw, a.messages)
	}
	for _, l := range b.lines {
		for _, e := range eras {
			for _, rt := range routes {
				send(l, e, rt.request.with(labelX))
				if !rt.endless && !slices.Contains(rt.effects, "task:created") {
					send(l, e, rt.request.with(labelU))
				}
			}
			send(l, e, call("nothing", labelU))
			if l.name != "in process" {
				send(l, e, doubtful()[0])
			}
		}
	}
	server.WithHooks(&server.Hooks{})(b.r.server)
	for _, l := range b.lines {
		if l.name != "HTTP SSE" { // the hook that opens the stream is gone
			send(l, legacy, call("export", labelU))
		}
	}
	return answers
}

// check compares the answers with those of the control, and counts the records.
func (b *snkBench) check(t *testing.T, answers, control map[string]string) {
	t.Helper()
	for id, want := range control {
		if answers[id] != want {
			t.Errorf("%s was answered %s\n  want %s", id, answers[id], want)
		}
	}
	close(b.release)
	if err := b.gate.Flush(deadline(t)); err != nil {
		t.Error(err)
	}
	want := len(control) + int(b.nested.Load())
	records := byID(b.book.take(t, want))
	lines := b.tap.lines
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if len(records[id]) != 1 || b.tap.enabled == nil && lines[id] != 1 {
			t.Errorf("%s has %d records and %d log lines: %v", id, len(records[id]), lines[id], records[id])
		}
		if r := records[id][0]; r.Verdict == decision.Refused && (len(r.Rejected) == 0 || r.Rejected[0].Assurance != "unverified" || slices.Contains(r.AcceptFrom, "unverified")) {
			t.Errorf("%s: %v", id, r)
		}
	}
	if len(records) != want {
		t.Errorf("%d requests have records, want %d", len(records), want)
	}
}

// TestBadSinksChangeNothing: whatever a sink or the logger does, no verdict and no answer
// changes on any way in, nothing waits for ever, and every other sink and the log still
// have one record for each request (M2).
func TestBadSinksChangeNothing(t *testing.T) {
	var control map[string]string
	t.Run("control", func(t *testing.T) {
		b := newSnkBench(t, nil, nil)
		control = b.run(t)
		b.check(t, control, control)
	})
	for _, name := range slices.Sorted(maps.Keys(snkSinks)) {
		t.Run("a sink that "+name, func(t *testing.T) {
			b := newSnkBench(t, snkSinks[name], nil)
			b.check(t, b.run(t), control)
			if got, want := b.told.Load(), uint64(len(control))+uint64(b.nested.Load()); got != want {
				t.Errorf("the sink was told of %d requests, want %d", got, want)
			}
			if strings.HasPrefix(name, "makes") && b.nested.Load() != 5 {
				t.Errorf("it made %d requests", b.nested.Load())
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(snkLoggers)) {
		t.Run("a logger that "+name, func(t *testing.T) {
			b := newSnkBench(t, nil, snkLoggers[name])
			b.check(t, b.run(t), control)
		})
	}
}

// TestSharedSink: a sink that two gates share has one record for each request of either.
func TestSharedSink(t *testing.T) {
	book := newRecordBook()
	var lines []*httpLine
	for _, uri := range []string{ownURI, "https://other.example/mcp"} {
		r, cfg := newRecipient(), book.config()
		cfg.URI = uri
		h, err := middleware.Handler(r.server, cfg)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, listenHTTP(t, h, r.ran))
	}
	var all sync.WaitGroup
	for i, l := range lines {
		for n := range 40 {
			r := call("export", []string{labelU, labelX}[n%2])
			r.id = fmt.Sprintf(`"%d %d"`, i, n)
			all.Go(func() {
				if a := l.exchange(t, modern, r); a.status != http.StatusOK {
					t.Errorf("%s: %s", r.id, a.raw)
				}
			})
		}
	}
	all.Wait()
	records := byID(book.take(t, 80))
	for id, list := range records {
		if len(list) != 1 || (list[0].Server == ownURI) != strings.HasPrefix(id, `"0`) {
			t.Errorf("%s: %v", id, list)
		}
	}
	if len(records) != 80 {
		t.Errorf("%d requests have records", len(records))
	}
}
