package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestSampledRequests: with SampleAbove alike requests are counted together, on every
// transport and in both eras, and the answers are what they are without.
func TestSampledRequests(t *testing.T) {
	const above, rounds = 2, 5
	book, tap := newRecordBook(), &snkTap{lines: map[string]int{}}
	r, cfg := newRecipient(), book.config()
	cfg.SampleAbove, cfg.Logger = above, slog.New(tap)
	g, lines := everywhere(t, r, cfg)
	sent := map[decision.Verdict]uint64{}
	for _, l := range lines {
		for _, e := range eras {
			for i := range rounds {
				id := fmt.Sprintf("%d", 9007199254740000+i)
				hidden := call(fmt.Sprintf("no such tool %s %s %d", l.name, e, i), labelU)
				if a := l.line.exchange(t, e, hidden); a.reply(t).Error == nil {
					t.Errorf("%s: %s", hidden.params, a.messages)
				}
				sent[decision.Unjudged]++
				for _, rt := range routes[:2] {
					for _, lb := range labels[:2] {
						checkCell(t, l, e, rt, lb, id)
						sent[map[bool]decision.Verdict{true: decision.Refused, false: decision.Accepted}[lb.default_ != ""]]++
					}
				}
			}
		}
	}
	if err := g.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	got, requests := map[decision.Verdict]uint64{}, uint64(0)
	all := book.peek()
	for _, rec := range all {
		got[rec.Verdict] += rec.Requests()
		requests += rec.Requests()
		if rec.Verdict == decision.Unjudged && rec.Registered {
			t.Errorf("%v", rec)
		}
	}
	for verdict, n := range sent {
		if got[verdict] != n {
			t.Errorf("%v: the records stand for %d requests of %d", verdict, got[verdict], n)
		}
	}
	if len(all) >= int(requests) {
		t.Errorf("%d records for %d requests", len(all), requests)
	}
}

// TestSamplingNamesNobody: requests for tools that do not exist are of one kind, whatever
// they are called, and so are messages with two readings, whatever their method.
func TestSamplingNamesNobody(t *testing.T) {
	book := newRecordBook()
	r, cfg := newRecipient(), book.config()
	cfg.SampleAbove = 1
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	const n = 500
	for i := range n {
		for _, body := range []string{
			call(fmt.Sprintf("no such tool %d", i), labelU).body(legacy),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"vendor/%d","Method":"x","params":{}}`, i),
		} {
			r.server.HandleMessage(context.Background(), []byte(body))
		}
	}
	if err := g.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	sums, records := map[decision.Verdict]uint64{}, map[decision.Verdict]int{}
	for _, rec := range book.peek() {
		sums[rec.Verdict] += rec.Requests()
		records[rec.Verdict]++
	}
	if sums[decision.Unjudged] != n || sums[decision.Invalid] != n {
		t.Errorf("the records stand for %v", sums)
	}
	// A slow machine may need several windows for them.
	if records[decision.Unjudged] > n/5 || records[decision.Invalid] > n/5 {
		t.Errorf("%v records", records)
	}
}

// sampledCosts are gates whose refusals are compared.
func sampledCosts() map[string]middleware.Config {
	unlogged := config()
	sampled := newRecordBook().config()
	sampled.SampleAbove = 1
	logged := config()
	logged.Logger = slog.New(slog.NewJSONHandler(discard{}, nil))
	return map[string]middleware.Config{"unlogged": unlogged, "sampled": sampled, "logged": logged}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestSampledRefusalIsCheap: a refusal that sampling leaves out allocates little more than
// one that nobody wants to hear of.
func TestSampledRefusalIsCheap(t *testing.T) {
	if middleware.ManyRequests < 10_000 {
		t.Skip("the race detector allocates")
	}
	costs := map[string]float64{}
	for name, cfg := range sampledCosts() {
		refuse := floodServer(t, cfg)
		refuse() // and with it the first of its kind
		costs[name] = testing.AllocsPerRun(300, refuse)
	}
	if extra := costs["sampled"] - costs["unlogged"]; extra > 40 {
		t.Errorf("allocations: %v", costs)
	}
}

// BenchmarkRefusal is what a refusal costs with a record and without.
func BenchmarkRefusal(b *testing.B) {
	for name, cfg := range sampledCosts() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			refuse := floodServer(b, cfg)
			b.ReportAllocs()
			for b.Loop() {
				refuse()
			}
		})
	}
}
