package otelflow

import (
	"errors"
	"reflect"
	"strconv"

	"go.opentelemetry.io/otel/metric"

	"github.com/flowgate-mcp/flowgate/decision"
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// MaxTargets is the largest [Config.Targets].
const MaxTargets = 1000

// Config says where decisions are counted. MeterProvider is required; the zero value of
// every other field is a safe choice.
type Config struct {
	// The blank field keeps Configs from being compared or written without field names.
	_ [0]func()

	// MeterProvider makes the instruments: yours, or otel.GetMeterProvider(), or
	// noop.NewMeterProvider() for spans alone. Nothing is taken from global state unless
	// it is written here.
	MeterProvider metric.MeterProvider

	// Targets is how many registered tools, resources and prompts get a series of their own in
	// [MetricTargets], in the order in which they are first asked for; the rest is [Other],
	// and what is not registered is [Unregistered]. 0, the default, means that
	// nothing is counted by target. It can be up to [MaxTargets].
	//
	// Each has a series for every method, verdict, mode and reason that occurs: one to
	// about fifteen. The SDK keeps 2000 for an instrument and puts what is over into a
	// single one, unless it is told otherwise (WithCardinalityLimit), so 100 is plenty.
	Targets int

	// NoSpan leaves spans alone.
	NoSpan bool

	// MCPSpan says that the active span stands for the MCP request and not for the HTTP
	// request that carried it, as where mcp-go traces (server.WithTracer). It then has error.type if the request was stopped; see the package's documentation.
	MCPSpan bool
}

// New returns a sink that counts records and writes them on spans. The error joins all
// mistakes: a [flowerrors.ConfigError] for each in c, and what the provider says if it
// cannot make an instrument. The sink is nil then.
//
// Several goroutines and several gates may use the sink. Its Record does not block, keeps
// nothing of a record but names of targets within [Config.Targets], and never returns an error.
func New(c Config) (decision.Sink, error) {
	var errs []error
	add := func(e flowerrors.ConfigError) { errs = append(errs, &e) }
	switch {
	case c.Targets < 0:
		add(flowerrors.ConfigError{Path: "targets", Value: strconv.Itoa(c.Targets), Reason: flowerrors.ReasonType,
			Detail: "a number of names cannot be negative"})
	case c.Targets > MaxTargets:
		add(flowerrors.ConfigError{Path: "targets", Value: strconv.Itoa(c.Targets), Reason: flowerrors.ReasonLimit,
			Detail: "more series than one instrument should have", Limit: MaxTargets})
	}
	if c.NoSpan && c.MCPSpan {
		add(flowerrors.ConfigError{Path: "mcpSpan", Reason: flowerrors.ReasonConflict,
			Detail: "spans are left alone", Hint: "set NoSpan or MCPSpan"})
	}
	if isNil(c.MeterProvider) {
		add(flowerrors.ConfigError{Path: "meterProvider", Reason: flowerrors.ReasonMissing,
			Detail: "there is nothing to count with", Hint: "use noop.NewMeterProvider() for spans alone"})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	m, err := newMeters(c.MeterProvider, c.Targets)
	if err != nil {
		return nil, err
	}
	return &sink{meters: m, spans: !c.NoSpan, mcpSpan: c.MCPSpan}, nil
}

// isNil reports whether there is no provider, also if a nil pointer was assigned.
func isNil(p metric.MeterProvider) bool {
	if p == nil {
		return true
	}
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
