package otelflow_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestSpanAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		config otelflow.Config
		record decision.Record
		want   map[attribute.Key]any
	}{
		"zero": {otelflow.Config{}, decision.Record{}, map[attribute.Key]any{
			"flowgate.verdict": "refused", "flowgate.mode": "enforce", "flowgate.stopped": true, "flowgate.rejected": []string{}}},
		"accepted": {otelflow.Config{MCPSpan: true}, decision.Record{
			Method: "resources/read", Target: "records://customers", Registered: true, Verdict: decision.Accepted,
			Judged: true, Class: policydecl.ClassOK, Took: 1500 * time.Nanosecond, Policy: "sha256:aa", AcceptFrom: []string{"self"}, RequestID: "7",
		}, map[attribute.Key]any{
			"mcp.method.name": "resources/read", "flowgate.target": "records://customers", "flowgate.target.registered": true,
			"flowgate.verdict": "accepted", "flowgate.mode": "enforce", "flowgate.label": "ok", "flowgate.took": 1.5e-6,
			"flowgate.policy": "sha256:aa", "jsonrpc.request.id": "7"}},
		"refused": {otelflow.Config{}, refusal, map[attribute.Key]any{
			"mcp.method.name": "tools/call", "gen_ai.tool.name": "export_records", "flowgate.target.registered": true,
			"mcp.protocol.version": "2025-11-25", "jsonrpc.request.id": "r-7",
			"flowgate.verdict": "refused", "flowgate.mode": "enforce", "flowgate.label": "ok", "flowgate.flow.origin": "declared",
			"flowgate.reason": "contributor", "flowgate.detail": "one of two", "flowgate.stopped": true,
			"flowgate.rejected": []string{"unverified https://fetch.example/mcp"}, "flowgate.accept_from": []string{"self", "user"},
			"flowgate.policy": "sha256:aa", "flowgate.settings": "sha256:bb", "flowgate.server": "https://records.example/mcp",
			"flowgate.session.hash": "5e55", "flowgate.client": "desk"}},
		"would be refused": {otelflow.Config{MCPSpan: true}, decision.Record{Method: "prompts/get", Target: "p", Mode: policydecl.DangerouslyReport, More: 3}, map[attribute.Key]any{
			"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "p", "flowgate.verdict": "refused", "flowgate.mode": "report",
			"flowgate.would_stop": true, "flowgate.rejected": []string{}, "flowgate.rejected.more": int64(3)}},
		"stopped on the span of MCP": {otelflow.Config{MCPSpan: true}, decision.Record{Verdict: decision.Invalid, Reason: decision.ReasonMeta}, map[attribute.Key]any{
			"flowgate.verdict": "invalid", "flowgate.mode": "enforce", "flowgate.reason": "bad-meta", "flowgate.stopped": true, "error.type": "flowgate.invalid"}},
		"unjudged": {otelflow.Config{MCPSpan: true}, decision.Record{Verdict: decision.Unjudged, Mode: policydecl.DangerouslyOff}, map[attribute.Key]any{
			"flowgate.verdict": "unjudged", "flowgate.mode": "off"}},
		"no spans": {otelflow.Config{NoSpan: true}, refusal, map[attribute.Key]any{}},
		// Neither is about this request.
		"suppressed and lost": {otelflow.Config{}, decision.Record{Verdict: decision.Accepted, Suppressed: 4, Lost: 5}, map[attribute.Key]any{
			"flowgate.verdict": "accepted", "flowgate.mode": "enforce"}},
	} {
		got, span := spanOf(t, test.config, test.record)
		for key, want := range test.want {
			if want := valueOf(t, want); got[key] != want {
				t.Errorf("%s: %s is %v, want %v", name, key, got[key].String(), want.String())
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: got %v", name, span.Attributes)
		}
		if span.Status.Code != codes.Unset || len(span.Events) != 0 || span.Name != "mcp.tools/call" {
			t.Errorf("%s: the span has status %v, %d events and the name %q", name, span.Status, len(span.Events), span.Name)
		}
	}
}

func valueOf(tb testing.TB, v any) attribute.Value {
	tb.Helper()
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case []string:
		return attribute.StringSliceValue(v)
	}
	tb.Fatalf("no attribute holds a %T", v)
	return attribute.Value{}
}

func TestRequestID(t *testing.T) {
	for id, want := range map[string]string{
		"": "", "null": "", "7": "7", "-1.5e3": "-1.5e3", `"10"`: "10", `"a b"`: "a b", `"null"`: "null", `""`: "",
		`"a\u000a\"b"`: `a\n"b`, `"cut`: `"cut`, "{": "{", "\x00": `\x00`,
	} {
		got, _ := spanOf(t, otelflow.Config{}, with(func(r *decision.Record) { r.RequestID = id }))
		if value, ok := got["jsonrpc.request.id"]; ok != (want != "") || ok && value.AsString() != want {
			t.Errorf("%q: got %q, want %q", id, value.AsString(), want)
		}
	}
}

