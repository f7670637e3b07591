package otelflow_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// gated is a server with one tool behind a gate, in an HTTP server that starts a span for
// each request.
type gated struct {
	*meter
	url   string
	spans *tracetest.InMemoryExporter
	runs  int // of the tool
}

func newGated(t *testing.T, mode middleware.Mode, traced bool) *gated {
	t.Helper()
	g := &gated{meter: newMeter(t, otelflow.Config{Targets: 10}), spans: tracetest.NewInMemoryExporter()}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(g.spans)).Tracer("test")
	var options []server.ServerOption
	if traced {
		options = append(options, server.WithTracer(bridge{tracer}))
	}
	s := server.NewMCPServer("records", "1", options...)
	err := middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			g.runs++
			return mcp.NewToolResultText("done"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(chan struct{}, 1)
	sink := decision.SinkFunc(func(ctx context.Context, r decision.Record) error {
		defer func() { recorded <- struct{}{} }()
		return g.Record(ctx, r)
	})
	handler, err := middleware.Handler(s, middleware.Config{
		URI: "https://records.example/mcp", Mode: mode, Sinks: []decision.Sink{sink}, Logger: slog.New(slog.DiscardHandler),
	}, server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(r.Context(), "POST /mcp", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		handler.ServeHTTP(w, r.WithContext(ctx))
		<-recorded // a gate on a busy machine does not wait for a sink for ever, but this test does
	}))
	t.Cleanup(front.Close)
	g.url = front.URL
	return g
}

// call calls the tool with a label of one contributor, or none for "".
func (g *gated) call(t *testing.T, id, assurance string) string {
	t.Helper()
	meta := ""
	if assurance != "" {
		meta = fmt.Sprintf(`,"_meta":{%q:{"contributors":[{"assurance":%q}],"complete":true}}`, policydecl.LabelKey, assurance)
	}
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"export_records","arguments":{}` + meta + `}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decided returns the one span of the trace that shows a decision, and forgets the others.
func (g *gated) decided(t *testing.T) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, span := range g.spans.GetSpans() {
		if _, ok := attributes(span)[otelflow.KeyVerdict]; ok {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans of %d show a decision", len(found), len(g.spans.GetSpans()))
	}
	g.spans.Reset()
	return found[0]
}

// A server behind a gate, in both modes: what runs, what is counted, what the span shows.
func TestGate(t *testing.T) {
	for name, test := range map[string]struct {
		mode      middleware.Mode
		assurance string
		runs      bool
		span      map[attribute.Key]any
		series    string // of flowgate.decisions
	}{
		"accepted": {middleware.Enforce, "user", true, map[attribute.Key]any{otelflow.KeyVerdict: "accepted", otelflow.KeyMode: "enforce", otelflow.KeyLabel: "ok"},
			"label=ok mode=enforce name=tools/call verdict=accepted"},
		"stopped": {middleware.Enforce, "unverified", false, map[attribute.Key]any{otelflow.KeyVerdict: "refused", otelflow.KeyMode: "enforce",
			otelflow.KeyReason: "contributor", otelflow.KeyStopped: true, otelflow.KeyRejected: []string{"unverified"}, otelflow.KeyAcceptFrom: []string{"self", "user"}},
			"label=ok mode=enforce name=tools/call reason=contributor verdict=refused"},
		"reported": {middleware.DangerouslyReport, "unverified", true, map[attribute.Key]any{otelflow.KeyVerdict: "refused", otelflow.KeyMode: "report",
			otelflow.KeyReason: "contributor", otelflow.KeyWouldStop: true},
			"label=ok mode=report name=tools/call reason=contributor verdict=refused"},
		"without a label": {middleware.Enforce, "", false, map[attribute.Key]any{otelflow.KeyVerdict: "refused", otelflow.KeyReason: "label-absent",
			otelflow.KeyLabel: "absent", otelflow.KeyFlowOrigin: "unknown", otelflow.KeyStopped: true},
			"label=absent mode=enforce name=tools/call origin=unknown reason=label-absent verdict=refused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, test.mode, false)
			answer := g.call(t, `"r-7"`, test.assurance)
			if ran := g.runs == 1; ran != test.runs || strings.Contains(answer, "flowPolicyViolation") == test.runs {
				t.Fatalf("the tool has run %d times, and the answer is %s", g.runs, answer)
			}
			span := g.decided(t)
			got := attributes(span)
			test.span["mcp.method.name"], test.span["gen_ai.tool.name"], test.span[otelflow.KeyRegistered] = "tools/call", "export_records", true
			test.span["jsonrpc.request.id"] = "r-7"
			for key, want := range test.span {
				if want := valueOf(t, want); got[key] != want {
					t.Errorf("%s is %s, want %s", key, got[key].String(), want.String())
				}
			}
			if took := got[otelflow.KeyTook].AsFloat64(); took <= 0 || took > 10 {
				t.Errorf("the gate took %v s", took)
			}
			if span.Name != "POST /mcp" || span.Status.Code != codes.Unset {
				t.Errorf("the span %q has the status %v", span.Name, span.Status)
			}
			if counts := g.counts(t, otelflow.MetricDecisions); len(counts) != 1 || counts[test.series] != 1 {
				t.Errorf("got %v, want %s", counts, test.series)
			}
			for series := range g.counts(t, otelflow.MetricTargets) {
				if !strings.Contains(series, "target=export_records") {
					t.Errorf("counted by target: %s", series)
				}
			}
			if times := g.times(t); len(times) != 1 {
				t.Errorf("got the times %v", times)
			}
		})
	}
}

