package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Who contributes to the requests of the examples.
var (
	theUser = policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, "")
	aPage   = policydecl.NewContributor("https://fetch.example/mcp", policydecl.Unverified, "")
)

// from is the _meta of a request to which they have contributed.
func from(all ...policydecl.Contributor) map[string]any {
	label := policydecl.BuildLabel(true, all...)
	return map[string]any{policydecl.LabelKey: json.RawMessage(label.AppendJSON(nil))}
}

// ask sends a request to a gated server and prints what comes back.
func ask(g *middleware.Gate, method string, params map[string]any) {
	ctx := context.Background()
	t := g.InProcess()
	if err := t.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	answer, err := t.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: method, Params: params})
	switch {
	case err != nil:
		fmt.Println(err)
	case answer.Error == nil:
		fmt.Println(string(answer.Result))
	default:
		object, _ := json.Marshal(answer.Error) // it was JSON
		v, refused, err := flowerrors.ReadViolation(object)
		if !refused || err != nil {
			fmt.Println(answer.Error.Message, err)
			return
		}
		fmt.Println("refused:", v.Rejected, "accepts:", v.AcceptFrom)
	}
}

// gateOf makes the gate when everything is declared.
func gateOf(s *server.MCPServer) *middleware.Gate {
	g, err := middleware.New(s, quietly())
	if err != nil {
		panic(err)
	}
	return g
}

// A declaration with a mistake is not registered, and the error says what to write instead.
// New reports it again.
func ExampleAddTool() {
	s := server.NewMCPServer("records", "1.0.0")
	err := middleware.AddTool(s, mcp.NewTool("export_records"), policydecl.AcceptFrom("self", "User"), export)
	for mistake := range flowerrors.All(err) {
		fmt.Println(mistake.Path, mistake.Reason, mistake.Hint)
	}
	fmt.Println(s.GetTool("export_records") == nil)
	// Output:
	// tools["export_records"].acceptFrom[1] unknown-token write "user"
	// true
}

// The policy is asked before there is a task.
func ExampleAddTaskTool() {
	s := server.NewMCPServer("records", "1.0.0", server.WithTaskCapabilities(true, true, true))
	archive := func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		return &mcp.CreateTaskResult{}, nil
	}
	tool := mcp.NewTool("archive_records", mcp.WithTaskSupport(mcp.TaskSupportRequired))
	if err := middleware.AddTaskTool(s, tool, policydecl.AcceptFrom("self", "user"), archive); err != nil {
		fmt.Println(err)
		return
	}
	gate := gateOf(s)
	ask(gate, "tools/call", map[string]any{"name": "archive_records", "task": map[string]any{}, "_meta": from(theUser, aPage)})
	ask(gate, "tasks/list", nil)
	// Output:
	// refused: [{unverified https://fetch.example/mcp}] accepts: [self user]
	// {"tasks":[]}
}

// The policy of a resource also governs subscriptions to it.
func ExampleAddResource() {
	s := server.NewMCPServer("records", "1.0.0", server.WithResourceCapabilities(true, false))
	read := func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "Ada Lindqvist"}}, nil
	}
	err := middleware.AddResource(s, mcp.NewResource("records://customers", "customers"), policydecl.AcceptFrom("self", "user"), read)
	if err != nil {
		fmt.Println(err)
		return
	}
	gate := gateOf(s)
	ask(gate, "resources/read", map[string]any{"uri": "records://customers", "_meta": from(theUser)})
	ask(gate, "resources/read", map[string]any{"uri": "records://customers", "_meta": from(aPage)})
	ask(gate, "resources/subscribe", map[string]any{"uri": "records://customers", "_meta": from(aPage)})
	// Output:
	// {"contents":[{"uri":"records://customers","text":"Ada Lindqvist"}]}
	// refused: [{unverified https://fetch.example/mcp}] accepts: [self user]
	// refused: [{unverified https://fetch.example/mcp}] accepts: [self user]
}

// A prefix can be stricter than the template around it: all policies that match must accept.
func ExampleAddResourceTemplate() {
	s := server.NewMCPServer("records", "1.0.0")
	read := func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "Ada Lindqvist"}}, nil
	}
	template := mcp.NewResourceTemplate("records://customers/{+path}", "customer")
	if err := middleware.AddResourceTemplate(s, template, policydecl.AcceptFrom("user", "unverified"), read); err != nil {
		fmt.Println(err)
		return
	}
	if err := middleware.Govern(s, policydecl.Prefix, "records://customers/secret/", policydecl.AcceptFrom("user")); err != nil {
		fmt.Println(err)
		return
	}
	gate := gateOf(s)
	ask(gate, "resources/read", map[string]any{"uri": "records://customers/1", "_meta": from(aPage)})
	ask(gate, "resources/read", map[string]any{"uri": "records://customers/secret/1", "_meta": from(aPage)})
	ask(gate, "resources/read", map[string]any{"uri": "records://customers/x/../secret/1", "_meta": from(aPage)})
	// Output:
	// {"contents":[{"uri":"records://customers/1","text":"Ada Lindqvist"}]}
	// refused: [{unverified https://fetch.example/mcp}] accepts: [user]
	// refused: [{unverified https://fetch.example/mcp}] accepts: [user]
}

// The policy of a prompt also governs completions that refer to it.
func ExampleAddPrompt() {
	s := server.NewMCPServer("records", "1.0.0", server.WithCompletions())
	summarize := func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{}, Description: "a summary"}, nil
	}
	if err := middleware.AddPrompt(s, mcp.NewPrompt("summarize_customer"), policydecl.AcceptFrom("user"), summarize); err != nil {
		fmt.Println(err)
		return
	}
	gate := gateOf(s)
	ask(gate, "prompts/get", map[string]any{"name": "summarize_customer", "_meta": from(theUser)})
	ask(gate, "prompts/get", map[string]any{"name": "summarize_customer", "_meta": from(theUser, aPage)})
	ask(gate, "completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": "summarize_customer"},
		"argument": map[string]any{"name": "id", "value": "c-"}, "_meta": from(aPage),
	})
	// Output:
	// {"description":"a summary","messages":[]}
	// refused: [{unverified https://fetch.example/mcp}] accepts: [user]
	// refused: [{unverified https://fetch.example/mcp}] accepts: [user]
}
