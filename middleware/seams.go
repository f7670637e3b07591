package middleware

import (
	"context"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// errChain says that something of the author's stands behind the gate.
func errChain(what string) error {
	return errors.New(what + " was added after the gate; install flowgate last")
}

// Faults of the gate itself (G6), for the operator's log.
var (
	errHooks     = errors.New("hooks were replaced, or one was added after the gate; install flowgate last")
	errNoRecord  = errors.New("the request has no record: the propagator of _meta was replaced; pass yours in Config.MetaPropagator")
	errUnbound   = errors.New("the request reached a seam that its Before hook never announced")
	errUnseen    = errors.New("an answer was on its way out whose request the door never saw, or nobody judged; a context function may have dropped the context")
	errUndecided = errors.New("the request reached the handler's side without a verdict")
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
		return // the filter sees to it
	}
	r.bind(id, mcp.MethodToolsCall, req.Params.Name, req.Params.Task != nil)
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
	if t, ok := sessionTool(ctx, name); ok {
		return t, true
	}
	if t := g.server.GetTool(name); t != nil {
		return t.Tool, true
	}
	return mcp.Tool{}, false
}

func sessionTool(ctx context.Context, name string) (mcp.Tool, bool) {
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithTools); ok {
		if t, ok := s.GetSessionTools()[name]; ok {
			return t.Tool, true
		}
	}
	return mcp.Tool{}, false
}

