package otelflow_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/otelflow"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A gate whose decisions Prometheus can scrape.
func Example() {
	s := server.NewMCPServer("records", "1")
	if err := middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), export); err != nil {
		log.Fatal(err)
	}
	gate, metrics, err := observed(s)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := gate.Handler(server.WithStateLess(true))
	if err != nil {
		log.Fatal(err)
	}

	// A call without a label, and the scrape after it.
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_records"}}`
	call := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	call.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(httptest.NewRecorder(), call)
	if err := gate.Flush(context.Background()); err != nil {
		log.Fatal(err)
	}
	scrape := httptest.NewRecorder()
	metrics.ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for lines := bufio.NewScanner(scrape.Body); lines.Scan(); {
		if name, rest, _ := strings.Cut(lines.Text(), "{"); name == "flowgate_target_decisions_total" {
			labels, value, _ := strings.Cut(rest, "} ")
			for label := range strings.SplitSeq(labels, ",") {
				if !strings.HasPrefix(label, "otel_scope_") {
					fmt.Println(label)
				}
			}
			fmt.Println(value)
		}
	}
	// Output:
	// flowgate_mode="enforce"
	// flowgate_reason="label-absent"
	// flowgate_target="export_records"
	// flowgate_verdict="refused"
	// mcp_method_name="tools/call"
	// 1
}

func export(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("done"), nil
}

// observed is the snippet of the README.
func observed(s *server.MCPServer) (*middleware.Gate, http.Handler, error) {
	registry := promclient.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry))
	if err != nil {
		return nil, nil, err
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	sink, err := otelflow.New(otelflow.Config{MeterProvider: provider, Targets: 50})
	if err != nil {
		return nil, nil, err // every mistake in the Config
	}
	gate, err := middleware.New(s, middleware.Config{
		URI:   "https://records.example/mcp",
		Sinks: []decision.Sink{sink},
	})
	if err != nil {
		return nil, nil, err
	}
	return gate, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}