// The last decision on a span is what it shows, but none that objects is forgotten.
func TestSeveralDecisions(t *testing.T) {
	report := with(func(r *decision.Record) { r.Mode = policydecl.DangerouslyReport })
	accepted := decision.Record{Method: "tools/call", Verdict: decision.Accepted}
	got, _ := spanOf(t, otelflow.Config{}, refusal, report, accepted)
	if v := got[otelflow.KeyVerdict].AsString(); v != "accepted" {
		t.Errorf("the verdict is %q", v)
	}
	if !got[otelflow.KeyStopped].AsBool() || !got[otelflow.KeyWouldStop].AsBool() {
		t.Errorf("an objection is gone: %v", got)
	}
}

// Whatever a record holds, a span gets printable ASCII of bounded length, and not much of it (M3).
func TestSpanTextsAreBounded(t *testing.T) {
	for _, s := range []string{"\x1b[31m\u202e\r\n\x00\xff", strings.Repeat("a", 1<<20), strings.Repeat("\U0001f600", 1<<16), "\u2028" + strings.Repeat("\n", 1<<18)} {
		many := make([]decision.Contributor, 1000)
		for i := range many {
			many[i] = decision.Contributor{Assurance: s, Principal: s, Unusable: s}
		}
		tokens := make([]string, 5000)
		for i := range tokens {
			tokens[i] = s
		}
		for _, method := range []string{"tools/call", "prompts/get", "resources/read", s} {
			got, _ := spanOf(t, otelflow.Config{}, decision.Record{
				Server: s, Method: method, Target: s, Reason: decision.Reason(s), Detail: s, FlowOrigin: s, Rejected: many, More: math.MaxInt,
				AcceptFrom: tokens, Policy: s, Settings: s, RequestID: s, Session: s, Protocol: s, Client: s,
			})
			if len(got) < 15 {
				t.Fatalf("only %d attributes", len(got))
			}
			size := 0
			for key, value := range got {
				list := value.AsStringSlice()
				if value.Type() == attribute.STRING {
					list = []string{value.AsString()}
				}
				for _, text := range list {
					size += len(text)
					if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' }); i >= 0 {
						t.Errorf("%s holds %q", key, text[i:min(len(text), i+8)])
					}
				}
			}
			if got["flowgate.rejected.more"].AsInt64() != math.MaxInt64 {
				t.Errorf("rejected.more is %v", got["flowgate.rejected.more"].String())
			}
			if size > 128<<10 {
				t.Errorf("the span holds %d bytes", size)
			}
		}
	}
}

// What is no recording span is left alone, and the request is counted all the same.
func TestNoRecordingSpan(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	all := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	none := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithSyncer(exporter))
	over, span := all.Tracer("test").Start(context.Background(), "over")
	span.End()
	unsampled, _ := none.Tracer("test").Start(context.Background(), "unsampled")
	remote := trace.ContextWithRemoteSpanContext(context.Background(), span.SpanContext())
	for name, ctx := range map[string]context.Context{"over": over, "unsampled": unsampled, "remote": remote, "none": context.Background()} {
		m := newMeter(t, otelflow.Config{})
		if err := m.Record(ctx, refusal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := len(m.counts(t, otelflow.MetricDecisions)); got != 1 {
			t.Errorf("%s: got %d series, want 1", name, got)
		}
	}
	for _, span := range exporter.GetSpans() {
		if len(span.Attributes) > 0 {
			t.Errorf("the span %s has attributes", span.Name)
		}
	}
}

// The sink keeps no memory of a record that a producer goes on using.
func TestSpanKeepsNothing(t *testing.T) {
	r := with(func(r *decision.Record) {
		r.Rejected = []decision.Contributor{{Assurance: "tofu"}}
		r.AcceptFrom = []string{"self"}
	})
	exporter := tracetest.NewInMemoryExporter()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test").Start(context.Background(), "s")
	if err := newMeter(t, otelflow.Config{}).Record(ctx, r); err != nil {
		t.Fatal(err)
	}
	r.Rejected[0].Assurance, r.AcceptFrom[0] = "host", "user"
	span.End()
	got := attributes(exporter.GetSpans()[0])
	if v := got[otelflow.KeyAcceptFrom].AsStringSlice()[0]; v != "self" {
		t.Errorf("the policy became %q", v)
	}
	if v := got[otelflow.KeyRejected].AsStringSlice()[0]; v != "tofu" {
		t.Errorf("the contributor became %q", v)
	}
}
