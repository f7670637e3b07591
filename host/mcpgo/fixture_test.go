package mcpgo_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// patience is how long anything may take before a test gives up.
const patience = 20 * time.Second

// Principals of the field cases.
const (
	recordsURI = "https://records.example/mcp"
	fetchURI   = "https://fetch.example/mcp"
	partnerURI = "https://partner.example/mcp"
)

// Labels as they stand on the wire.
const (
	labelUser    = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`
	labelUnknown = `{"contributors":[{"assurance":"unverified"}],"complete":false}`
)

var (
	selfUser = policydecl.AcceptFrom("self", "user")
	onlyUser = policydecl.AcceptFrom("user")
	byServer policydecl.Policy // the server's default
)

// quiet is a logger that says nothing.
var quiet = slog.New(slog.DiscardHandler)

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// arrival is a request as it has reached a server, before anything judged it.
type arrival struct {
	method string
	params json.RawMessage
}

// label returns the label of a request, empty if there is none.
func (a arrival) label() string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(a.params, &p)
	return string(p.Meta[policydecl.LabelKey])
}

// carries reports whether a request can carry content of a model.
func (a arrival) carries() bool {
	switch a.method {
	case "initialize", "server/discover", "ping", "notifications/initialized":
		return false
	}
	return !strings.HasSuffix(a.method, "/list")
}

// remote is a gated server that notes what reaches it and which handlers ran.
type remote struct {
	uri    string
	server *server.MCPServer
	hooks  *server.Hooks
	stream bool // every answer of a session is a stream

	mu    sync.Mutex
	gate  *middleware.Gate
	got   []arrival
	ran   []string
	awake map[int]chan struct{} // by number of the notification that the client has to see
	count int
	types map[string]int // of HTTP answers
}

// newRemote returns a server without tools. Hosts may be told to label their requests
// by whatever the gate says, so it has the default configuration.
func newRemote(uri string, opts ...server.ServerOption) *remote {
	r := &remote{uri: uri, hooks: &server.Hooks{}, awake: map[int]chan struct{}{}, types: map[string]int{}}
	r.hooks.AddOnRequestInitialization(r.arrive)
	all := append([]server.ServerOption{server.WithHooks(r.hooks), server.WithLogging()}, opts...)
	r.server = server.NewMCPServer("remote", "1.0.0", all...)
	return r
}

// arrive is the first thing that a server does with a request. With stream it sends a
// notification and waits until the client has it, so that the answer becomes a stream. mcp-go
// drops one now and then, and then it is sent again.
func (r *remote) arrive(ctx context.Context, _, message any) error {
	raw, _ := message.(json.RawMessage)
	var m struct {
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	r.mu.Lock()
	r.got = append(r.got, arrival{m.Method, m.Params})
	r.count++
	n, seen := r.count, make(chan struct{})
	r.awake[n] = seen
	r.mu.Unlock()
	if !r.stream || m.Method == "initialize" || m.Method == "server/discover" {
		return nil
	}
	again := time.NewTicker(patience / 100)
	defer again.Stop()
	for {
		if r.server.SendNotificationToClient(ctx, "notifications/test", map[string]any{"n": n}) != nil {
			return nil
		}
		select {
		case <-seen:
			return nil
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// heard is the client's half of arrive.
func (r *remote) heard(n mcp.JSONRPCNotification) {
	number, ok := n.Params.AdditionalFields["n"].(float64)
	if n.Method != "notifications/test" || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen := r.awake[int(number)]; seen != nil {
		close(seen)
		delete(r.awake, int(number))
	}
}

func (r *remote) run(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, name)
}

// took returns what has reached the server and what ran since the last call.
func (r *remote) took() (got []arrival, ran []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, ran = r.got, r.ran
	r.got, r.ran = nil, nil
	return got, ran
}

// carried is took for the requests that carry content.
func (r *remote) carried() []arrival {
	got, _ := r.took()
	return slices.DeleteFunc(got, func(a arrival) bool { return !a.carries() })
}

// tool registers a tool that answers with text.
func (r *remote) tool(name string, policy policydecl.Policy, text string) {
	r.toolFunc(name, policy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(text), nil
	})
}

func (r *remote) toolFunc(name string, policy policydecl.Policy, h server.ToolHandlerFunc) {
	must(middleware.AddTool(r.server, mcp.NewTool(name), policy, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.run(name)
		return h(ctx, req)
	}))
}

// newRecords returns R of the field cases: one of everything that a request can reach.
func newRecords(opts ...server.ServerOption) *remote {
	r := newRemote(recordsURI, append([]server.ServerOption{
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(), server.WithPaginationLimit(2),
		server.WithPromptCompletionProvider(completer{}), server.WithResourceCompletionProvider(completer{}),
	}, opts...)...)
	r.tool("search", byServer, "found")
	r.tool("export", selfUser, "exported")
	task := mcp.NewTool("hexport")
	task.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}
	must(middleware.AddTool(r.server, task, selfUser, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.run("hexport")
		return mcp.NewToolResultText("exported"), nil
	}))
	read := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		r.run("read")
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "rows"}}, nil
	}
	must(middleware.AddResource(r.server, mcp.NewResource("records://customers", "customers"), selfUser, read))
	must(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("notes://export{?data}", "note"), onlyUser, read))
	must(middleware.AddPrompt(r.server, mcp.NewPrompt("brief"), onlyUser, func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		r.run("brief")
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("brief me"))}), nil
	}))
	return r
}

type completer struct{}

func (completer) CompletePromptArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{"a"}}, nil
}

func (completer) CompleteResourceArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{"a"}}, nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// gated returns the server's gate, made when it is first asked for.
func (r *remote) gated() *middleware.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate == nil {
		g, err := middleware.New(r.server, middleware.Config{URI: r.uri, Logger: quiet})
		must(err)
		r.gate = g
	}
	return r.gate
}

// discard is a logger for servers.
var discard = log.New(io.Discard, "", 0)
