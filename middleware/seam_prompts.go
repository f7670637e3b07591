package middleware

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// beforeGetPrompt announces a prompt to its record.
func (g *Gate) beforeGetPrompt(ctx context.Context, id any, req *mcp.GetPromptRequest) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil {
		_ = g.unrecorded(ctx, id, about{mcp.MethodPromptsGet, req.Params.Name}) // the filter stops it
		return
	}
	r.bind(ctx, id, req.Header, mcp.MethodPromptsGet, req.Params.Name, false)
}

// filterPrompts is to prompts what filterTools is to tools.
func (g *Gate) filterPrompts(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt {
	if len(prompts) == 0 {
		return prompts
	}
	r := g.recordOf(ctx)
	if r == nil {
		if g.orphan(ctx, about{method: mcp.MethodPromptsGet}, errNoRecord) {
			return nil
		}
		return prompts
	}
	last, _ := g.chains.promptFilters.last(g.server)
	switch {
	case r.about().method != mcp.MethodPromptsGet:
		return prompts // a list; an unannounced prompts/get stops at guardPrompt
	case !g.hooksIntact():
		r.fail(decision.ReasonSeams, errHooks)
	case !last:
		r.fail(decision.ReasonSeams, errChain("a prompt filter"))
	}
	r.confirm()
	for _, prompt := range prompts {
		var buf [2]policydecl.Policy
		if policies, err := g.promptPolicies(ctx, buf[:0], prompt); err != nil {
			r.fail(decision.ReasonPolicy, err)
		} else {
			var all [3]governing
			r.judge(r.by().governNamed(all[:0], key{policydecl.Prompt, prompt.Name}, policies...)...)
		}
	}
	return prompts
}

// guardPrompt is the innermost middleware of every prompt.
func (g *Gate) guardPrompt(next server.PromptHandlerFunc) server.PromptHandlerFunc {
	last, _ := g.chains.prompts.last(g.server)
	own := codePointer(next) == ownPromptCode
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if err := g.pass(ctx, mcp.MethodPromptsGet, last, own); err != nil {
			return nil, err
		}
		return next(ctx, req)
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
		if g.unrecorded(ctx, id, about{method: mcp.MethodCompletionComplete}) {
			req.Params.Ref = refusedRef{}
		}
		return
	}
	var buf [4]governing
	all := buf[:0]
	var err error
	switch ref := req.Params.Ref.(type) {
	case mcp.PromptReference:
		r.bind(ctx, id, req.Header, mcp.MethodCompletionComplete, ref.Name, false)
		var policies []policydecl.Policy
		if policies, err = g.promptPoliciesByName(ctx, nil, ref.Name); err == nil {
			all = r.by().governNamed(all, key{policydecl.Prompt, ref.Name}, policies...)
		}
		r.discreet = g.hidesPrompts // not to show the policy of a hidden prompt (G1)
	case mcp.ResourceReference:
		r.bind(ctx, id, req.Header, mcp.MethodCompletionComplete, ref.URI, false)
		if all, err = r.by().governURI(ctx, all, ref.URI, true); err == nil {
			all, err = g.governPlain(ctx, r, all, ref.URI, true)
		}
	default:
		r.bind(ctx, id, req.Header, mcp.MethodCompletionComplete, "", false)
		return // mcp-go answers with an error and runs nothing
	}
	r.judgeAll(all, err)
	if r.state() != accepted {
		_ = r.apply()
		req.Params.Ref = refusedRef{}
		return
	}
	r.conclude()
}
