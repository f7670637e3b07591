package middlewaretest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/middleware/middlewaretest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func export(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("done"), nil
}

// exportServer has one tool, with nothing to find fault with.
func exportServer() *server.MCPServer {
	s := server.NewMCPServer("records", "1.0.0")
	if err := middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), export); err != nil {
		panic(err)
	}
	return s
}

func gateOf(s *server.MCPServer) *middleware.Gate {
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	return gate
}

// One line in a test of one's own.
func TestDeclarations(t *testing.T) {
	gate := gateOf(exportServer())
	middlewaretest.ValidateDeclarations(t.Context(), t, gate)
}

// printer stands for the t of a test, and prints what that would fail with.
type printer struct{ testing.TB }

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// Of one tool the policy is right and the schema of its arguments is not; mcp-go's own method
// has registered it, so nobody has looked.
func ExampleValidateDeclarations() {
	s := exportServer()
	s.AddTool(mcp.NewToolWithRawSchema("search_records", "", []byte(`{"type":"object","properties":{"query":{"$ref":"https://schemas.example/query.json"}}}`)), export)
	t := printer{}
	middlewaretest.ValidateDeclarations(context.Background(), t, gateOf(s))
	// Output:
	// tools["search_records"]: /inputSchema/properties/query/$ref: unsupported: "https://schemas.example/query.json": it leads out of the declaration, and nothing is fetched; copy what it refers to into $defs [JSON Schema 2020-12]
}
