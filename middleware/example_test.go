package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func export(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("id,name"), nil
}

// A server becomes gated where it is served. The policy stands beside the tool.
func ExampleMustHandler() {
	s := server.NewMCPServer("records", "1.0.0")
	middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), export)
	h := middleware.MustHandler(s, middleware.Config{
		URI:    "https://records.example/mcp",
		Logger: slog.New(slog.DiscardHandler),
	}, server.WithStateLess(true))

	post := func(label string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_records","_meta":{"io.modelcontextprotocol/flowOrigin":`+label+`}}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Result().Body)
		fmt.Print(string(body))
	}
	post(`{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`)
	post(`{"contributors":[{"principal":"https://fetch.example/mcp","assurance":"unverified"}],"complete":true}`)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"id,name"}]}}
	// {"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified","principal":"https://fetch.example/mcp"}],"acceptFrom":["self","user"]}}}}
}

// The transport of the in-process client keeps the data of a refusal, which
// mcp-go's typed client drops.
func ExampleGate_InProcess() {
	s := server.NewMCPServer("records", "1.0.0")
	middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "user"), export)
	gate, err := middleware.New(s, middleware.Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := gate.InProcess()
	ctx := context.Background()
	if err := t.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()

	response, err := t.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "tools/call",
		Params: map[string]any{"name": "export_records"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	object, _ := json.Marshal(response.Error)
	violation, refused, err := flowerrors.ReadViolation(object)
	fmt.Println(refused, err)
	fmt.Println(violation.Rejected, violation.AcceptFrom)
	// Output:
	// true <nil>
	// [{unverified }] [self user]
}

// New reports every mistake at once, also those that a registration helper has
// returned before.
func ExampleNew_mistakes() {
	s := server.NewMCPServer("records", "1.0.0")
	middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "User"), export)
	middleware.Govern(s, policydecl.Prefix, "file:///secret", policydecl.AcceptFrom("user"))
	_, err := middleware.New(s, middleware.Config{URI: "records.example/mcp"})
	for mistake := range flowerrors.All(err) {
		fmt.Println(mistake.Path, "/", mistake.Reason)
	}
	// Output:
	// tools["export_records"].acceptFrom[1] / unknown-token
	// prefixes["file:///secret"] / never-matches
	// uri / unusable-uri
}
