package decisiontest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/decision/decisiontest"
)

var errBroken = errors.New("broken")

// overlap is a sink that minds whether two calls overlap. It waits for the second, which is
// sure to come where records are handed over from several goroutines.
type overlap struct {
	store
	first, second chan struct{}
	once          sync.Once
	then          func(s *overlap) error
}

func (s *overlap) Record(ctx context.Context, r decision.Record) error {
	if r.Target == "concurrent" {
		select {
		case s.first <- struct{}{}: // nobody is here
			<-s.second
		default:
			var err error
			s.once.Do(func() {
				defer close(s.second)
				err = s.then(s)
			})
			if err != nil {
				return err
			}
		}
	}
	return s.store.Record(ctx, r)
}

func overlapping(then func(*overlap) error) func() (decision.Sink, decisiontest.Stored) {
	return func() (decision.Sink, decisiontest.Stored) {
		s := &overlap{first: make(chan struct{}, 1), second: make(chan struct{}), then: then}
		return s, s.stored
	}
}

func sinkOf(line func(decision.Record) []string) func() (decision.Sink, decisiontest.Stored) {
	return func() (decision.Sink, decisiontest.Stored) { s := &store{line: line}; return s, s.stored }
}

func funcOf(f func(decision.Record) error) func() (decision.Sink, decisiontest.Stored) {
	return func() (decision.Sink, decisiontest.Stored) {
		return decision.SinkFunc(func(_ context.Context, r decision.Record) error { return f(r) }), nil
	}
}

// brokenSinks are sinks with one mistake each.
var brokenSinks = map[string]struct {
	open  func() (decision.Sink, decisiontest.Stored)
	check string // which finds it
	want  string
}{
	"nil":             {func() (decision.Sink, decisiontest.Stored) { return nil, nil }, "zero", "there is no sink"},
	"always an error": {funcOf(func(decision.Record) error { return errBroken }), "zero", "error from Record: broken"},
	"time demanded": {funcOf(func(r decision.Record) error {
		if r.Time.IsZero() {
			return errBroken
		}
		return nil
	}), "zero", "broken"},
	"first contributor": {funcOf(func(r decision.Record) error { _ = r.Rejected[0]; return nil }), "empty", "panic in Record: runtime error: index out of range"},
	"first token": {funcOf(func(r decision.Record) error {
		if r.Policy != "" {
			_ = r.AcceptFrom[0]
		}
		return nil
	}), "empty", "panic in Record"},
	"known reasons": {funcOf(func(r decision.Record) error {
		if strings.Contains(string(r.Reason), "tomorrow") {
			panic("no such reason")
		}
		return nil
	}), "full", "no such reason"},
	"signed numbers": {funcOf(func(r decision.Record) error {
		if r.Lost > math.MaxInt64 {
			return errBroken
		}
		return nil
	}), "extreme", "broken"},
	"bounded": {funcOf(func(r decision.Record) error {
		if len(r.AcceptFrom) > 1000 {
			return errBroken
		}
		return nil
	}), "extreme", "broken"},
	"sorts in place": {funcOf(func(r decision.Record) error { slices.Sort(r.AcceptFrom); return nil }), "full", "the record's AcceptFrom was changed"},
	"redacts in place": {funcOf(func(r decision.Record) error {
		for i := range r.Rejected {
			r.Rejected[i].Principal = ""
		}
		return nil
	}), "full", "the record's Rejected was changed"},
	"appends": {funcOf(func(r decision.Record) error { _ = append(r.AcceptFrom, "also"); return nil }), "full", "something was appended to the record's AcceptFrom"},
	"appends a contributor": {funcOf(func(r decision.Record) error {
		_ = append(r.Rejected, decision.Contributor{})
		return nil
	}), "full", "something was appended to the record's Rejected"},
	"changes later": {func() (decision.Sink, decisiontest.Stored) {
		s := &store{}
		var kept []decision.Record
		keep := decision.SinkFunc(func(ctx context.Context, r decision.Record) error {
			s.mu.Lock()
			kept = append(kept, r)
			s.mu.Unlock()
			return s.Record(ctx, r)
		})
		return keep, func() ([]string, error) {
			for _, r := range kept {
				slices.Reverse(r.AcceptFrom)
			}
			return s.stored()
		}
	}, "full", "the record's AcceptFrom was changed"},
	"parses its own quotes": {funcOf(func(r decision.Record) error {
		if strings.Contains(r.Client, `"}`) {
			return errBroken
		}
		return nil
	}), "hostile", "broken"},
	"long text": {funcOf(func(r decision.Record) error {
		if len(r.Client) > 1<<16 {
			panic("buffer is full")
		}
		return nil
	}), "raw", "buffer is full"},
	"loses all": {sinkOf(func(decision.Record) []string { return nil }), "zero", "1 records were handed over and 0 are stored"},
	"twice":     {sinkOf(func(r decision.Record) []string { return []string{r.String(), r.String()} }), "zero", "1 records were handed over and 2 are stored"},
	"no id":     {sinkOf(func(r decision.Record) []string { return []string{r.Target} }), "full", "does not show its RequestID"},
	"two lines": {sinkOf(func(r decision.Record) []string { return []string{strings.ReplaceAll(r.String(), " ", "\n")} }), "full", "is not one line"},
	"unescapes": {sinkOf(func(r decision.Record) []string {
		return []string{r.RequestID + strings.ReplaceAll(r.Client, `\x1b`, "\x1b")}
	}), "hostile", "is not one line"},
	"unreadable": {func() (decision.Sink, decisiontest.Stored) {
		s := &store{}
		return s, func() ([]string, error) { return nil, errBroken }
	}, "zero", "reading back: broken"},
	"remembers alike ones": {func() (decision.Sink, decisiontest.Stored) {
		s, known := &store{}, map[string]bool{}
		s.line = func(r decision.Record) []string {
			if known[r.Target] && r.Target == "export_records" && !strings.Contains(r.RequestID, "-0") {
				return nil
			}
			known[r.Target] = true
			return []string{r.String()}
		}
		return s, s.stored
	}, "alike", "4 records were handed over and 1 are stored"},
	"last one again": {func() (decision.Sink, decisiontest.Stored) {
		s, last := &store{}, ""
		s.line = func(r decision.Record) []string {
			if last == "" || r.Target == "" {
				last = r.String()
			}
			return []string{last}
		}
		return s, s.stored
	}, "alike", "is stored twice"},
	"all in one": {func() (decision.Sink, decisiontest.Stored) {
		s, all := &store{}, ""
		s.line = func(r decision.Record) []string { all += r.String(); return []string{all} }
		return s, s.stored
	}, "alike", "one text shows the records"},
	"refuses a second caller":     {overlapping(func(*overlap) error { return errBroken }), "concurrent", "error from Record: broken"},
	"falls over with two callers": {overlapping(func(*overlap) error { panic("two at a time") }), "concurrent", "two at a time"},
	"forgets with two callers": {overlapping(func(s *overlap) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, "half a rec")
		return nil
	}), "concurrent", "1000 records were handed over and 1001 are stored"},
	"garbles with two callers": {overlapping(func(s *overlap) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.line = func(r decision.Record) []string { return []string{r.String()[:20]} }
		return nil
	}), "concurrent", "does not show its RequestID"},
}
