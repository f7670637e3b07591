package otelflow_test

import (
	"context"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
)

// accepted is what a gate records most often.
var accepted = with(func(r *decision.Record) {
	r.Verdict, r.Reason, r.Detail, r.Rejected, r.Took = decision.Accepted, "", "", nil, 12*time.Microsecond
})

// unregistered is the same for a name that a peer made up.
var unregistered = with(func(r *decision.Record) { r.Target, r.Registered, r.Took = "made-up", false, 12*time.Microsecond })

// Counting allocates nothing once the series is there. Without exemplars: those the SDK
// makes allocate.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx := context.Background()
	for name, r := range map[string]decision.Record{"accepted": accepted, "refused": refusal, "unregistered": unregistered} {
		m := newMeter(t, otelflow.Config{Targets: 10}, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
		record := func() {
			if err := m.Record(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		record()
		if got := testing.AllocsPerRun(1000, record); got > 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

// In the cases with a span, the time of the span itself is in the result; that of
// "span alone" is nothing else.
func BenchmarkRecord(b *testing.B) {
	tracer := sdktrace.NewTracerProvider().Tracer("bench")
	for _, bench := range []struct {
		name    string
		targets int
		span    bool
		record  func(int) decision.Record // nil: nothing is recorded
	}{
		{"accepted", 0, false, func(int) decision.Record { return accepted }},
		{"accepted/targets", 100, false, func(int) decision.Record { return accepted }},
		{"refused/targets", 100, false, func(int) decision.Record { return refusal }},
		{"hostile/targets", 100, false, hostile},
		{"span alone", 0, true, nil},
		{"accepted/span", 0, true, func(int) decision.Record { return accepted }},
		{"refused/span", 0, true, func(int) decision.Record { return refusal }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m := newMeter(b, otelflow.Config{Targets: bench.targets})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ctx := context.Background()
				var span trace.Span
				if bench.span {
					ctx, span = tracer.Start(ctx, "request")
				}
				if bench.record != nil {
					if err := m.Record(ctx, bench.record(i)); err != nil {
						b.Fatal(err)
					}
				}
				if bench.span {
					span.End()
				}
			}
		})
	}
}
