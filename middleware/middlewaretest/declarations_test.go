package middlewaretest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/middleware/middlewaretest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// recorder is a test that only takes notes.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func nothing(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(""), nil
}

func gate(t *testing.T, s *server.MCPServer, mode middleware.Mode) *middleware.Gate {
	t.Helper()
	g, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp", Mode: mode, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A server of three pages, with declarations of every kind.
func fill(t *testing.T) *server.MCPServer {
	s := server.NewMCPServer("x", "1", server.WithPaginationLimit(2))
	policy := policydecl.AcceptFrom("self", "user")
	for _, err := range []error{
		middleware.AddTool(s, mcp.NewTool("a", mcp.WithString("x", mcp.Required())), policy, nothing),
		middleware.AddResource(s, mcp.NewResource("x://r", "r"), policy, noResource),
		middleware.AddResourceTemplate(s, mcp.NewResourceTemplate("x://r/{id}", "t"), policy, noResource),
		middleware.AddPrompt(s, mcp.NewPrompt("p"), policy, noPrompt),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		s.AddTool(mcp.NewTool(fmt.Sprint("plain", i)), nothing)
	}
	return s
}

func noResource(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return nil, nil
}

func noPrompt(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil }

func TestValidateDeclarations(t *testing.T) {
	middlewaretest.ValidateDeclarations(t.Context(), t, gate(t, fill(t), middleware.Enforce))
}

// Every kind of mistake reaches the test, also one on a later page, registered past the
// helpers.
func TestValidateDeclarationsFinds(t *testing.T) {
	raw := func(name, schema string) func(*server.MCPServer) {
		return func(s *server.MCPServer) {
			s.AddTool(mcp.NewToolWithRawSchema(name, "", json.RawMessage(schema)), nothing)
		}
	}
	for name, row := range map[string]struct {
		change func(*server.MCPServer)
		want   []string
	}{
		"a schema": {raw("zz", `{"type":"object","properties":{"x":{"type":"strng"}}}`), []string{"/inputSchema/properties/x/type"}},
		"two faults": {raw("zz", `{"type":"array","properties":{"x":{"$ref":"https://evil.example/\u001b"}}}`),
			[]string{"/inputSchema/type", "/inputSchema/properties/x/$ref"}},
		"a prompt":   {func(s *server.MCPServer) { s.AddPrompt(mcp.NewPrompt("q", mcp.WithArgument("")), noPrompt) }, []string{"/arguments/0/name"}},
		"a resource": {func(s *server.MCPServer) { s.AddResource(mcp.NewResource("no-scheme", "r"), noResource) }, []string{"/uri"}},
		"a template": {func(s *server.MCPServer) { s.AddResourceTemplate(mcp.NewResourceTemplate("x://z{id}", ""), noResource) }, []string{"/name"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fill(t)
			row.change(s)
			r := &recorder{TB: t}
			middlewaretest.ValidateDeclarations(t.Context(), r, gate(t, s, middleware.Enforce))
			if len(r.errors) != len(row.want) {
				t.Fatalf("%d errors: %q", len(r.errors), r.errors)
			}
			for i, part := range row.want {
				if !strings.Contains(r.errors[i], part) || strings.ContainsAny(r.errors[i], "\x1b\n") {
					t.Errorf("%q does not say %s on one plain line", r.errors[i], part)
				}
			}
		})
	}
}

// The context reaches the server's filters, which can hide a mistake or show it.
func TestValidateDeclarationsAs(t *testing.T) {
	type seesAll struct{}
	s := fill(t)
	server.WithToolFilter(func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if ctx.Value(seesAll{}) != nil {
			return tools
		}
		return tools[:0]
	})(s)
	s.AddTool(mcp.NewToolWithRawSchema("zz", "", json.RawMessage(`{"type":"array"}`)), nothing)
	g := gate(t, s, middleware.Enforce)
	for ctx, want := range map[context.Context]int{
		t.Context(): 0,
		context.WithValue(t.Context(), seesAll{}, true): 1,
	} {
		r := &recorder{TB: t}
		middlewaretest.ValidateDeclarations(ctx, r, g)
		if len(r.errors) != want {
			t.Errorf("%d errors: %q", want, r.errors)
		}
	}
}

// A test that has looked at nothing has not passed.
func TestValidateDeclarationsOfNothing(t *testing.T) {
	for name, g := range map[string]*middleware.Gate{
		"an empty server":    gate(t, server.NewMCPServer("x", "1", server.WithToolCapabilities(true)), middleware.Enforce),
		"a gate that is off": gate(t, fill(t), middleware.DangerouslyOff),
		"the zero gate":      {},
	} {
		r := &recorder{TB: t}
		middlewaretest.ValidateDeclarations(t.Context(), r, g)
		if len(r.errors) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}
