package serve

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Names under which completion handlers are counted. Tools and prompts are
// counted under their name, resources and templates under their URI or pattern.
const (
	CompletePrompt   = "complete:prompt"
	CompleteResource = "complete:resource"
)

// Invocations counts how often each handler ran. Counting happens inside the
// handler, not in a middleware of mcp-go: there is none for task tools and
// completions, and what counts is whether the handler itself was reached.
// It is safe for concurrent use.
type Invocations struct {
	mu sync.Mutex
	n  map[string]int
}

// NewInvocations returns an empty count.
func NewInvocations() *Invocations { return &Invocations{n: make(map[string]int)} }

// Declare lists a handler that has not run yet.
func (c *Invocations) Declare(name string) { c.add(name, 0) }

// Hit counts one run of the named handler.
func (c *Invocations) Hit(name string) { c.add(name, 1) }

func (c *Invocations) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

// Snapshot returns a copy of the count.
func (c *Invocations) Snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// ServeHTTP answers with a JSON object of handler name to times run.
func (c *Invocations) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(c.Snapshot()) // the client went away: nobody to tell
}

// Tool counts the runs of a tool's handler.
func (c *Invocations) Tool(name string, next server.ToolHandlerFunc) server.ToolHandlerFunc {
	c.Declare(name)
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c.Hit(name)
		return next(ctx, req)
	}
}

// TaskTool counts the runs of a task tool's handler.
func (c *Invocations) TaskTool(name string, next server.TaskToolHandlerFunc) server.TaskToolHandlerFunc {
	c.Declare(name)
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		c.Hit(name)
		return next(ctx, req)
	}
}

// Resource counts the runs of a resource's handler under its URI.
func (c *Invocations) Resource(uri string, next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	c.Declare(uri)
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		c.Hit(uri)
		return next(ctx, req)
	}
}

// Template counts the runs of a resource template's handler under its pattern.
func (c *Invocations) Template(pattern string, next server.ResourceTemplateHandlerFunc) server.ResourceTemplateHandlerFunc {
	return server.ResourceTemplateHandlerFunc(c.Resource(pattern, server.ResourceHandlerFunc(next)))
}

// Prompt counts the runs of a prompt's handler.
func (c *Invocations) Prompt(name string, next server.PromptHandlerFunc) server.PromptHandlerFunc {
	c.Declare(name)
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		c.Hit(name)
		return next(ctx, req)
	}
}
