package conformance_test

import (
	"context"
	"fmt"
	"go/build"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/conformance"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// handler is the gated server of the test in the package documentation.
var handler = func() http.Handler {
	s := server.NewMCPServer("notes", "1")
	s.AddTool(mcp.NewTool("list_notes", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("notes"), nil
	})
	return middleware.MustHandler(s, middleware.Config{URI: "https://notes.example/mcp", Logger: slog.New(slog.DiscardHandler)})
}()

func TestConformance(t *testing.T) {
	s := httptest.NewServer(handler) // or a server that runs elsewhere
	defer s.Close()
	conformance.Test(t.Context(), t, conformance.Target{URL: s.URL}, conformance.Options{})
}

// A server of one's own is tested over HTTP, as its hosts reach it.
func ExampleRun() {
	s := server.NewMCPServer("notes", "1")
	err := middleware.AddTool(s, mcp.NewTool("export_notes", mcp.WithReadOnlyHintAnnotation(true)), policydecl.AcceptFrom("self", "user"),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("notes"), nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	gated := middleware.MustHandler(s, middleware.Config{URI: "https://notes.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	h := httptest.NewServer(gated)
	defer h.Close()

	report, err := conformance.Run(context.Background(), conformance.Target{URL: h.URL}, conformance.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("failed:", len(report.Failed()))
	for _, id := range []string{"L1", "X1", "5/resources"} {
		c := report.Find(id, conformance.EraStateless)
		fmt.Printf("%s: %s, %s\n", c.ID, c.Status, c.Title)
	}
	// Output:
	// failed: 0
	// L1: passed, no label, or none that is an object, is one unverified contributor
	// X1: passed, a refusal is an error with the id of the request
	// 5/resources: not-applicable, resources/read of a resource is gated
}

// The package itself stands on no MCP SDK: what it tests may be written with any other.
func TestImports(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil || len(pkg.Imports) < 10 {
		t.Fatalf("%v, imports %v", err, pkg.Imports)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, "mcp-go") || strings.Contains(path, "go-sdk") || strings.HasSuffix(path, "/middleware") {
			t.Errorf("it imports %s", path)
		}
	}
}
