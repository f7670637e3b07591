package otelflow_test

import (
	"context"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		record decision.Record
		want   string
	}{
		"zero": {decision.Record{}, "mode=enforce name=_other verdict=refused"},
		"refused": {refusal,
			"label=ok mode=enforce name=tools/call reason=contributor verdict=refused"},
		"would be refused": {with(func(r *decision.Record) { r.Mode = policydecl.DangerouslyReport }),
			"label=ok mode=report name=tools/call reason=contributor verdict=refused"},
		"no label": {with(func(r *decision.Record) { r.Class, r.Reason = policydecl.ClassAbsent, decision.ReasonAbsent }),
			"label=absent mode=enforce name=tools/call origin=declared reason=label-absent verdict=refused"},
		"malformed": {with(func(r *decision.Record) { r.Class, r.Reason = policydecl.ClassMalformed, decision.ReasonMalformed }),
			"label=malformed mode=enforce name=tools/call reason=label-malformed verdict=refused"},
		"accepted": {decision.Record{Method: "prompts/get", Verdict: decision.Accepted, Judged: true, Class: policydecl.ClassIncomplete},
			"label=incomplete mode=enforce name=prompts/get verdict=accepted"},
		"off": {decision.Record{Method: "resources/read", Verdict: decision.Unjudged, Mode: policydecl.DangerouslyOff},
			"mode=off name=resources/read verdict=unjudged"},
		"fault": {decision.Record{Method: "completion/complete", Verdict: decision.Fault, Reason: decision.ReasonSeams, FlowOrigin: "declared"},
			"mode=enforce name=completion/complete reason=seams verdict=fault"},
		"outside of every set": {
			decision.Record{Method: "x", Verdict: 99, Mode: 99, Reason: "x", Judged: true, Class: 99, FlowOrigin: "x"},
			"label=absent mode=enforce name=_other origin=_other reason=_other verdict=refused"},
	} {
		m := newMeter(t, otelflow.Config{})
		m.record(t, test.record)
		if got, want := m.counts(t, otelflow.MetricDecisions), map[string]int64{test.want: 1}; !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// A record stands for itself and for the alike ones; lost ones are of unknown kind. Together
// they are Record.Requests.
func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		suppressed, lost       uint64
		decisions, hidden, out int64
	}{
		"itself":     {0, 0, 1, 0, 0},
		"suppressed": {41, 0, 42, 41, 0},
		"lost":       {0, 5, 1, 0, 5},
		"both":       {2, 3, 3, 2, 3},
		"most":       {math.MaxUint64, math.MaxUint64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		"just fits":  {math.MaxInt64 - 1, 0, math.MaxInt64, math.MaxInt64 - 1, 0},
		"just not":   {math.MaxInt64, 0, math.MaxInt64, math.MaxInt64, 0},
	} {
		m := newMeter(t, otelflow.Config{Targets: 1})
		r := with(func(r *decision.Record) { r.Suppressed, r.Lost = test.suppressed, test.lost })
		m.record(t, r)
		for metric, want := range map[string]int64{
			otelflow.MetricDecisions: test.decisions, otelflow.MetricTargets: test.decisions,
			otelflow.MetricSuppressed: test.hidden, otelflow.MetricLost: test.out,
		} {
			counts := m.counts(t, metric)
			if want == 0 && metric == otelflow.MetricSuppressed {
				if len(counts) > 0 {
					t.Errorf("%s: %s holds %v", name, metric, counts)
				}
				continue
			}
			if len(counts) != 1 {
				t.Fatalf("%s: %s has %d series, want 1: %v", name, metric, len(counts), counts)
			}
			for attributes, got := range counts {
				if got != want {
					t.Errorf("%s: %s{%s} is %d, want %d", name, metric, attributes, got, want)
				}
			}
		}
		if r.Requests() < 100 && uint64(test.decisions+test.out) != r.Requests() {
			t.Errorf("%s: the record stands for %d requests", name, r.Requests())
		}
	}
}

// The loss counter is there before anything is lost, so that the first loss is a rise.
func TestLostStartsAtZero(t *testing.T) {
	m := newMeter(t, otelflow.Config{})
	if got, want := m.counts(t, otelflow.MetricLost), map[string]int64{"": 0}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDuration(t *testing.T) {
	m := newMeter(t, otelflow.Config{})
	for _, took := range []time.Duration{0, -time.Second, time.Nanosecond, time.Microsecond, 30 * time.Microsecond, 100 * time.Millisecond, time.Second} {
		m.record(t, with(func(r *decision.Record) { r.Took, r.Suppressed = took, 10 }))
	}
	times := m.times(t)
	point, ok := times["name=tools/call verdict=refused"]
	if len(times) != 1 || !ok {
		t.Fatalf("got %v", times)
	}
	if point.Count != 5 {
		t.Errorf("got %d values, want the 5 that were measured", point.Count)
	}
	if want := 1.100031001; math.Abs(point.Sum-want) > 1e-9 {
		t.Errorf("got %v s in all, want %v s", point.Sum, want)
	}
	first, last := point.Bounds[0], point.Bounds[len(point.Bounds)-1]
	if first != 1e-6 || last != 0.1 {
		t.Errorf("the boundaries go from %v to %v", first, last)
	}
	for i := 1; i < len(point.Bounds); i++ {
		if point.Bounds[i] <= point.Bounds[i-1] || point.Bounds[i] > 2.51*point.Bounds[i-1] {
			t.Errorf("boundary %v follows %v", point.Bounds[i], point.Bounds[i-1])
		}
	}
	n := len(point.BucketCounts)
	if point.BucketCounts[0] != 2 || point.BucketCounts[n-2] != 1 || point.BucketCounts[n-1] != 1 {
		t.Errorf("got the buckets %v", point.BucketCounts)
	}
}

func TestUnits(t *testing.T) {
	m := newMeter(t, otelflow.Config{Targets: 1})
	m.record(t, with(func(r *decision.Record) { r.Took, r.Suppressed, r.Lost = 1, 1, 1 }))
	want := map[string]string{
		otelflow.MetricDecisions: "{request}", otelflow.MetricTargets: "{request}", otelflow.MetricSuppressed: "{request}",
		otelflow.MetricLost: "{request}", otelflow.MetricDuration: "s",
	}
	metrics := m.metrics(t)
	for name, unit := range want {
		if metrics[name].Unit != unit || metrics[name].Description == "" {
			t.Errorf("%s: unit %q, description %q", name, metrics[name].Unit, metrics[name].Description)
		}
	}
	if len(metrics) != len(want) {
		t.Errorf("got %v", sortedKeys(metrics))
	}
}

// A sink has to do with any context, and must not wait for one that has ended.
func TestContexts(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var none context.Context
	for name, ctx := range map[string]context.Context{"nil": none, "ended": ended} {
		m := newMeter(t, otelflow.Config{})
		if err := m.Record(ctx, refusal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(m.counts(t, otelflow.MetricDecisions)); got != 1 {
			t.Errorf("%s: got %d series, want 1", name, got)
		}
	}
}
