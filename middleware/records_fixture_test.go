package middleware_test

import (
	"context"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// recordBook is a sink that keeps what it is given.
type recordBook struct {
	mu   sync.Mutex
	all  []decision.Record
	more chan struct{} // closed and replaced when there is one more
}

func newRecordBook() *recordBook { return &recordBook{more: make(chan struct{})} }

func (b *recordBook) Record(_ context.Context, r decision.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, r)
	close(b.more)
	b.more = make(chan struct{})
	return nil
}

// config is the fixture's configuration with b as its sink.
func (b *recordBook) config() middleware.Config {
	cfg := config()
	cfg.Sinks = []decision.Sink{b}
	return cfg
}

// take waits for n records and returns all there are, and forgets them.
func (b *recordBook) take(t testing.TB, n int) []decision.Record {
	t.Helper()
	ctx := deadline(t)
	for {
		b.mu.Lock()
		all, more := b.all, b.more
		if len(all) >= n {
			b.all = nil
			b.mu.Unlock()
			return all
		}
		b.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("%d records, want %d: %v", len(all), n, all)
		}
	}
}

// one waits for a record and asserts that it is the only one.
func (b *recordBook) one(t testing.TB) decision.Record {
	t.Helper()
	all := b.take(t, 1)
	if len(all) != 1 {
		t.Errorf("%d records: %v", len(all), all)
	}
	return all[0]
}

// byID sorts records by the id of their request.
func byID(all []decision.Record) map[string][]decision.Record {
	out := make(map[string][]decision.Record)
	for _, r := range all {
		out[r.RequestID] = append(out[r.RequestID], r)
	}
	return out
}
