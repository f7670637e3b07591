package decisiontest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/decision/decisiontest"
)

// store is a sink that keeps lines. Its zero value keeps what String gives.
type store struct {
	mu    sync.Mutex
	lines []string
	line  func(r decision.Record) []string
}

func (s *store) Record(_ context.Context, r decision.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		s.lines = append(s.lines, s.line(r)...)
		return nil
	}
	s.lines = append(s.lines, r.String())
	return nil
}

func (s *store) stored() ([]string, error) { return s.lines, nil }

// linesOf reads back what was written to a buffer.
func linesOf(b *bytes.Buffer) decisiontest.Stored {
	return func() ([]string, error) { return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), nil }
}

// The sinks of this module keep what is demanded of one.
func TestGoodSinks(t *testing.T) {
	logging := func(handler slog.Handler) decision.Sink {
		return decision.SinkFunc(func(ctx context.Context, r decision.Record) error {
			slog.New(handler).LogAttrs(ctx, r.Level(), r.Message(), r.Attrs(nil)...)
			return nil
		})
	}
	for name, open := range map[string]func() (decision.Sink, decisiontest.Stored){
		"writer": func() (decision.Sink, decisiontest.Stored) {
			var b bytes.Buffer
			return decision.NewWriter(&b), linesOf(&b)
		},
		"json log": func() (decision.Sink, decisiontest.Stored) {
			var b bytes.Buffer
			return logging(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), linesOf(&b)
		},
		"text log": func() (decision.Sink, decisiontest.Stored) {
			var b bytes.Buffer
			return logging(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})), linesOf(&b)
		},
		"String":     func() (decision.Sink, decisiontest.Stored) { s := &store{}; return s, s.stored },
		"JSON twice": func() (decision.Sink, decisiontest.Stored) { s := &store{line: twice}; return s, s.stored },
		"counter": func() (decision.Sink, decisiontest.Stored) {
			return decision.SinkFunc(func(context.Context, decision.Record) error { return nil }), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			decisiontest.Run(t, func(*testing.T) (decision.Sink, decisiontest.Stored) { return open() })
		})
		if err := decisiontest.TestSink(open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func twice(r decision.Record) []string {
	one, _ := json.Marshal(r.String())
	two, _ := json.Marshal(string(one))
	return []string{string(two)}
}

// Each broken sink is caught, by the check that is there for it.
func TestBrokenSinks(t *testing.T) {
	seen := map[string]bool{}
	for name, tt := range brokenSinks {
		err := decisiontest.TestSink(tt.open)
		if err == nil || !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
			return strings.Contains(line, tt.want)
		}) || !strings.Contains(err.Error(), tt.check+": ") {
			t.Errorf("%s: want %s: %s in\n%.3000v", name, tt.check, tt.want, err)
		}
		seen[tt.check] = true
	}
	for _, check := range []string{"zero", "empty", "full", "extreme", "hostile", "raw", "alike", "concurrent"} {
		if !seen[check] {
			t.Errorf("no broken sink for %s", check)
		}
	}
}
