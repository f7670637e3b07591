package mcpgo_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// turn holds the Go code of the package documentation, which a test in the root of the
// repository looks up here.
func turn(ctx context.Context, h *host.Host, inner transport.Interface, request mcp.CallToolRequest) (string, error) {
	records, conn, err := mcpgo.Connect(ctx, h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
		inner, mcp.Implementation{Name: "agent", Version: "1.0.0"})
	if err != nil {
		return "", err
	}
	defer records.Close()
	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{conn}})
	result, err := records.CallTool(host.WithPartition(ctx, turn), request)
	if mcpgo.IsRefusal(err) {
		return err.Error(), nil // all that the model may be told
	}
	if err != nil {
		return "", err
	}
	return mcp.GetTextFromContent(result.Content[0]), nil
}

// One server, two tools: the model may export what is the server's own and the user's, and not
// call what only the host itself may.
func Example() {
	run := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("id,name"), nil
	}
	s := server.NewMCPServer("records", "1.0.0")
	middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), run)
	middleware.AddTool(s, mcp.NewTool("debug_dump"), policydecl.AcceptFrom("host"), run)
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(host.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"export_records", "debug_dump"} {
		text, err := turn(context.Background(), h, gate.InProcess(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool}})
		fmt.Println(text, err)
	}
	// Output:
	// id,name <nil>
	// The call was not permitted. <nil>
}

// An application that starts its clients itself wraps the transport and initialises the client.
func ExampleNewClient() {
	s := server.NewMCPServer("records", "1.0.0")
	middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("id,name"), nil
	})
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(host.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := h.Connect(host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := mcpgo.NewClient(gate.InProcess(), conn)
	defer c.Close()
	ctx := context.Background()
	if err := c.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		fmt.Println(err)
		return
	}
	// Without a partition nobody knows what the request was built from.
	_, err = c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "export_records"}})
	fmt.Println(err, mcpgo.IsRefusal(err))
	// Output:
	// The call was not permitted. true
}
