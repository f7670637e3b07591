package middleware

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// beforeCallTool announces a call to its record. A call that asks for a task is
// judged here already: if it is refused and the tool could also run at once, the
// wish for a task is dropped, so that the call meets the server's own middleware
// and then the gate's before any task exists (G1, G2).
func (g *Gate) beforeCallTool(ctx context.Context, id any, req *mcp.CallToolRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		_ = g.unrecorded(ctx, id, about{mcp.MethodToolsCall, req.Params.Name}) // the filter stops it
		return
	}
	r.bind(ctx, id, req.Header, mcp.MethodToolsCall, req.Params.Name, req.Params.Task != nil)
	if req.Params.Task == nil {
		return
	}
	tool, ok := g.syncTool(ctx, req.Params.Name)
	if !ok || tool.Execution == nil || tool.Execution.TaskSupport != mcp.TaskSupportOptional {
		return // it runs as a task or not at all; the filter decides
	}
	if g.judgeTool(ctx, r, tool, true) != accepted {
		req.Params.Task = nil
		r.dropTask()
	}
}

// syncTool finds a tool that has a handler of the ordinary kind.
func (g *Gate) syncTool(ctx context.Context, name string) (mcp.Tool, bool) {
	if t, ok := sessionTools(ctx)[name]; ok {
		return t.Tool, true
	}
	if t := g.server.GetTool(name); t != nil {
		return t.Tool, true
	}
	return mcp.Tool{}, false
}

// sessionTools returns a copy of the tools that the session has for itself.
func sessionTools(ctx context.Context) map[string]server.ServerTool {
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithTools); ok {
		return s.GetSessionTools()
	}
	return nil
}

// judgeTool decides a call by the policy of the tool that will really run. as says
// that tool is the declaration as registered.
func (g *Gate) judgeTool(ctx context.Context, r *record, tool mcp.Tool, as bool) verdict {
	var buf [2]policydecl.Policy
	policies, err := g.toolPolicies(ctx, buf[:0], tool, as)
	if err != nil {
		r.fail(decision.ReasonPolicy, err)
		return r.state()
	}
	var all [3]governing
	return r.judge(r.by().governNamed(all[:0], key{policydecl.Tool, tool.Name}, policies...)...)
}

// filterTools is the last tool filter. mcp-go asks it about the very tool that
// it will run, when every filter of the author has let it through, so this is
// where the verdict is taken. For a list it changes nothing.
func (g *Gate) filterTools(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if len(tools) == 0 {
		return tools
	}
	r := g.recordOf(ctx)
	if r == nil {
		// It may be a list as well, which looks the same from here.
		if g.orphan(ctx, about{method: mcp.MethodToolsCall}, errNoRecord) {
			return nil
		}
		return tools
	}
	call := r.about()
	last, alone := g.chains.toolFilters.last(g.server) // mcp-go holds its lock here
	switch {
	case call.method != mcp.MethodToolsCall:
		if g.announced() {
			return tools
		}
		// A list and an unannounced call look the same from here.
		if g.orphan(ctx, about{method: mcp.MethodToolsCall}, errHooks) {
			return nil
		}
		return tools
	case !g.announced():
		r.fail(decision.ReasonSeams, errHooks)
	case !last:
		r.fail(decision.ReasonSeams, errChain("a tool filter"))
	}
	// mcp-go lets the call through only if the tool is still among these.
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == call.target })
	if i < 0 {
		i = 0
	}
	r.confirm()
	asTask := r.wantsTask() && (takesTasks(tools[i]) || g.runsAsTask(ctx, call.target))
	if asTask && g.chainBroken.Load() {
		r.fail(decision.ReasonSeams, errChain("a tool handler middleware")) // the task would exist before guardTool could refuse
	}
	v := g.judgeTool(ctx, r, tools[i], alone)
	if v == accepted {
		if asTask {
			r.conclude() // a task tool has no later seam, and a task outlives its request
		}
		return tools
	}
	if v == broken || asTask {
		// No later seam would come before the task.
		_ = r.apply()
		return nil
	}
	return tools // guardTool refuses, after the author's middleware
}

// runsAsTask reports whether mcp-go starts a task for a call with a task. A tool
// without an ordinary handler does nothing else.
func (g *Gate) runsAsTask(ctx context.Context, name string) bool {
	tool, ok := g.syncTool(ctx, name)
	return !ok || takesTasks(tool)
}

func takesTasks(tool mcp.Tool) bool {
	return tool.Execution != nil && (tool.Execution.TaskSupport == mcp.TaskSupportOptional || tool.Execution.TaskSupport == mcp.TaskSupportRequired)
}

// guardTool is the innermost middleware of every tool call.
func (g *Gate) guardTool(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	last, _ := g.chains.tools.last(g.server) // mcp-go holds its lock here
	if !last {
		g.chainBroken.Store(true)
	}
	own := codePointer(next) == ownToolCode
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r := g.recordOf(ctx); r != nil && r.wantsTask() {
			// mcp-go has looked the tool up once more since the filter saw it.
			if tool, ok := g.syncTool(ctx, r.about().target); ok {
				g.judgeTool(ctx, r, tool, true)
			}
		}
		if err := g.pass(ctx, mcp.MethodToolsCall, last, own); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}
