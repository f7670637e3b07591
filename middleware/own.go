package middleware

import (
	"context"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// own is the policy that a helper was given for one declaration. It goes with the
// declaration's handler: whatever mcp-go looked up when, and however declarations
// were swapped between the verdict and the call, no handler runs that its own policy
// refuses (D4). It is also the last seam of a task tool, which has no middleware.
type own struct {
	reg    *registry
	policy policydecl.Policy
	method mcp.MCPMethod
	key    key // what declares it
}

// check judges the request that ctx belongs to, if it is one for this handler. A
// handler that the author calls as a Go function serves no request of its own.
func (o *own) check(ctx context.Context) error {
	g := o.reg.live.Load()
	if g == nil {
		return o.ungated(ctx)
	}
	r := g.recordOf(ctx)
	if r == nil {
		return nil
	}
	a := r.about()
	if a.method != o.method {
		return nil
	}
	if !byURI(o.key.kind) && a.target != o.key.name { // what is found by URI has many names
		r.conclude() // it goes by another name as well; its guard has judged that
		return nil
	}
	p := o.policy
	if over, has := r.by().policies[o.key]; has && r.by().over.DangerouslyLoosen {
		p = over
	}
	if r.judge(governing{p, r.by().mode(o.key), o.key}) == accepted {
		r.conclude() // right before the handler
		return nil
	}
	return r.apply()
}

// ungated refuses a request to a server that declares policies but was never gated, or
// whose gate could not be built: forgetting the one line must not open what was
// declared.
func (o *own) ungated(ctx context.Context) error {
	if server.ServerFromContext(ctx) == nil {
		return nil
	}
	slog.ErrorContext(ctx, "flowgate: request refused: this server declares flow policies but is not gated; serve it through middleware.New")
	return errBroken
}

type ownTool struct {
	own
	next server.ToolHandlerFunc
}

func (o *ownTool) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.next(ctx, req)
}

type ownTaskTool struct {
	own
	next server.TaskToolHandlerFunc
}

func (o *ownTaskTool) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.next(ctx, req)
}

// ownResource serves resources and templates alike.
type ownResource struct {
	own
	next server.ResourceHandlerFunc
}

func (o *ownResource) handle(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.next(ctx, req)
}

type ownPrompt struct {
	own
	next server.PromptHandlerFunc
}

func (o *ownPrompt) handle(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.next(ctx, req)
}

// These tell a handler that a helper has registered from any other.
var (
	ownToolCode     = codePointer((&ownTool{}).handle)
	ownPromptCode   = codePointer((&ownPrompt{}).handle)
	ownResourceCode = codePointer((&ownResource{}).handle)
)

// wrapTool puts the policy into a tool's handler. A nil handler and an absent policy
// are left as they are.
func wrapTool(reg *registry, name string, p policydecl.Policy, next server.ToolHandlerFunc) server.ToolHandlerFunc {
	if p.IsZero() || next == nil {
		return next
	}
	return (&ownTool{own{reg, p, mcp.MethodToolsCall, key{policydecl.Tool, name}}, next}).handle
}

func wrapTaskTool(reg *registry, name string, p policydecl.Policy, next server.TaskToolHandlerFunc) server.TaskToolHandlerFunc {
	if p.IsZero() || next == nil {
		return next
	}
	return (&ownTaskTool{own{reg, p, mcp.MethodToolsCall, key{policydecl.Tool, name}}, next}).handle
}

func wrapResource(reg *registry, kind policydecl.TargetKind, name string, p policydecl.Policy, next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	if p.IsZero() || next == nil {
		return next
	}
	return (&ownResource{own{reg, p, mcp.MethodResourcesRead, key{kind, name}}, next}).handle
}

func wrapPrompt(reg *registry, name string, p policydecl.Policy, next server.PromptHandlerFunc) server.PromptHandlerFunc {
	if p.IsZero() || next == nil {
		return next
	}
	return (&ownPrompt{own{reg, p, mcp.MethodPromptsGet, key{policydecl.Prompt, name}}, next}).handle
}
