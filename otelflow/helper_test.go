package otelflow_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// refusal is a record of a request that was stopped.
var refusal = decision.Record{
	Server: "https://records.example/mcp", Method: "tools/call", Target: "export_records", Registered: true,
	Verdict: decision.Refused, Mode: policydecl.Enforce, Reason: decision.ReasonContributor,
	Judged: true, Class: policydecl.ClassOK, FlowOrigin: "declared",
	Rejected:   []decision.Contributor{{Assurance: "unverified", Principal: "https://fetch.example/mcp"}},
	AcceptFrom: []string{"self", "user"}, Policy: "sha256:aa", Settings: "sha256:bb",
	RequestID: `"r-7"`, Session: "5e55", Protocol: "2025-11-25", Client: "desk", Detail: "one of two",
}

// with returns refusal with changes.
func with(change func(*decision.Record)) decision.Record {
	r := refusal
	change(&r)
	return r
}

// meter is a sink whose metrics can be read.
type meter struct {
	decision.Sink
	reader *sdkmetric.ManualReader
}

func newMeter(tb testing.TB, c otelflow.Config, opts ...sdkmetric.Option) *meter {
	tb.Helper()
	reader := sdkmetric.NewManualReader()
	c.MeterProvider = sdkmetric.NewMeterProvider(append(opts, sdkmetric.WithReader(reader))...)
	sink, err := otelflow.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return &meter{sink, reader}
}

// record hands the records over.
func (m *meter) record(tb testing.TB, rs ...decision.Record) {
	tb.Helper()
	for _, r := range rs {
		if err := m.Record(context.Background(), r); err != nil {
			tb.Fatal(err)
		}
	}
}

// metrics returns what the instruments of the scope hold, by name.
func (m *meter) metrics(tb testing.TB) map[string]metricdata.Metrics {
	tb.Helper()
	var data metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &data); err != nil {
		tb.Fatal(err)
	}
	all := make(map[string]metricdata.Metrics)
	for _, scope := range data.ScopeMetrics {
		if scope.Scope.Name != otelflow.Scope {
			tb.Errorf("metrics in the scope %q", scope.Scope.Name)
		}
		for _, metric := range scope.Metrics {
			all[metric.Name] = metric
		}
	}
	return all
}

// counts returns the series of a counter, by their attributes.
func (m *meter) counts(tb testing.TB, name string) map[string]int64 {
	tb.Helper()
	counts := make(map[string]int64)
	sum, ok := m.metrics(tb)[name].Data.(metricdata.Sum[int64])
	if !ok {
		return counts
	}
	if !sum.IsMonotonic {
		tb.Errorf("%s can go down", name)
	}
	for _, point := range sum.DataPoints {
		counts[plain(point.Attributes.ToSlice())] = point.Value
	}
	return counts
}

// times returns the series of the histogram, by their attributes.
func (m *meter) times(tb testing.TB) map[string]metricdata.HistogramDataPoint[float64] {
	tb.Helper()
	times := make(map[string]metricdata.HistogramDataPoint[float64])
	data, _ := m.metrics(tb)[otelflow.MetricDuration].Data.(metricdata.Histogram[float64])
	for _, point := range data.DataPoints {
		times[plain(point.Attributes.ToSlice())] = point
	}
	return times
}

// plain is a set of attributes as text: sorted, and without the part of a name before its last dot.
func plain(kvs []attribute.KeyValue) string {
	parts := make([]string, 0, len(kvs))
	for _, kv := range kvs {
		name := string(kv.Key)
		parts = append(parts, name[strings.LastIndexByte(name, '.')+1:]+"="+kv.Value.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// spanOf hands over the records with one span active and returns that span's attributes.
func spanOf(tb testing.TB, c otelflow.Config, rs ...decision.Record) (map[attribute.Key]attribute.Value, tracetest.SpanStub) {
	tb.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	m := newMeter(tb, c)
	ctx, span := provider.Tracer("test").Start(context.Background(), "mcp.tools/call")
	for _, r := range rs {
		if err := m.Record(ctx, r); err != nil {
			tb.Fatal(err)
		}
	}
	span.End()
	spans := exporter.GetSpans()
	if len(spans) != 1 {
		tb.Fatalf("got %d spans, want the one that was there", len(spans))
	}
	return attributes(spans[0]), spans[0]
}

func attributes(span tracetest.SpanStub) map[attribute.Key]attribute.Value {
	m := make(map[attribute.Key]attribute.Value, len(span.Attributes))
	for _, kv := range span.Attributes {
		m[kv.Key] = kv.Value
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
