package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// exportServer is a server with one tool that accepts what comes from itself and the user.
func exportServer() *server.MCPServer {
	s := server.NewMCPServer("records", "1.0.0")
	if err := middleware.AddTool(s, mcp.NewTool("export"), policydecl.AcceptFrom("self", "user"), export); err != nil {
		panic(err)
	}
	return s
}

// callExport calls the tool without a label and says whether it ran.
func callExport(g *middleware.Gate) {
	t := g.InProcess()
	if err := t.Start(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	answer, err := t.SendRequest(context.Background(), transport.JSONRPCRequest{
		JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "tools/call", Params: map[string]any{"name": "export"},
	})
	switch {
	case err != nil:
		fmt.Println(err)
	case answer.Error != nil:
		fmt.Println(answer.Error.Message)
	default:
		fmt.Println("it ran")
	}
}

// A server that only reports runs everything, and its records say what would have been
// refused.
func ExampleConfig_report() {
	quiet := slog.New(slog.DiscardHandler)
	records := decision.SinkFunc(func(_ context.Context, r decision.Record) error {
		fmt.Println(r.Target, r.Verdict, r.Mode, r.Reason)
		return nil
	})
	gate, err := middleware.New(exportServer(), middleware.Config{
		URI: "https://records.example/mcp", Mode: middleware.DangerouslyReport, Sinks: []decision.Sink{records}, Logger: quiet,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	callExport(gate)
	// Output:
	// export refused report label-absent
	// it ran
}

// Decisions go to a file as JSON lines. Flush waits for them at the end.
func ExampleGate_Flush() {
	file, err := os.CreateTemp("", "records-*.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	gate, err := middleware.New(exportServer(), middleware.Config{
		URI: "https://records.example/mcp", Sinks: []decision.Sink{decision.NewWriter(file)}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	callExport(gate)
	if err := errors.Join(gate.Flush(context.Background()), file.Close()); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(file.Name())
	r, err := decision.Parse(text)
	fmt.Println(r.Message(), err)
	// Output:
	// Request rejected by flow policy
	// request refused by flow policy <nil>
}

// Overrides tighten a server while it serves. What would loosen it is a mistake, and
// changes nothing.
func ExampleGate_Apply() {
	gate, err := middleware.New(exportServer(), middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	narrower := overrides.Target{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("user")}
	fmt.Println(gate.Apply(overrides.Overrides{Targets: []overrides.Target{narrower}}))

	wider := overrides.Target{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("unverified")}
	err = gate.Apply(overrides.Overrides{Targets: []overrides.Target{wider}})
	for mistake := range flowerrors.All(err) {
		fmt.Println(mistake.Path, mistake.Reason)
	}
	fmt.Println(gate.Overrides().Targets[0].Policy.Tokens())
	// Output:
	// <nil>
	// tools["export"].acceptFrom[0] loosens
	// [user]
}

// A policy for what somebody else has registered, and for a part of a template's space.
func ExampleGovern() {
	s := server.NewMCPServer("files", "1.0.0")
	fmt.Println(middleware.Govern(s, policydecl.Prefix, "file:///secret/", policydecl.AcceptFrom("user")))
	fmt.Println(middleware.Govern(s, policydecl.Tool, "purge", policydecl.AcceptFrom()))
	// Output:
	// <nil>
	// <nil>
}
