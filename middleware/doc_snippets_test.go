package middleware_test

import (
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var _ = snippets // compiled, not run: the examples run the same

// snippets holds the Go code of the package documentation, which a test in the root of the
// repository looks up here.
func snippets(s *server.MCPServer, tool mcp.Tool, handler server.ToolHandlerFunc, ownURI string) (*client.Client, error) {
	middleware.AddTool(s, tool, policydecl.AcceptFrom("self", "user"), handler)

	http.Handle("/mcp", middleware.MustHandler(s, middleware.Config{URI: ownURI})) // was server.NewStreamableHTTPServer(s)

	err := middleware.ServeStdio(s, middleware.Config{URI: ownURI}) // was server.ServeStdio(s)
	if err != nil {
		return nil, err
	}

	c, err := middleware.NewInProcessClient(s, middleware.Config{URI: ownURI}) // was client.NewInProcessClient(s)
	return c, err
}