// bridge is a tracer of mcp-go that makes spans of OpenTelemetry.
type bridge struct{ tracer trace.Tracer }

type bridgeSpan struct{ trace.Span }

func (b bridge) Start(ctx context.Context, name string, _ tracing.SpanKind, attrs ...tracing.Attribute) (context.Context, tracing.Span) {
	ctx, span := b.tracer.Start(ctx, name)
	mine := bridgeSpan{span}
	mine.SetAttributes(attrs...)
	return tracing.ContextWithSpan(ctx, mine), mine
}

func (s bridgeSpan) SetAttributes(attrs ...tracing.Attribute) {
	for _, a := range attrs {
		s.Span.SetAttributes(attribute.String(a.Key, a.Value))
	}
}

func (s bridgeSpan) RecordError(err error) { s.Span.RecordError(err) }

func (s bridgeSpan) SetStatus(code tracing.StatusCode, text string) {
	s.Span.SetStatus(map[tracing.StatusCode]codes.Code{tracing.StatusOK: codes.Ok, tracing.StatusError: codes.Error}[code], text)
}

func (s bridgeSpan) End() { s.Span.End() }

// Where mcp-go traces as well, a decision is on its span for the message, and what mcp-go
// writes stays as it is; the error status of a refusal is mcp-go's own.
func TestBesideTracerOfMCPGo(t *testing.T) {
	g := newGated(t, middleware.Enforce, true)
	g.call(t, "7", "unverified")
	spans := g.spans.GetSpans()
	decided := g.decided(t)
	var message tracetest.SpanStub
	for _, span := range spans {
		if span.Name == "mcp.tools/call" {
			message = span
		}
	}
	if message.Status.Code != codes.Error || attributes(message)["mcp.method"].AsString() != "tools/call" {
		t.Errorf("mcp-go's span has the status %v and %v", message.Status, message.Attributes)
	}
	if decided.SpanContext.SpanID() != message.SpanContext.SpanID() {
		t.Errorf("the decision is on the span %q", decided.Name)
	}
	for _, key := range []attribute.Key{"mcp.method.name", "jsonrpc.request.id", otelflow.KeyStopped} {
		if _, ok := attributes(decided)[key]; !ok {
			t.Errorf("the span %q has no %s", decided.Name, key)
		}
	}
}