// judgeTool decides a call by the policy of the tool that will really run. as says
// that tool is the declaration as registered.
func (g *Gate) judgeTool(ctx context.Context, r *record, tool mcp.Tool, as bool) verdict {
	var buf [2]policydecl.Policy
	policies, err := g.toolPolicies(ctx, buf[:0], tool, as)
	if err != nil {
		r.fail(err)
		return broken
	}
	return r.judge(policies...)
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
		g.logFault(ctx, about{}, errNoRecord)
		return nil
	}
	call := r.about()
	last, alone := g.chains.toolFilters.last(g.server) // mcp-go holds its lock here
	switch {
	case call.method != mcp.MethodToolsCall:
		if g.announced() {
			return tools
		}
		// A list and an unannounced call look the same from here.
		g.logFault(ctx, about{}, errHooks)
		return nil
	case !g.announced():
		r.fail(errHooks)
	case !last:
		r.fail(errChain("a tool filter"))
	}
	// mcp-go lets the call through only if the tool is still among these.
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == call.target })
	if i < 0 {
		i = 0
	}
	asTask := r.wantsTask() && (takesTasks(tools[i]) || g.runsAsTask(ctx, call.target))
	if asTask && g.chainBroken.Load() {
		r.fail(errChain("a tool handler middleware")) // the task would exist before guardTool could refuse
	}
	v := g.judgeTool(ctx, r, tools[i], alone)
	if v == accepted {
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
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r := g.recordOf(ctx); r != nil && r.wantsTask() {
			// mcp-go has looked the tool up once more since the filter saw it.
			if tool, ok := g.syncTool(ctx, r.about().target); ok {
				g.judgeTool(ctx, r, tool, true)
			}
		}
		if err := g.pass(ctx, mcp.MethodToolsCall, last); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// pass applies the verdict right before a handler. last says that the seam is
// the innermost.
func (g *Gate) pass(ctx context.Context, method mcp.MCPMethod, last bool) error {
	r := g.recordOf(ctx)
	if r == nil {
		g.logFault(ctx, about{method: method}, errNoRecord)
		return errBroken
	}
	switch {
	case r.about().method != method:
		r.fail(errUnbound)
	case !last:
		r.fail(errChain("a tool filter"))
	}
	switch r.state() {
	case accepted:
		return nil
	case undecided:
		r.fail(errUndecided)
	}
	return r.apply()
}

// beforeReadResource judges a read by its URI (section 6).
func (g *Gate) beforeReadResource(ctx context.Context, id any, req *mcp.ReadResourceRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	if r := g.recordOf(ctx); r != nil {
		r.bind(id, mcp.MethodResourcesRead, req.Params.URI, false)
		g.judgeURI(ctx, r, req.Params.URI)
	}
}

func (g *Gate) judgeURI(ctx context.Context, r *record, uri string) {
	var buf [4]policydecl.Policy
	set := g.set()
	r.judgedBy.Store(set)
	policies, err := g.resourcePolicies(ctx, set, buf[:0], uri)
	r.judgeAll(policies, err)
}

// judgeAll decides on the policies of a resource, or on the error in finding them.
func (r *record) judgeAll(policies []policydecl.Policy, err error) {
	var unreadable *uriError
	switch {
	case errors.As(err, &unreadable):
		r.reject(unreadable)
	case err != nil:
		r.fail(err)
	default:
		r.judge(policies...)
	}
}

// guardResource is the innermost middleware of every read. It judges once more what
// may have changed since: the URI, by a middleware further out; the declarations; and
// which handler mcp-go has found. One that no helper has registered is governed by the
// default (P4), unless Govern has said otherwise.
func (g *Gate) guardResource(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	last, _ := g.chains.resources.last(g.server)
	plain := codePointer(next) != ownResourceCode
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		if r := g.recordOf(ctx); r != nil {
			if req.Params.URI != r.about().target || r.judgedBy.Load() != g.set() || hasOwnResources(ctx) {
				g.judgeURI(ctx, r, req.Params.URI)
			}
			if plain && r.state() == accepted && g.ungoverned(req.Params.URI) {
				g.judgePlain(ctx, r, req.Params.URI)
			}
		}
		if err := g.pass(ctx, mcp.MethodResourcesRead, last); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// judgePlain judges a read of what no helper has registered: by the policy that its
// author has written into its _meta by hand, and else by the default.
func (g *Gate) judgePlain(ctx context.Context, r *record, uri string) {
	set := g.set()
	if policydecl.Restrict(true, set.Decide(r.Context, &r.label, policydecl.Policy{})) {
		return // whatever stands there has been judged with the URI
	}
	var meta *mcp.Meta
	own, found := server.ServerResource{}, false
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithResources); ok {
		own, found = s.GetSessionResources()[uri]
	}
	if found {
		meta = own.Resource.Meta
	} else if global := g.server.ListResources()[uri]; global != nil {
		meta = global.Resource.Meta
	}
	p, err := declared(meta)
	if err != nil {
		r.fail(err)
		return
	}
	r.judge(p)
}

// ungoverned reports whether Govern has said nothing about some reading of uri.
func (g *Gate) ungoverned(uri string) bool {
	_, bare, err := g.reg.governed.Load().ResourceMatch(nil, uri)
	return bare || err != nil
}

// hasOwnResources reports whether the session has resources or templates of its own.
func hasOwnResources(ctx context.Context) bool {
	session := server.ClientSessionFromContext(ctx)
	if s, ok := session.(server.SessionWithResources); ok && len(s.GetSessionResources()) > 0 {
		return true
	}
	s, ok := session.(server.SessionWithResourceTemplates)
	return ok && len(s.GetSessionResourceTemplates()) > 0
}

// beforeGetPrompt announces a prompt to its record.
func (g *Gate) beforeGetPrompt(ctx context.Context, id any, req *mcp.GetPromptRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	if r := g.recordOf(ctx); r != nil {
		r.bind(id, mcp.MethodPromptsGet, req.Params.Name, false)
	}
}

// filterPrompts is to prompts what filterTools is to tools.
func (g *Gate) filterPrompts(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt {
	if len(prompts) == 0 {
		return prompts
	}
	r := g.recordOf(ctx)
	if r == nil {
		g.logFault(ctx, about{}, errNoRecord)
		return nil
	}
	last, _ := g.chains.promptFilters.last(g.server)
	switch {
	case r.about().method != mcp.MethodPromptsGet:
		return prompts // a list; an unannounced prompts/get stops at guardPrompt
	case !g.hooksIntact():
		r.fail(errHooks)
	case !last:
		r.fail(errChain("a prompt filter"))
	}
	for _, prompt := range prompts {
		if p, err := g.promptPolicy(prompt); err != nil {
			r.fail(err)
		} else {
			r.judge(p)
		}
	}
	return prompts
}

// guardPrompt is the innermost middleware of every prompt.
func (g *Gate) guardPrompt(next server.PromptHandlerFunc) server.PromptHandlerFunc {
	last, _ := g.chains.prompts.last(g.server)
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if err := g.pass(ctx, mcp.MethodPromptsGet, last); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// beforeSubscribe judges a subscription once more. The door has decided it already,
// before anybody could count it; this is for a URI that a hook of the author's has
// changed since. Without a URI mcp-go subscribes to nothing.
func (g *Gate) beforeSubscribe(ctx context.Context, id any, req *mcp.SubscribeRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		g.logFault(ctx, about{method: mcp.MethodResourcesSubscribe}, errNoRecord)
		req.Params.URI = ""
		return
	}
	r.bind(id, mcp.MethodResourcesSubscribe, req.Params.URI, false)
	if req.Params.URI == "" {
		return
	}
	if g.judgeURI(ctx, r, req.Params.URI); r.state() != accepted {
		_ = r.apply()
		req.Params.URI = ""
	}
}

// beforeListen does the same for a listen stream.
func (g *Gate) beforeListen(ctx context.Context, id any, req *mcp.SubscriptionsListenRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		g.logFault(ctx, about{method: mcp.MethodSubscriptionsListen}, errNoRecord)
		req.Params.Notifications = mcp.SubscriptionFilter{}
		return
	}
	r.bind(id, mcp.MethodSubscriptionsListen, "", false)
	for _, uri := range req.Params.Notifications.ResourceSubscriptions {
		if g.judgeURI(ctx, r, uri); r.state() != accepted {
			_ = r.apply()
			req.Params.Notifications = mcp.SubscriptionFilter{}
			return
		}
	}
}

// refusedRef takes the place of the reference of a refused completion. mcp-go
// knows no such reference, so it answers with an error and asks no provider.
type refusedRef struct{}

// String is what mcp-go shows of the reference.
func (refusedRef) String() string { return string(errRefused) }

// beforeComplete judges a completion by what it refers to. mcp-go has no
// middleware there, but it looks at the reference after its last hook.
func (g *Gate) beforeComplete(ctx context.Context, id any, req *mcp.CompleteRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		g.logFault(ctx, about{method: mcp.MethodCompletionComplete}, errNoRecord)
		req.Params.Ref = refusedRef{}
		return
	}
	var buf [4]policydecl.Policy
	policies := buf[:0]
	var err error
	switch ref := req.Params.Ref.(type) {
	case mcp.PromptReference:
		r.bind(id, mcp.MethodCompletionComplete, ref.Name, false)
		var p policydecl.Policy
		p, err = g.promptPolicyByName(ref.Name)
		policies = append(policies, p)
		r.discreet = g.hidesPrompts // not to show the policy of a hidden prompt (G1)
	case mcp.ResourceReference:
		r.bind(id, mcp.MethodCompletionComplete, ref.URI, false)
		policies, err = g.referencePolicies(ctx, g.set(), policies, ref.URI)
	default:
		r.bind(id, mcp.MethodCompletionComplete, "", false)
		return // mcp-go answers with an error and runs nothing
	}
	r.judgeAll(policies, err)
	if r.state() != accepted {
		_ = r.apply()
		req.Params.Ref = refusedRef{}
	}
}
