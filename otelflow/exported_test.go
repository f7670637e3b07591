package otelflow_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// values are the values of each label of each metric that Prometheus would scrape.
type values map[string]map[string]map[string]bool

func (v values) add(metric, label, value string) {
	if v[metric] == nil {
		v[metric] = make(map[string]map[string]bool)
	}
	if v[metric][label] == nil {
		v[metric][label] = make(map[string]bool)
	}
	v[metric][label][value] = true
}

// oneOfEach are records that together show every metric and label, and every value of
// those that are a closed set.
func oneOfEach() (all []decision.Record) {
	quiet := decision.Record{
		Method: "tools/call", Target: "search_records", Registered: true, Verdict: decision.Accepted,
		Judged: true, Class: policydecl.ClassOK, Took: 12 * time.Microsecond, Suppressed: 1, Lost: 1,
	}
	all = append(all, quiet, refusal, with(func(r *decision.Record) { r.Reason = decision.ReasonMatcher }))
	for _, mode := range []policydecl.Mode{policydecl.Enforce, policydecl.DangerouslyReport} {
		for _, verdict := range []decision.Verdict{decision.Refused, decision.Invalid, decision.Fault} {
			all = append(all, with(func(r *decision.Record) { r.Mode, r.Verdict = mode, verdict }))
		}
	}
	for _, class := range []policydecl.Class{policydecl.ClassAbsent, policydecl.ClassMalformed, policydecl.ClassIncomplete} {
		for _, origin := range []string{"declared", "undeclared", "unknown"} {
			all = append(all, with(func(r *decision.Record) { r.Class, r.FlowOrigin = class, origin }))
		}
	}
	return append(all, decision.Record{Verdict: decision.Unjudged, Mode: policydecl.DangerouslyOff})
}

// exported records one of each and returns what the exporter then shows.
func exported(t *testing.T) values {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := promexporter.New(promexporter.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	sink, err := otelflow.New(otelflow.Config{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Targets: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range oneOfEach() {
		if err := sink.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(values)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			names := []string{family.GetName()}
			if metric.GetHistogram() != nil {
				names = []string{family.GetName() + "_bucket", family.GetName() + "_count", family.GetName() + "_sum"}
				all.add(names[0], "le", "+Inf")
			}
			for _, name := range names {
				all.add(name, "__name__", name)
				for _, pair := range metric.GetLabel() {
					all.add(name, pair.GetName(), pair.GetValue())
				}
			}
		}
	}
	return all
}
