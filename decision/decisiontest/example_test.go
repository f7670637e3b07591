package decisiontest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/decision/decisiontest"
)

// Store is a sink of one's own: it keeps a line for each record.
type Store struct {
	mu    sync.Mutex
	lines []string
}

// Record keeps a record.
func (s *Store) Record(_ context.Context, r decision.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, r.String())
	return nil
}

// Lines reads back what was kept.
func (s *Store) Lines() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines, nil
}

func TestSink(t *testing.T) {
	decisiontest.Run(t, func(t *testing.T) (decision.Sink, decisiontest.Stored) {
		var store Store
		return &store, store.Lines
	})
}

// A sink that can only count has nothing to read back. Outside of a test TestSink says what
// is wrong with one: this one takes it for granted that somebody was rejected.
func ExampleTestSink() {
	fmt.Println(decisiontest.TestSink(func() (decision.Sink, decisiontest.Stored) { return new(Store), nil }))

	err := decisiontest.TestSink(func() (decision.Sink, decisiontest.Stored) {
		return decision.SinkFunc(func(_ context.Context, r decision.Record) error {
			_ = r.Rejected[0].Principal
			return nil
		}), nil
	})
	first, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Println(first)
	// Output:
	// <nil>
	// zero: record 0: panic in Record: runtime error: index out of range [0] with length 0: the zero Record is one, a refusal about which nothing is known
}
