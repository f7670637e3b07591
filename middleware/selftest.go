package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// selfTest proves that the seams are live in the mcp-go that this program was
// built with (G6). It builds a server of its own, because a probe sent to the
// author's would run the author's hooks, filters and middleware; gates it the same
// way; and sends one request without a label and one from the user by every route.
// It takes about a millisecond.
func selfTest() error {
	ran := 0
	s := server.NewMCPServer("flowgate self-test", "1",
		server.WithToolCapabilities(false), server.WithResourceCapabilities(true, false), server.WithPromptCapabilities(false),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
		server.WithPromptCompletionProvider(probeProvider{&ran}), server.WithResourceCompletionProvider(probeProvider{&ran}))
	addProbes(s, &ran)
	cfg := Config{URI: "https://self-test.invalid/mcp", Logger: slog.New(slog.DiscardHandler)}
	g := newGate(s, &cfg)
	g.reg.base, g.reg.mode = policydecl.Config{URI: cfg.URI}, Enforce
	if err := g.reg.recompile(); err != nil {
		return err
	}
	if err := g.install(nil); err != nil {
		return err
	}
	for _, p := range probes {
		if err := p.run(s, &ran); err != nil {
			return fmt.Errorf("flowgate: self-test: %w; use the version of mcp-go that flowgate's go.mod names", err)
		}
	}
	return nil
}

// probe is one route of section 5.
type probe struct {
	method, params string
	runs           bool // a request of the user reaches a handler before HandleMessage returns
}

var probes = []probe{
	{"tools/call", `"name":"sync"`, true},
	{"tools/call", `"name":"sync","task":{}`, false},
	{"tools/call", `"name":"task","task":{}`, false},
	{"resources/read", `"uri":"probe://static"`, true},
	{"resources/read", `"uri":"probe://template/1"`, true},
	{"resources/subscribe", `"uri":"probe://static"`, false},
	{"subscriptions/listen", `"notifications":{"resourceSubscriptions":["probe://static"]}`, false},
	{"prompts/get", `"name":"prompt"`, true},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"prompt"},"argument":{"name":"a","value":""}`, true},
	{"completion/complete", `"ref":{"type":"ref/resource","uri":"probe://template/{id}"},"argument":{"name":"a","value":""}`, true},
}

func (p probe) run(s *server.MCPServer, ran *int) error {
	const user = `,"_meta":{"` + policydecl.LabelKey + `":{"contributors":[{"assurance":"user"}],"complete":true}}`
	send := func(label string) mcp.JSONRPCMessage {
		*ran = 0
		return s.HandleMessage(context.Background(), json.RawMessage(
			`{"jsonrpc":"2.0","id":1,"method":"`+p.method+`","params":{`+p.params+label+`}}`))
	}
	if _, refused := send("").(mcp.JSONRPCError); !refused || *ran != 0 {
		return fmt.Errorf("%s {%s} without a label was not refused", p.method, p.params)
	}
	if p.runs {
		if send(user); *ran != 1 {
			return fmt.Errorf("%s {%s} from the user was not let through", p.method, p.params)
		}
	}
	return nil
}

// addProbes registers one of everything that a request can reach.
func addProbes(s *server.MCPServer, ran *int) {
	tool := func(name string) mcp.Tool {
		t := mcp.NewTool(name)
		t.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}
		return t
	}
	s.AddTool(tool("sync"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*ran++
		return mcp.NewToolResultText(""), nil
	})
	s.AddTaskTool(tool("task"), func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		*ran++
		return &mcp.CreateTaskResult{}, nil
	})
	read := func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		*ran++
		return nil, nil
	}
	s.AddResource(mcp.NewResource("probe://static", "static"), read)
	s.AddResourceTemplate(mcp.NewResourceTemplate("probe://template/{id}", "template"), read)
	s.AddPrompt(mcp.NewPrompt("prompt"), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		*ran++
		return &mcp.GetPromptResult{}, nil
	})
}

// probeProvider counts completions.
type probeProvider struct{ ran *int }

// CompletePromptArgument counts a completion for a prompt.
func (p probeProvider) CompletePromptArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	*p.ran++
	return &mcp.Completion{}, nil
}

// CompleteResourceArgument counts a completion for a resource template.
func (p probeProvider) CompleteResourceArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	*p.ran++
	return &mcp.Completion{}, nil
}
