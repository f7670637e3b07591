package flowgate_test

import (
	"context"
	"log/slog"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// hostAuthor holds the Go snippets of docs/hosts.md, which TestDocsGo looks up here.
func hostAuthor(ctx context.Context, log *slog.Logger, transport transport.Interface, me mcp.Implementation) (*mcp.CallToolResult, error) {
	h, err := host.New(host.Config{Record: func(ctx context.Context, r host.Record) { log.InfoContext(ctx, "flow", "request", r) }})
	if err != nil {
		return nil, err
	}
	records, conn, err := mcpgo.Connect(ctx, h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified}, transport, me)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	_ = conn
	turn := h.Open(host.Turn{Name: "turn 1", From: []host.Sources{host.HostText(), host.UserInput()}})
	ctx = host.WithPartition(ctx, turn)
	result, err := records.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "export_records"}})
	memory := turn.Sources() // of the summary that the model has made of this turn
	later := h.Open(host.Turn{Name: "turn 2", From: []host.Sources{host.UserInput(), memory}})
	_ = later
	return result, err
}
