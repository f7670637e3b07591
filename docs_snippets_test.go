package flowgate_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/decision/decisiontest"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The functions below hold the Go snippets of docs/*.md, which TestDocsGo looks up here.

func export(ctx context.Context, log *slog.Logger, inner transport.Interface) (string, error) {
	// One host for the application. Record is told of every request that could carry
	// content, with what became of it.
	h, err := host.New(host.Config{Record: func(ctx context.Context, r host.Record) { log.InfoContext(ctx, "flow", "request", r) }})
	if err != nil {
		return "", err
	}
	// One connection for each server, with what you know of it: Verified means that you have
	// verified who it is, TOFU that it was accepted on first use; the default is Unverified.
	known := host.Server{URI: "https://mcp.records.example/mcp", Assurance: policydecl.Verified}
	records, conn, err := mcpgo.Connect(ctx, h, known, inner, mcp.Implementation{Name: "agent", Version: "1.0.0"})
	if err != nil {
		return "", err
	}
	defer records.Close()

	// One partition for each context of a model. From is what is in it at the start, Shown whose
	// tools the model sees.
	turn := h.Open(host.Turn{Name: "turn 1", From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{conn}})
	ctx = host.WithPartition(ctx, turn)

	// Call as before, with that context: the label, the check and the count of what comes
	// back are done. Without a partition the origin is unknown, and strict policies refuse.
	result, err := records.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: "export_records", Arguments: map[string]any{"table": "products"},
	}})
	switch {
	case mcpgo.IsRefusal(err):
		return err.Error(), nil // the one sentence that a model may be told
	case err != nil:
		return "", err // may be the server's words: content like any other
	}
	return mcp.GetTextFromContent(result.Content[0]), nil
}

func nextTurn(h *host.Host, turn *host.Partition, conn *host.Connection) *host.Partition {
	memory := turn.Sources() // of the summary that the model has made of this turn
	later := h.Open(host.Turn{Name: "turn 2", From: []host.Sources{host.UserInput(), memory}, Shown: []*host.Connection{conn}})
	return later
}

// TestDocsHost runs the guide's first turn against a real server.
func TestDocsHost(t *testing.T) {
	_ = nextTurn // compiled, not run
	program := programs.Build(t, "", "./examples/records-server")
	var log strings.Builder
	text, err := export(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), transport.NewStdio(program, nil, "-stdio"))
	if err != nil || !strings.Contains(text, "Seed drill manual") {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(log.String(), "request.outcome=answered") {
		t.Errorf("the record: %s", log.String())
	}
}

// The snippets of docs/operations.md.

func report(s *server.MCPServer, ownURI string) error {
	file, err := os.OpenFile("records.jsonl", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	gate, err := middleware.New(s, middleware.Config{
		URI:   ownURI,
		Mode:  middleware.DangerouslyReport,
		Sinks: []decision.Sink{decision.NewWriter(file)},
	})
	if err != nil {
		return err
	}
	return errors.Join(gate.Flush(context.Background()), file.Close())
}

func tighten(ctx context.Context, s *server.MCPServer, ownURI string, log *slog.Logger) error {
	o, err := overrides.Load("overrides.yaml")
	if err != nil {
		return err
	}
	gate, err := middleware.New(s, middleware.Config{URI: ownURI, Overrides: o, Logger: log})
	if err != nil {
		return err
	}
	go overrides.Watch(ctx, "overrides.yaml", gate, overrides.WatchConfig{Logger: log})
	return nil
}

// TestDocsOperations runs the operators' snippets.
func TestDocsOperations(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := report(server.NewMCPServer("records", "1"), "https://records.example/mcp"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile("overrides.yaml", []byte("flowgate: 1\ndefault: {acceptFrom: [user]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tighten(t.Context(), server.NewMCPServer("records", "1"), "https://records.example/mcp", slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	newAuditSink := func(t *testing.T) decision.Sink { return decision.NewWriter(io.Discard) }
	decisiontest.Run(t, func(t *testing.T) (decision.Sink, decisiontest.Stored) { return newAuditSink(t), nil })
}
