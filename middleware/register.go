package middleware

import (
	"errors"
	"maps"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// AddTool registers a tool with its policy, in place of server.MCPServer.AddTool. An
// absent policy leaves the tool to the server's default.
//
// To replace a tool while the gate serves, take it from the server first, with its
// DeleteTools. The policy stays with the name: if somebody registers the tool again without
// a helper and without a policy, calls have to be accepted by it and by the default, and
// the log says so.
//
// The error lists the mistakes of the declaration, which is then not registered. Like
// all helpers it may be called from any goroutine, before the gate is built and while
// it serves; see "Declaring policies" in the package documentation.
func AddTool(s *server.MCPServer, tool mcp.Tool, policy policydecl.Policy, handler server.ToolHandlerFunc) error {
	return addTool(s, &tool, policy, helper, handler != nil, func() { s.AddTool(tool, wrapTool(registryOf(s), tool.Name, policy, handler)) })
}

// AddTaskTool registers a tool that runs as a task, with its policy, as [AddTool]
// does. A refused call creates no task.
func AddTaskTool(s *server.MCPServer, tool mcp.Tool, policy policydecl.Policy, handler server.TaskToolHandlerFunc) error {
	return addTool(s, &tool, policy, taskHelper, handler != nil, func() { s.AddTaskTool(tool, wrapTaskTool(registryOf(s), tool.Name, policy, handler)) })
}

func addTool(s *server.MCPServer, tool *mcp.Tool, policy policydecl.Policy, o origin, handled bool, add func()) error {
	return register(s, target{policydecl.Tool, tool.Name, o}, tool, &tool.Meta, policy, handled, add)
}

// AddPrompt registers a prompt with its policy, as [AddTool] does a tool. The policy
// also governs completions that refer to the prompt.
func AddPrompt(s *server.MCPServer, prompt mcp.Prompt, policy policydecl.Policy, handler server.PromptHandlerFunc) error {
	return register(s, target{policydecl.Prompt, prompt.Name, helper}, &prompt, &prompt.Meta, policy, handler != nil, func() { s.AddPrompt(prompt, wrapPrompt(registryOf(s), prompt.Name, policy, handler)) })
}

// AddResource registers a resource with its policy, as [AddTool] does a tool. The
// policy governs reads of its URI, subscriptions to it and completions that refer to
// it, in every spelling (R2). It stays in force for the URI when the resource is
// removed, because a template may still answer there; declaring the URI again, or
// [Govern], replaces it then. What is registered without a helper has to be accepted by
// the default besides, whatever policy was declared for its URI before.
//
// Once there is a gate, each declaration of a resource or template compiles all of
// them anew, so add many of them before.
func AddResource(s *server.MCPServer, resource mcp.Resource, policy policydecl.Policy, handler server.ResourceHandlerFunc) error {
	return register(s, target{policydecl.Resource, resource.URI, helper}, &resource, &resource.Meta, policy, handler != nil, func() {
		s.AddResource(resource, wrapResource(registryOf(s), policydecl.Resource, resource.URI, policy, handler))
	})
}

// AddResourceTemplate registers a resource template with its policy, as
// [AddResource] does a resource. mcp-go may route a URI to any template that matches
// it, so all policies that match a URI must accept. mcp-go does not show which templates
// it has, so one that was declared can be declared again with the same policy while the
// gate serves, but not with another.
func AddResourceTemplate(s *server.MCPServer, template mcp.ResourceTemplate, policy policydecl.Policy, handler server.ResourceTemplateHandlerFunc) error {
	raw, err := rawTemplate(template)
	if err != nil && s != nil {
		return registryOf(s).note(err)
	}
	return register(s, target{policydecl.Template, raw, helper}, &template, &template.Meta, policy, handler != nil, func() {
		handler := server.ResourceHandlerFunc(handler)
		s.AddResourceTemplate(template, server.ResourceTemplateHandlerFunc(wrapResource(registryOf(s), policydecl.Template, raw, policy, handler)))
	})
}

// register checks a declaration, records its policy, puts that into the declaration's
// _meta, to which meta points, and adds the declaration to the server, in that order, so that it is never
// reachable before its policy (D4).
func register(s *server.MCPServer, t target, declaration any, meta **mcp.Meta, policy policydecl.Policy, handled bool, add func()) error {
	reg, err := registryFor(s)
	if err != nil {
		return err
	}
	if !handled {
		return reg.note(&flowerrors.ConfigError{
			Path: targetPath(t.kind, t.name), Reason: flowerrors.ReasonMissing, Detail: "it has no handler", Hint: "pass one",
		})
	}
	err = attachPolicy(reg, t.kind, t.name, declaration, meta, policy)
	if err == nil && policy.IsZero() {
		err = reg.withdraw(t)
	} else if err == nil {
		err = reg.declare(t, policy, func() bool { return isRegistered(s, t.kind, t.name) })
	}
	if err != nil {
		return reg.note(err)
	}
	reg.know(key{t.kind, t.name})
	add()
	return nil
}

// registryFor is registryOf for what a caller has passed.
func registryFor(s *server.MCPServer) (*registry, error) {
	if s == nil {
		return nil, errNoServer
	}
	return registryOf(s), nil
}

func rawTemplate(t mcp.ResourceTemplate) (string, error) {
	if t.URITemplate == nil || t.URITemplate.Template == nil {
		return "", &flowerrors.ConfigError{
			Path: targetPath(policydecl.Template, t.Name), Reason: flowerrors.ReasonMissing,
			Detail: "the template has no URI template", Hint: "make it with mcp.NewResourceTemplate",
		}
	}
	return t.URITemplate.Raw(), nil
}

// AddSessionTool registers a tool for one session, with its policy. Without a
// policy the session's tool has that of the global tool of the same name. Besides
// the errors of the package it returns those of server.AddSessionTool.
func AddSessionTool(s *server.MCPServer, sessionID string, tool mcp.Tool, policy policydecl.Policy, handler server.ToolHandlerFunc) error {
	reg, err := registryFor(s)
	if err != nil {
		return err
	}
	if err := attachPolicy(reg, policydecl.Tool, tool.Name, &tool, &tool.Meta, policy); err != nil {
		return err
	}
	return s.AddSessionTool(sessionID, tool, wrapTool(reg, tool.Name, policy, handler))
}

// AddSessionResource registers a resource for one session, with its policy,
// which counts beside those that the server has for the same URI. Without a policy the
// default counts beside them, also in place of a resource with a policy of its own.
func AddSessionResource(s *server.MCPServer, sessionID string, resource mcp.Resource, policy policydecl.Policy, handler server.ResourceHandlerFunc) error {
	reg, err := registryFor(s)
	if err != nil {
		return err
	}
	if err := attachPolicy(reg, policydecl.Resource, resource.URI, &resource, &resource.Meta, policy); err != nil {
		return err
	}
	return s.AddSessionResource(sessionID, resource, wrapResource(reg, policydecl.Resource, resource.URI, policy, handler))
}

// AddSessionResourceTemplate registers a resource template for one session, with
// its policy, which counts beside those that the server has for the same URIs.
func AddSessionResourceTemplate(s *server.MCPServer, sessionID string, template mcp.ResourceTemplate, policy policydecl.Policy, handler server.ResourceTemplateHandlerFunc) error {
	raw, err := rawTemplate(template)
	if err != nil {
		return err
	}
	reg, err := registryFor(s)
	if err != nil {
		return err
	}
	if err := attachPolicy(reg, policydecl.Template, raw, &template, &template.Meta, policy); err != nil {
		return err
	}
	wrapped := wrapResource(reg, policydecl.Template, raw, policy, server.ResourceHandlerFunc(handler))
	return s.AddSessionResourceTemplate(sessionID, template, server.ResourceTemplateHandlerFunc(wrapped))
}

// Govern gives a policy to something that is registered elsewhere or not at all:
// a tool, prompt, resource or template that somebody else adds without a policy of
// its own, every URI below a prefix (R3), or a name that only completions refer to.
// Calling it again for the same target replaces the policy. A target that a helper has
// registered has its policy already, so it is an error to govern it too.
//
// Whatever the server has not got when the gate is made is logged at level Warn, since a
// misspelt name protects nothing.
//
// Of resources, all policies that match a URI must accept; so a prefix makes a part of
// a template's space stricter than the template, never looser.
func Govern(s *server.MCPServer, kind policydecl.TargetKind, name string, policy policydecl.Policy) error {
	reg, err := registryFor(s)
	if err != nil {
		return err
	}
	err = checkPolicy(reg, kind, name, policy)
	if err == nil && policy.IsZero() {
		err = &flowerrors.ConfigError{
			Path: targetPath(kind, name), Reason: flowerrors.ReasonMissing,
			Detail: "no policy", Hint: "use policydecl.AcceptFrom or policydecl.Default",
		}
	}
	if err == nil {
		err = reg.declare(target{kind, name, byGovern}, policy, func() bool { return isRegistered(s, kind, name) })
	}
	return reg.note(err)
}

// isRegistered reports whether s has, or may have, something of that name. mcp-go
// shows neither its task tools nor its templates, so these count as there once they
// were declared.
func isRegistered(s *server.MCPServer, kind policydecl.TargetKind, name string) bool {
	switch kind {
	case policydecl.Tool:
		return s.GetTool(name) != nil || !registryOf(s).lookup(target{kind, name, taskHelper}).IsZero()
	case policydecl.Prompt:
		return s.ListPrompts()[name] != nil
	case policydecl.Resource:
		return s.ListResources()[name] != nil
	}
	return true
}

// attachPolicy puts a policy into the _meta of a declaration, to which meta points, or
// reports every mistake in the two.
func attachPolicy(reg *registry, kind policydecl.TargetKind, name string, declaration any, meta **mcp.Meta, policy policydecl.Policy) error {
	with, err := withPolicy(reg, kind, name, *meta, policy)
	if err == nil {
		*meta = with
	}
	return errors.Join(err, checkDeclaration(kind, name, declaration, !policy.IsZero()))
}

// withPolicy returns the _meta of a declaration with the policy in it.
func withPolicy(reg *registry, kind policydecl.TargetKind, name string, meta *mcp.Meta, policy policydecl.Policy) (*mcp.Meta, error) {
	if err := checkPolicy(reg, kind, name, policy); err != nil || policy.IsZero() {
		return meta, err
	}
	if meta != nil && meta.AdditionalFields[policydecl.PolicyKey] != nil {
		return meta, &flowerrors.ConfigError{
			Path: targetPath(kind, name), Reason: flowerrors.ReasonDuplicate,
			Detail: "the declaration's _meta holds a policy already", Hint: "pass the policy in one place",
		}
	}
	return withMeta(meta, policy), nil
}

// withMeta returns a copy of a _meta with the policy in it.
func withMeta(meta *mcp.Meta, policy policydecl.Policy) *mcp.Meta {
	out := &mcp.Meta{}
	if meta != nil {
		out.ProgressToken = meta.ProgressToken
		out.AdditionalFields = maps.Clone(meta.AdditionalFields)
	}
	if out.AdditionalFields == nil {
		out.AdditionalFields = make(map[string]any, 1)
	}
	out.AdditionalFields[policydecl.PolicyKey] = policy
	return out
}

// checkPolicy reports the mistakes of a policy and of what it is to govern (P6).
func checkPolicy(reg *registry, kind policydecl.TargetKind, name string, policy policydecl.Policy) error {
	err := policy.Err()
	if st := reg.now.Load(); err == nil && st != nil {
		err = st.set.Check(policy) // the matchers of vendor tokens are known now
	}
	if !policy.IsZero() {
		err = errors.Join(err, checkTarget(kind, name))
	}
	return flowerrors.Under(targetPath(kind, name), err)
}

// checkTarget reports why no request could name a target.
func checkTarget(kind policydecl.TargetKind, name string) error {
	switch kind {
	case policydecl.Tool, policydecl.Prompt:
		if name == "" {
			return &flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "it has no name", Hint: "give it one"}
		}
		return nil
	case policydecl.Resource:
		return checkPattern(resourcematch.Exact, name)
	case policydecl.Template:
		return checkPattern(resourcematch.Template, name)
	case policydecl.Prefix:
		return checkPattern(resourcematch.Prefix, name)
	}
	return &flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: "this is no kind of target"}
}

// checkPattern reports the mistakes of one pattern, without its place in a list
// of one.
func checkPattern(kind resourcematch.Kind, pattern string) error {
	_, err := resourcematch.Compile([]resourcematch.Entry{{Kind: kind, Pattern: pattern}})
	if err == nil {
		return nil
	}
	var e *flowerrors.ConfigError
	if errors.As(err, &e) {
		c := *e
		c.Path = ""
		return &c
	}
	return err
}
