package otelflow_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
)

// Several gates may share a sink: no request is lost or counted twice, the cap on targets holds,
// and readers may read meanwhile.
func TestConcurrent(t *testing.T) {
	const gates, each, targets = 8, 500, 5
	m := newMeter(t, otelflow.Config{Targets: targets})
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "shared")
	defer span.End()
	start := make(chan struct{})
	var wait sync.WaitGroup
	for gate := range gates {
		wait.Go(func() {
			<-start
			for i := range each {
				r := with(func(r *decision.Record) {
					r.Target, r.Registered = "t"+strconv.Itoa((i+gate)%20), i%4 > 0
					r.Verdict = decision.Verdict(i % 5)
					r.Suppressed, r.Lost, r.Took = 2, 1, 1
				})
				if err := m.Record(ctx, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Go(func() {
		<-start
		for range 20 {
			m.metrics(t)
		}
	})
	close(start)
	wait.Wait()

	const records = gates * each
	for name, want := range map[string]int64{
		otelflow.MetricDecisions: 3 * records, otelflow.MetricTargets: 3 * records,
		otelflow.MetricSuppressed: 2 * records, otelflow.MetricLost: records,
	} {
		var got int64
		for _, n := range m.counts(t, name) {
			got += n
		}
		if got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	var measured uint64
	for _, point := range m.times(t) {
		measured += point.Count
	}
	if measured != records {
		t.Errorf("got %d times, want %d", measured, records)
	}
	// Five verdicts, and the names with their two buckets.
	if got := len(m.counts(t, otelflow.MetricTargets)); got > 5*(targets+2) {
		t.Errorf("got %d series by target", got)
	}
}
