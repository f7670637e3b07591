package otelflow_test

import (
	"errors"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/otelflow"
)

func TestNewMistakes(t *testing.T) {
	some := noop.NewMeterProvider()
	for name, test := range map[string]struct {
		config otelflow.Config
		want   map[string]flowerrors.Reason
	}{
		"zero":             {otelflow.Config{}, map[string]flowerrors.Reason{"meterProvider": flowerrors.ReasonMissing}},
		"nil pointer":      {otelflow.Config{MeterProvider: (*sdkmetric.MeterProvider)(nil)}, map[string]flowerrors.Reason{"meterProvider": flowerrors.ReasonMissing}},
		"negative":         {otelflow.Config{MeterProvider: some, Targets: -1}, map[string]flowerrors.Reason{"targets": flowerrors.ReasonType}},
		"too many targets": {otelflow.Config{MeterProvider: some, Targets: otelflow.MaxTargets + 1}, map[string]flowerrors.Reason{"targets": flowerrors.ReasonLimit}},
		"no MCP span":      {otelflow.Config{MeterProvider: some, NoSpan: true, MCPSpan: true}, map[string]flowerrors.Reason{"mcpSpan": flowerrors.ReasonConflict}},
		"all at once": {otelflow.Config{Targets: -1, NoSpan: true, MCPSpan: true}, map[string]flowerrors.Reason{
			"meterProvider": flowerrors.ReasonMissing, "targets": flowerrors.ReasonType, "mcpSpan": flowerrors.ReasonConflict}},
		"nothing wrong": {otelflow.Config{MeterProvider: some, Targets: otelflow.MaxTargets, MCPSpan: true}, map[string]flowerrors.Reason{}},
		"no spans":      {otelflow.Config{MeterProvider: some, NoSpan: true}, map[string]flowerrors.Reason{}},
	} {
		sink, err := otelflow.New(test.config)
		if (err == nil) != (len(test.want) == 0) || (sink == nil) != (err != nil) {
			t.Errorf("%s: sink %v, error %v", name, sink, err)
		}
		got := make(map[string]flowerrors.Reason)
		for e := range flowerrors.All(err) {
			got[e.Path] = e.Reason
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

var errCounter, errHistogram = errors.New("no counter"), errors.New("no histogram")

// broken provides meters that make no instruments.
type broken struct{ noop.MeterProvider }

type brokenMeter struct{ noop.Meter }

func (broken) Meter(string, ...metric.MeterOption) metric.Meter { return brokenMeter{} }

func (brokenMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errCounter
}

func (brokenMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errHistogram
}

func TestNewBrokenProvider(t *testing.T) {
	sink, err := otelflow.New(otelflow.Config{MeterProvider: broken{}, Targets: 1})
	if sink != nil || !errors.Is(err, errCounter) || !errors.Is(err, errHistogram) {
		t.Errorf("got the sink %v and the error %v", sink, err)
	}
}

// A Config is written with the names of its fields and not compared, so that it can grow.
func TestConfigCanGrow(t *testing.T) {
	config := reflect.TypeFor[otelflow.Config]()
	if config.Comparable() {
		t.Error("Config is comparable")
	}
	if config.Field(0).Name != "_" {
		t.Error("Config can be written without the names of its fields")
	}
}
