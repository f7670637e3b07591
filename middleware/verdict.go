package middleware

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Which policy governs what. The declaration's own _meta holds the policy that
// is published and the policy that is enforced, so the two cannot drift (D4).

// declared returns the policy in a declaration's _meta: absent when there is
// none, an error when what is there is no policy.
func declared(meta *mcp.Meta) (policydecl.Policy, error) {
	if meta == nil {
		return policydecl.Policy{}, nil
	}
	switch v := meta.AdditionalFields[policydecl.PolicyKey].(type) {
	case nil:
		return policydecl.Policy{}, nil
	case policydecl.Policy:
		return v, v.Err()
	default:
		return policydecl.PolicyOf(v)
	}
}

// toolPolicy returns the policy of a call of tool, as the author's filters have
// handed it on: its own. They may have built the declaration anew, to show another
// description for instance; then the policy is that of the tool as registered. For a
// session's tool without one it is that of the global tool of the same name, then one
// set by Govern, and at last absent, which Decide reads as the default.
func (g *Gate) toolPolicy(ctx context.Context, tool mcp.Tool) (policydecl.Policy, error) {
	p, err := declared(tool.Meta)
	if err != nil || !p.IsZero() {
		return p, flowerrors.Under(targetPath(policydecl.Tool, tool.Name), err)
	}
	if own, ok := sessionTool(ctx, tool.Name); ok {
		if p, err = declared(own.Meta); err != nil || !p.IsZero() {
			return p, err
		}
	}
	if global := g.server.GetTool(tool.Name); global != nil {
		p, err = declared(global.Tool.Meta)
	} else {
		// mcp-go has no getter for task tools, and no way to remove one.
		p = g.reg.declaredPolicy(policydecl.Tool, tool.Name)
	}
	if err != nil || !p.IsZero() {
		return p, err
	}
	return g.reg.governed(policydecl.Tool, tool.Name), nil
}

// promptPolicy returns the policy of a prompt that is about to run, in the same
// order.
func (g *Gate) promptPolicy(prompt mcp.Prompt) (policydecl.Policy, error) {
	p, err := declared(prompt.Meta)
	if err != nil || !p.IsZero() {
		return p, flowerrors.Under(targetPath(policydecl.Prompt, prompt.Name), err)
	}
	if !g.reg.declaredPolicy(policydecl.Prompt, prompt.Name).IsZero() {
		// A filter has dropped the policy, or the prompt was registered
		// again without one. Only the whole list tells.
		if real := g.server.ListPrompts()[prompt.Name]; real != nil {
			if p, err = declared(real.Prompt.Meta); err != nil || !p.IsZero() {
				return p, err
			}
		}
	}
	return g.reg.governed(policydecl.Prompt, prompt.Name), nil
}

// promptPolicyByName returns the policy of the prompt that a completion refers
// to. There need be no such prompt: mcp-go asks the provider all the same.
func (g *Gate) promptPolicyByName(name string) policydecl.Policy {
	if p := g.reg.declaredPolicy(policydecl.Prompt, name); !p.IsZero() {
		return p
	}
	return g.reg.governed(policydecl.Prompt, name)
}

// resourcePolicies appends every policy that governs a read of uri or a
// subscription to it: those of the server and those of the session's own
// resources, and the default where a reading of the URI finds neither (R2, R4).
func (g *Gate) resourcePolicies(ctx context.Context, set *policydecl.Set, dst []policydecl.Policy, uri string) ([]policydecl.Policy, error) {
	dst, bare, err := set.ResourceMatch(dst, uri)
	return withSession(ctx, set, dst, bare, err, func(m *resourcematch.Matcher) ([]int, bool, error) { return m.Match(nil, uri) })
}

// referencePolicies does the same for the reference of a completion, which names
// a URI or the text of a template.
func (g *Gate) referencePolicies(ctx context.Context, set *policydecl.Set, dst []policydecl.Policy, text string) ([]policydecl.Policy, error) {
	dst, bare, err := set.ResourceTemplateMatch(dst, text)
	return withSession(ctx, set, dst, bare, err, func(m *resourcematch.Matcher) ([]int, bool, error) { return m.MatchTemplate(nil, text) })
}

// withSession completes what the server's set has found with the session's own
// declarations and the default.
//
// A session has few resources of its own, they change without notice, and most
// sessions have none, so they are compiled for the request that asks.
func withSession(ctx context.Context, set *policydecl.Set, dst []policydecl.Policy, bare bool, err error,
	match func(*resourcematch.Matcher) ([]int, bool, error),
) ([]policydecl.Policy, error) {
	if err != nil {
		return dst, unreadable(err)
	}
	entries, policies, err := sessionEntries(ctx, set)
	if err != nil {
		return dst, err
	}
	if len(entries) > 0 {
		m, err := resourcematch.Compile(entries)
		if err != nil {
			return dst, fmt.Errorf("resources of the session: %v", err)
		}
		matches, bareHere, err := match(m)
		if err != nil {
			return dst, unreadable(err)
		}
		for _, i := range matches {
			dst = append(dst, policies[i])
		}
		bare = bare && bareHere
	}
	if bare {
		dst = append(dst, set.Default())
	}
	return dst, nil
}

// uriError says that a URI cannot be read in all its spellings, so that nothing
// can be decided about it (R4). It is the peer's mistake, not the server's.
type uriError struct{ problem *flowerrors.ConfigError }

// Error names the URI's fault without the URI: the text goes to the peer.
func (e *uriError) Error() string {
	return "Invalid params: uri: " + string(e.problem.Reason) + ": " + e.problem.Detail
}

// unreadable turns what the matcher says of a URI into a uriError. Any other
// error is a fault of the gate.
func unreadable(err error) error {
	for problem := range flowerrors.All(err) {
		return &uriError{problem}
	}
	return err
}

// sessionEntries lists the session's resources and templates that declare a
// policy.
func sessionEntries(ctx context.Context, set *policydecl.Set) (entries []resourcematch.Entry, policies []policydecl.Policy, err error) {
	session := server.ClientSessionFromContext(ctx)
	add := func(kind resourcematch.Kind, pattern string, meta *mcp.Meta) {
		p, e := declared(meta)
		if e == nil {
			e = set.Check(p)
		}
		switch {
		case e != nil && err == nil:
			err = fmt.Errorf("a resource of the session: %v", e)
		case e == nil && !p.IsZero():
			entries = append(entries, resourcematch.Entry{Kind: kind, Pattern: pattern})
			policies = append(policies, p)
		}
	}
	if s, ok := session.(server.SessionWithResources); ok {
		for uri, r := range s.GetSessionResources() {
			add(resourcematch.Exact, uri, r.Resource.Meta)
		}
	}
	if s, ok := session.(server.SessionWithResourceTemplates); ok {
		for _, t := range s.GetSessionResourceTemplates() {
			if t.Template.URITemplate != nil {
				add(resourcematch.Template, t.Template.URITemplate.Raw(), t.Template.Meta)
			}
		}
	}
	return entries, policies, err
}
