package middleware_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// ownURI is the recipient's canonical URI.
const ownURI = "https://records.example/mcp"

// tally counts what a server did: handlers that ran, by their name, and side
// effects of mcp-go and of hooks, by names with a colon.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	more   chan struct{} // closed and replaced when a count changes
}

func newTally() *tally { return &tally{counts: map[string]int{}, more: make(chan struct{})} }

func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
	close(t.more)
	t.more = make(chan struct{})
}

// take returns the counts and starts again from nothing.
func (t *tally) take() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	got := t.counts
	t.counts = map[string]int{}
	return got
}

func (t *tally) peek() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}

// wait returns true when what has happened, false when ctx ends first.
func (t *tally) wait(ctx context.Context, what string) bool {
	for {
		t.mu.Lock()
		n, more := t.counts[what], t.more
		t.mu.Unlock()
		if n > 0 {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// recipient is R of the field cases: one of everything that a request can
// reach, each with a policy that tells it from the others, each counted.
type recipient struct {
	server *server.MCPServer
	hooks  *server.Hooks
	ran    *tally
}

// Policies of the fixture.
var (
	selfUser = policydecl.AcceptFrom("self", "user")
	onlyUser = policydecl.AcceptFrom("user")
	noPolicy policydecl.Policy // the server's default
)

// newRecipient builds R without a gate. opts come after the fixture's own.
func newRecipient(opts ...server.ServerOption) *recipient {
	r := &recipient{hooks: &server.Hooks{}, ran: newTally()}
	r.trackHooks()
	all := append([]server.ServerOption{
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(), server.WithLogging(),
		server.WithPaginationLimit(3),
		server.WithPromptCompletionProvider(completer{r.ran}), server.WithResourceCompletionProvider(completer{r.ran}),
		server.WithHooks(r.hooks), server.WithTaskHooks(r.taskHooks()),
	}, opts...)
	r.server = server.NewMCPServer("records", "1.0.0", all...)
	r.addTools()
	r.addResources()
	r.try(middleware.AddPrompt(r.server, mcp.NewPrompt("brief", mcp.WithArgument("id")), onlyUser,
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			r.ran.add("brief")
			return mcp.NewGetPromptResult("a brief", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("brief me")),
			}), nil
		}))
	return r
}

// try stops a test whose fixture is wrong. New would report the same.
func (r *recipient) try(err error) {
	if err != nil {
		panic(err)
	}
}

func (r *recipient) addTools() {
	r.try(middleware.AddTool(r.server, mcp.NewTool("search", mcp.WithDescription("a < b & c")), noPolicy, r.tool("search")))
	r.try(middleware.AddTool(r.server, mcp.NewTool("export"), selfUser, r.tool("export")))
	r.try(middleware.AddTool(r.server, withTask("hexport", mcp.TaskSupportOptional), selfUser, r.tool("hexport")))
	r.try(middleware.AddTaskTool(r.server, withTask("texport", mcp.TaskSupportRequired), selfUser,
		func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
			r.ran.add("texport")
			return &mcp.CreateTaskResult{}, nil
		}))
}

// withTask makes a tool that can run as a task.
func withTask(name string, support mcp.TaskSupport) mcp.Tool {
	t := mcp.NewTool(name)
	t.Execution = &mcp.ToolExecution{TaskSupport: support}
	return t
}

func (r *recipient) addResources() {
	r.try(middleware.AddResource(r.server, mcp.NewResource("records://customers", "customers"), selfUser, r.resource("customers")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("notes://item/{id}", "item"), noPolicy, r.template("item")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("notes://export{?data}", "note"), onlyUser, r.template("note")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("file:///{+path}", "file"), noPolicy, r.template("file")))
	r.try(middleware.Govern(r.server, policydecl.Prefix, "file:///secret/", onlyUser))
}

// tool returns a handler that counts and answers with the arguments as it got
// them, byte for byte.
func (r *recipient) tool(name string) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add(name)
		var raw json.RawMessage
		if err := req.BindArguments(&raw); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(name + " ran with " + string(raw)), nil
	}
}

func (r *recipient) resource(name string) server.ResourceHandlerFunc {
	return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		r.ran.add(name)
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: name + " ran"}}, nil
	}
}

func (r *recipient) template(name string) server.ResourceTemplateHandlerFunc {
	return server.ResourceTemplateHandlerFunc(r.resource(name))
}

// trackHooks counts the hooks in which a server's author tracks subscriptions.
func (r *recipient) trackHooks() {
	r.hooks.AddOnRequestInitialization(openStream)
	r.hooks.AddBeforeSubscribe(func(context.Context, any, *mcp.SubscribeRequest) { r.ran.add("hook:subscribe") })
	r.hooks.AddAfterSubscribe(func(context.Context, any, *mcp.SubscribeRequest, *mcp.EmptyResult) { r.ran.add("hook:subscribed") })
	r.hooks.AddBeforeSubscriptionsListen(func(context.Context, any, *mcp.SubscriptionsListenRequest) { r.ran.add("hook:listen") })
}

// taskHooks counts every task that mcp-go creates or ends.
func (r *recipient) taskHooks() *server.TaskHooks {
	h := &server.TaskHooks{}
	h.AddOnTaskCreated(func(context.Context, server.TaskMetrics) { r.ran.add("task:created") })
	ended := func(context.Context, server.TaskMetrics) { r.ran.add("task:ended") }
	h.AddOnTaskCompleted(ended)
	h.AddOnTaskFailed(ended)
	h.AddOnTaskCancelled(ended)
	return h
}

// completer counts completions.
type completer struct{ ran *tally }

func (c completer) CompletePromptArgument(_ context.Context, name string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c.ran.add("complete prompt")
	return &mcp.Completion{Values: []string{name}}, nil
}

func (c completer) CompleteResourceArgument(_ context.Context, uri string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c.ran.add("complete resource")
	return &mcp.Completion{Values: []string{uri}}, nil
}

// config is the fixture's configuration of the gate.
func config() middleware.Config {
	return middleware.Config{URI: ownURI, Logger: slog.New(slog.DiscardHandler)}
}

// plain makes s the control of a comparison: a server whose author has switched the
// gate off, which is the way to serve declared policies without one.
func plain(s *server.MCPServer) *server.MCPServer {
	cfg := config()
	cfg.Mode = middleware.DangerouslyOff
	if _, err := middleware.New(s, cfg); err != nil {
		panic(err)
	}
	return s
}
