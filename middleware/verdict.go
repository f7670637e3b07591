package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

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

// toolPolicies appends the policies of a call of tool. The first of these that there
// is governs it:
//
//  1. the policy in the declaration's _meta,
//  2. for a session's tool, that of the global tool of the same name,
//  3. one set by Govern,
//  4. that which a helper was told about a tool of that name, and the default besides:
//     somebody has registered the tool again without a policy,
//  5. absent, which Decide reads as the default.
//
// tool is the declaration as the author's filters have handed it on; as says that
// there are none. They may have built it anew, to show another description for
// instance; then 1 is the policy of the tool as registered. mcp-go does not show task
// tools, so there 4 is what always counts.
func (g *Gate) toolPolicies(ctx context.Context, dst []policydecl.Policy, tool mcp.Tool, as bool) ([]policydecl.Policy, error) {
	p, err := declared(tool.Meta)
	if err != nil {
		return append(dst, p), flowerrors.Under(targetPath(policydecl.Tool, tool.Name), err)
	}
	if !p.IsZero() {
		return append(dst, p), nil
	}
	own := sessionTools(ctx)
	if _, session := own[tool.Name]; session || !as {
		return g.toolPoliciesByName(ctx, dst, tool.Name, own)
	}
	return g.undeclared(ctx, dst, key{policydecl.Tool, tool.Name}), nil
}

// toolPoliciesByName appends the policies of a tool as registered; own are the session's.
func (g *Gate) toolPoliciesByName(ctx context.Context, dst []policydecl.Policy, name string, own map[string]server.ServerTool) ([]policydecl.Policy, error) {
	if t, ok := own[name]; ok {
		if p, err := declared(t.Tool.Meta); err != nil || !p.IsZero() {
			return append(dst, p), err
		}
	}
	if global := g.server.GetTool(name); global != nil {
		if p, err := declared(global.Tool.Meta); err != nil || !p.IsZero() {
			return append(dst, p), err
		}
	} else if p := g.reg.lookup(target{policydecl.Tool, name, taskHelper}); !p.IsZero() {
		return append(dst, p, policydecl.Policy{}), nil
	}
	return g.undeclared(ctx, dst, key{policydecl.Tool, name}), nil
}

// undeclared appends the policies of something whose declaration has none.
func (g *Gate) undeclared(ctx context.Context, dst []policydecl.Policy, k key) []policydecl.Policy {
	if p := g.reg.lookup(target{k.kind, k.name, byGovern}); !p.IsZero() {
		return append(dst, p)
	}
	p := g.remembered(k)
	if p.IsZero() {
		return append(dst, p)
	}
	if _, told := g.dropped.LoadOrStore(k, true); !told {
		g.recorder.say(ctx, slog.LevelWarn, "flowgate: registered again without the policy it had; requests have to meet that and the default; register it with the helper, after removing it from the server",
			slog.String("target", targetPath(k.kind, k.name)))
	}
	return append(dst, p, policydecl.Policy{})
}

// remembered returns what a helper was told about something of that name.
func (g *Gate) remembered(k key) policydecl.Policy {
	if p := g.reg.lookup(target{k.kind, k.name, helper}); !p.IsZero() {
		return p
	}
	return g.reg.lookup(target{k.kind, k.name, taskHelper})
}

// promptPolicies appends the policies of a prompt that is about to run, in the same
// order.
func (g *Gate) promptPolicies(ctx context.Context, dst []policydecl.Policy, prompt mcp.Prompt) ([]policydecl.Policy, error) {
	p, err := declared(prompt.Meta)
	if err != nil {
		return append(dst, p), flowerrors.Under(targetPath(policydecl.Prompt, prompt.Name), err)
	}
	if !p.IsZero() {
		return append(dst, p), nil
	}
	if g.hidesPrompts {
		// A filter of the author's may have built the declaration anew.
		return g.promptPoliciesByName(ctx, dst, prompt.Name)
	}
	return g.undeclared(ctx, dst, key{policydecl.Prompt, prompt.Name}), nil
}

// promptPoliciesByName appends the policies of the prompt as registered, which are also
// those of completions that refer to it. There need be no such prompt: mcp-go asks the
// provider all the same.
func (g *Gate) promptPoliciesByName(ctx context.Context, dst []policydecl.Policy, name string) ([]policydecl.Policy, error) {
	p, err := g.promptPolicyByName(name)
	if err != nil || !p.IsZero() {
		return append(dst, p), err
	}
	return g.undeclared(ctx, dst, key{policydecl.Prompt, name}), nil
}

// promptPolicyByName returns the policy in the declaration of a prompt. mcp-go shows single
// prompts to nobody, so this looks through all of them.
func (g *Gate) promptPolicyByName(name string) (policydecl.Policy, error) {
	prompt := g.server.ListPrompts()[name]
	if prompt == nil {
		return policydecl.Policy{}, nil
	}
	p, err := declared(prompt.Prompt.Meta)
	return p, flowerrors.Under(targetPath(policydecl.Prompt, name), err)
}

// governSession completes what the server's own declarations have found with those of the
// session.
//
// A session has few resources of its own, they change without notice, and most
// sessions have none, so they are compiled for the request that asks.
func (st *state) governSession(ctx context.Context, dst []governing, bare bool, uri string, template bool) ([]governing, bool, error) {
	entries, policies, err := sessionEntries(ctx, st.set)
	if err != nil || len(entries) == 0 {
		return dst, bare, err
	}
	m, err := resourcematch.Compile(entries)
	if err != nil {
		return dst, bare, fmt.Errorf("resources of the session: %v", err)
	}
	match := m.Match
	if template {
		match = m.MatchTemplate
	}
	matches, bareHere, err := match(nil, uri)
	if err != nil {
		return dst, bare, unreadable(err)
	}
	for _, i := range matches {
		k := key{policydecl.Resource, entries[i].Pattern}
		if entries[i].Kind == resourcematch.Template {
			k.kind = policydecl.Template
		}
		dst = append(dst, governing{policies[i], st.mode(k), k})
	}
	return dst, bare && bareHere, nil
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
	var problem *flowerrors.ConfigError
	if errors.As(err, &problem) {
		return &uriError{problem}
	}
	return err
}

// sessionEntries lists the session's resources and templates that declare a
// policy, in a fixed order.
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
		resources := s.GetSessionResources()
		for _, uri := range slices.Sorted(maps.Keys(resources)) {
			add(resourcematch.Exact, uri, resources[uri].Resource.Meta)
		}
	}
	if s, ok := session.(server.SessionWithResourceTemplates); ok {
		templates := s.GetSessionResourceTemplates()
		for _, name := range slices.Sorted(maps.Keys(templates)) {
			if t := templates[name].Template; t.URITemplate != nil {
				add(resourcematch.Template, t.URITemplate.Raw(), t.Meta)
			}
		}
	}
	return entries, policies, err
}
