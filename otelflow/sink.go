package otelflow

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-mcp/flowgate/decision"
)

type sink struct {
	meters  *meters
	spans   bool
	mcpSpan bool
}

// Record implements [decision.Sink]. The error is always nil.
func (s *sink) Record(ctx context.Context, r decision.Record) error {
	if ctx == nil {
		ctx = context.Background()
	}
	s.meters.record(ctx, &r)
	if !s.spans {
		return nil
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(s.attributes(&r)...)
	}
	return nil
}
