package soak_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// world is a server in its own process: one of everything that a request can reach. It
// notes what it does for which request, and forgets it when it is asked.
type world struct {
	server *server.MCPServer
	bug    string

	mu      sync.Mutex
	runs    []event
	records []account
	seen    int
	leaked  [][]byte
}

// numberKey finds the request's number in its context.
type numberKey struct{}

// numbers is a propagator of _meta that takes the number from there.
type numbers struct{}

func (numbers) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }

func (numbers) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	if meta != nil {
		if n, ok := meta.AdditionalFields["soak/n"].(float64); ok {
			return context.WithValue(ctx, numberKey{}, uint64(n))
		}
	}
	return ctx
}

func numberIn(ctx context.Context) uint64 {
	n, _ := ctx.Value(numberKey{}).(uint64)
	return n
}

// ran notes that something was done for the request of ctx, and says so.
func (w *world) ran(ctx context.Context, what string) string {
	n := numberIn(ctx)
	w.note(n, what)
	return fmt.Sprintf("%s ran %d.", what, n)
}

func (w *world) note(n uint64, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, event{n, what})
	switch w.bug {
	case bugLeak:
		w.leaked = append(w.leaked, make([]byte, 64<<10))
	case bugGoroutine:
		go func() { select {} }()
	}
}

// Record makes the world a sink of decision records.
func (w *world) Record(_ context.Context, r decision.Record) error {
	a := account{
		ID: r.RequestID, N: numberOf(r.RequestID), Verdict: r.Verdict.String(), Mode: r.Mode.String(),
		Reason: string(r.Reason), Settings: r.Settings, Requests: r.Requests(),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	if w.bug == bugRecord && w.seen%50 == 0 {
		return nil
	}
	w.records = append(w.records, a)
	return nil
}

// take returns what was noted and forgets it.
func (w *world) take() ([]event, []account) {
	w.mu.Lock()
	defer w.mu.Unlock()
	runs, records := w.runs, w.records
	w.runs, w.records = nil, nil
	return runs, records
}

func accept(p policy) policydecl.Policy {
	if p == nil {
		return policydecl.Policy{}
	}
	return policydecl.AcceptFrom(p...)
}

// try ends a process whose fixture is wrong.
func try(err error) {
	if err != nil {
		panic(err)
	}
}

func newWorld(bug string) *world {
	w := &world{bug: bug}
	hooks, tasks := &server.Hooks{}, &server.TaskHooks{}
	hooks.AddBeforeSubscribe(func(_ context.Context, id any, _ *mcp.SubscribeRequest) { w.note(numberOfAny(id), "hook:subscribe") })
	hooks.AddBeforeSubscriptionsListen(func(_ context.Context, id any, _ *mcp.SubscriptionsListenRequest) {
		w.note(numberOfAny(id), "hook:listen")
	})
	tasks.AddOnTaskCreated(func(ctx context.Context, _ server.TaskMetrics) { w.ran(ctx, "task:created") })
	w.server = server.NewMCPServer("soak", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{w}), server.WithResourceCompletionProvider(completer{w}),
		server.WithHooks(hooks), server.WithTaskHooks(tasks))
	w.addTools()
	try(middleware.AddResource(w.server, mcp.NewResource("records://customers", "customers"), accept(customers.accept), w.resource("customers")))
	try(middleware.AddResourceTemplate(w.server, mcp.NewResourceTemplate("notes://item/{id}", "item"), accept(nil), w.template("item")))
	try(middleware.AddResourceTemplate(w.server, mcp.NewResourceTemplate("file:///{+path}", "file"), accept(nil), w.template("file")))
	try(middleware.Govern(w.server, policydecl.Prefix, "file:///secret/", accept(byUser)))
	try(middleware.AddPrompt(w.server, mcp.NewPrompt("brief"), accept(byUser),
		func(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(w.ran(ctx, "brief")))}), nil
		}))
	return w
}

func numberOfAny(id any) uint64 {
	if f, ok := id.(float64); ok {
		return uint64(f)
	}
	return numberOf(fmt.Sprint(id))
}

func (w *world) addTools() {
	add := func(name string, p policy, h server.ToolHandlerFunc) {
		t := mcp.NewTool(name)
		if name == "hexport" {
			t.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}
		}
		try(middleware.AddTool(w.server, t, accept(p), h))
	}
	var search policy
	if w.bug == bugStrict {
		search = byUser
	}
	add("search", search, w.tool("search"))
	add("export", bySelfUser, w.tool("export"))
	add("hexport", bySelfUser, w.tool("hexport"))
	add("ticks", nil, w.ticks)
	add("hold", nil, w.hold)
	add("big", nil, w.big)
	task := mcp.NewTool("texport")
	task.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}
	try(middleware.AddTaskTool(w.server, task, accept(bySelfUser),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
			w.ran(ctx, "texport")
			return &mcp.CreateTaskResult{}, nil
		}))
}

func (w *world) tool(name string) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(w.ran(ctx, name)), nil
	}
}

func (w *world) progress(ctx context.Context, text string) {
	_ = w.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": numberIn(ctx), "progress": 1, "message": text})
}

// ticks reports progress and ends.
func (w *world) ticks(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for range 3 {
		w.progress(ctx, "tick")
	}
	return mcp.NewToolResultText(w.ran(ctx, "ticks")), nil
}

// hold reports progress until the request is cancelled. It says so again and again, because
// mcp-go drops a notification now and then.
func (w *world) hold(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text := w.ran(ctx, "hold")
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		w.progress(ctx, "held")
		select {
		case <-ctx.Done():
			return mcp.NewToolResultText(text), nil
		case <-again.C:
		}
	}
}

// big answers with more than any buffer on the way holds.
func (w *world) big(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for range 4 {
		w.progress(ctx, strings.Repeat("p", 64<<10))
	}
	return mcp.NewToolResultText(strings.Repeat("r", 3<<20) + w.ran(ctx, "big")), nil
}

func (w *world) resource(name string) server.ResourceHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: w.ran(ctx, name)}}, nil
	}
}

func (w *world) template(name string) server.ResourceTemplateHandlerFunc {
	return server.ResourceTemplateHandlerFunc(w.resource(name))
}

// come puts the tool or resource that comes and goes into one of its states.
func (w *world) come(kind string, state int) error {
	name := fmt.Sprint(kind, state)
	switch {
	case kind == "tool" && state == 0:
		w.server.DeleteTools("come")
	case kind == "tool":
		return middleware.AddTool(w.server, mcp.NewTool("come"), accept(coming[state]), w.tool(name))
	case state == 0:
		w.server.DeleteResources("come://r")
	default:
		return middleware.AddResource(w.server, mcp.NewResource("come://r", "r"), accept(coming[state]), w.resource(name))
	}
	return nil
}

// completer answers completions.
type completer struct{ w *world }

func (c completer) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{c.w.ran(ctx, "complete prompt")}}, nil
}

func (c completer) CompleteResourceArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{c.w.ran(ctx, "complete resource")}}, nil
}
