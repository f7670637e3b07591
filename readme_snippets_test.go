package flowgate_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/middleware/middlewaretest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The functions below hold the Go snippets of README.md, which TestReadmeGo looks
// up here. They compile; those that would serve for ever are not called.

func before(s *server.MCPServer, router chi.Router) error {
	http.Handle("/mcp", server.NewStreamableHTTPServer(s))
	router.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	err := server.ServeStdio(s)
	if err != nil {
		return err
	}
	c, err := client.NewInProcessClient(s)
	_ = c
	return err
}

func after(s *server.MCPServer, router chi.Router) error {
	http.Handle("/mcp", middleware.MustHandler(s, middleware.Config{URI: "https://records.example/mcp"}))
	router.Handle("/mcp", middleware.MustHandler(s, middleware.Config{URI: "https://records.example/mcp"}, server.WithStateLess(true)))
	err := middleware.ServeStdio(s, middleware.Config{URI: "https://records.example/mcp"})
	if err != nil {
		return err
	}
	c, err := middleware.NewInProcessClient(s, middleware.Config{URI: "https://records.example/mcp"})
	_ = c
	return err
}

func severalTransports(s *server.MCPServer) error {
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp"})
	if err != nil {
		return err
	}
	handler, err := gate.Handler() // an http.Handler
	if err != nil {
		return err
	}
	go http.ListenAndServe("127.0.0.1:8080", handler)
	return gate.ServeStdio()
}

func declare(s *server.MCPServer) {
	userOrSelf := policydecl.AcceptFrom("self", "user")

	middleware.AddTool(s, mcp.NewTool("export_records"), userOrSelf, exportRecords)
	middleware.AddTaskTool(s, archiveTool, userOrSelf, archiveRecords)
	middleware.AddResource(s, mcp.NewResource("records://customers", "customers"), userOrSelf, readCustomers)
	middleware.AddResourceTemplate(s, mcp.NewResourceTemplate("records://customers/{id}", "customer"), userOrSelf, readCustomer)
	middleware.AddPrompt(s, mcp.NewPrompt("summarize_customer"), policydecl.AcceptFrom("user"), summarize)

	s.AddTool(mcp.NewTool("search_records"), searchRecords) // no policy of its own: the default
}

func governPrefix(s *server.MCPServer) error {
	err := middleware.Govern(s, policydecl.Prefix, "file:///secret/", policydecl.AcceptFrom("user"))
	return err
}

func checkDeclarations(t *testing.T, gate *middleware.Gate) {
	middlewaretest.ValidateDeclarations(t.Context(), t, gate)
}

var archiveTool = mcp.NewTool("archive", mcp.WithTaskSupport(mcp.TaskSupportRequired))

func exportRecords(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("records"), nil
}

func searchRecords(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("found"), nil
}

func archiveRecords(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
	return &mcp.CreateTaskResult{}, nil
}

func readCustomers(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return nil, nil
}

func readCustomer(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return nil, nil
}

func summarize(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

// TestReadmeDeclarations runs the snippet that declares policies: a gate accepts
// them.
func TestReadmeDeclarations(t *testing.T) {
	_, _, _ = before, after, severalTransports
	s := server.NewMCPServer("records", "1")
	declare(s)
	if err := governPrefix(s); err != nil {
		t.Fatal(err)
	}
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	checkDeclarations(t, gate)
}
