package otelflow

import (
	"context"
	"errors"
	"math"
	"sync"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/flowgate-mcp/flowgate/decision"
)

// The buckets of MetricDuration in seconds, from a microsecond to a tenth of a second. What
// the gate does by itself takes microseconds; matchers of the server can take much longer.
var boundaries = [...]float64{
	1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
	1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 1e-1,
}

// meters are the instruments with the attribute sets that have occurred. There are no more sets
// than their closed sets allow, times the number of targets.
type meters struct {
	decisions, byTarget, suppressed, lost metric.Int64Counter // byTarget is nil if nothing is counted so

	duration metric.Float64Histogram
	targets  *targets

	mu      sync.RWMutex
	series  map[combination]*series
	targetd map[targetKey][]metric.AddOption
}

// series are the options of all measurements but those by target that have the same attributes.
// They are slices so that a call with them allocates nothing.
type series struct {
	decisions, suppressed []metric.AddOption
	duration              []metric.RecordOption
}

// targetKey is one series of MetricTargets.
type targetKey struct {
	combination
	target string
}

// newMeters makes the instruments.
func newMeters(p metric.MeterProvider, maxTargets int) (*meters, error) {
	// The schema is that of the last release that has names for MCP.
	meter := p.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL))
	var errs []error
	counter := func(name, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit("{request}"), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	m := &meters{
		decisions:  counter(MetricDecisions, "Requests that the flow gate has decided about."),
		suppressed: counter(MetricSuppressed, "Requests without a record of their own, because sampling left it out."),
		lost:       counter(MetricLost, "Requests whose record was lost, because this sink was too slow."),
		series:     make(map[combination]*series),
	}
	if maxTargets > 0 {
		m.byTarget = counter(MetricTargets, "Requests that the flow gate has decided about, by what they asked for.")
		m.targets = newTargets(maxTargets)
		m.targetd = make(map[targetKey][]metric.AddOption)
	}
	var err error
	m.duration, err = meter.Float64Histogram(MetricDuration, metric.WithUnit("s"),
		metric.WithDescription("The flow gate's own time for a request until its decision."),
		metric.WithExplicitBucketBoundaries(boundaries[:]...))
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	m.lost.Add(context.Background(), 0)
	return m, nil
}

// record counts r.
func (m *meters) record(ctx context.Context, r *decision.Record) {
	c := combine(r)
	s := m.find(c)
	n := alike(r)
	m.decisions.Add(ctx, n, s.decisions...)
	if r.Suppressed > 0 {
		m.suppressed.Add(ctx, clamp(r.Suppressed), s.suppressed...)
	}
	if r.Lost > 0 {
		m.lost.Add(ctx, clamp(r.Lost))
	}
	if r.Took > 0 {
		m.duration.Record(ctx, r.Took.Seconds(), s.duration...)
	}
	if m.byTarget != nil {
		m.byTarget.Add(ctx, n, m.findTarget(targetKey{c.forTarget(), m.targets.name(r)})...)
	}
}

// find returns the options for c.
func (m *meters) find(c combination) *series {
	m.mu.RLock()
	s := m.series[c]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	s = &series{
		decisions:  []metric.AddOption{metric.WithAttributeSet(c.set())},
		suppressed: []metric.AddOption{metric.WithAttributeSet(c.verdictSet())},
		duration:   []metric.RecordOption{metric.WithAttributeSet(c.durationSet())},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series[c] = s
	return s
}

// findTarget returns the options for k.
func (m *meters) findTarget(k targetKey) []metric.AddOption {
	m.mu.RLock()
	o := m.targetd[k]
	m.mu.RUnlock()
	if o != nil {
		return o
	}
	o = []metric.AddOption{metric.WithAttributeSet(k.set(KeyTarget.String(k.target)))}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.targetd[k] = o
	return o
}

// alike is how many requests r stands for that are of its kind: all of Record.Requests
// but the lost ones.
func alike(r *decision.Record) int64 {
	if r.Suppressed >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(r.Suppressed) + 1
}

// clamp is n as a counter takes it.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
