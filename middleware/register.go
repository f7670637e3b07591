package middleware

import (
	"maps"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// The registration helpers below stand in for the methods of the same name on
// server.MCPServer and take the policy besides. They attach the policy to the
// declaration's _meta, where clients can read it and where the gate reads it, so
// a declaration is never reachable before its policy (D4). The caller's own _meta
// is copied, not changed.
//
// They may be called before the gate is built and while it serves, from any
// goroutine. A policy with mistakes, or a second declaration of the same target,
// is not registered; the error is returned, and New reports it once more together
// with all others, so nothing is lost when a server's author ignores the return
// value at start-up (P6). An absent policy (the zero Policy) leaves the
// declaration to the server's default.

// AddTool registers a tool with its policy.
func AddTool(s *server.MCPServer, tool mcp.Tool, policy policydecl.Policy, handler server.ToolHandlerFunc) error {
	return addTool(s, &tool, policy, func() { s.AddTool(tool, handler) })
}

// AddTaskTool registers a tool that runs as a task, with its policy. A refused
// call creates no task.
func AddTaskTool(s *server.MCPServer, tool mcp.Tool, policy policydecl.Policy, handler server.TaskToolHandlerFunc) error {
	return addTool(s, &tool, policy, func() { s.AddTaskTool(tool, handler) })
}

func addTool(s *server.MCPServer, tool *mcp.Tool, policy policydecl.Policy, add func()) error {
	reg := registryOf(s)
	meta, err := attachPolicy(reg, policydecl.Tool, tool.Name, tool.Meta, policy)
	if err == nil && !policy.IsZero() {
		// Task tools have no getter, so a second declaration of one is
		// always a duplicate; other tools can be removed.
		err = reg.declare(target{policydecl.Tool, tool.Name, true}, policy, func() bool {
			return s.GetTool(tool.Name) != nil
		})
	}
	if err != nil {
		return reg.note(err)
	}
	tool.Meta = meta
	add()
	return nil
}

// AddPrompt registers a prompt with its policy, which also governs completions
// that refer to the prompt. It outlives the prompt for completions, which need no
// prompt to exist.
func AddPrompt(s *server.MCPServer, prompt mcp.Prompt, policy policydecl.Policy, handler server.PromptHandlerFunc) error {
	reg := registryOf(s)
	meta, err := attachPolicy(reg, policydecl.Prompt, prompt.Name, prompt.Meta, policy)
	if err == nil && !policy.IsZero() {
		err = reg.declare(target{policydecl.Prompt, prompt.Name, true}, policy, func() bool {
			return s.ListPrompts()[prompt.Name] != nil
		})
	}
	if err != nil {
		return reg.note(err)
	}
	prompt.Meta = meta
	s.AddPrompt(prompt, handler)
	return nil
}

// AddResource registers a resource with its policy, which governs reads of its
// URI, subscriptions to it and completions that refer to it, in every spelling
// (R2). It stays in force for the URI when the resource is removed, because a
// template may still answer there; AddResource or Govern replaces it.
func AddResource(s *server.MCPServer, resource mcp.Resource, policy policydecl.Policy, handler server.ResourceHandlerFunc) error {
	reg := registryOf(s)
	meta, err := attachPolicy(reg, policydecl.Resource, resource.URI, resource.Meta, policy)
	if err == nil && !policy.IsZero() {
		err = reg.declare(target{policydecl.Resource, resource.URI, true}, policy, func() bool {
			return s.ListResources()[resource.URI] != nil
		})
	}
	if err != nil {
		return reg.note(err)
	}
	resource.Meta = meta
	s.AddResource(resource, handler)
	return nil
}

// AddResourceTemplate registers a resource template with its policy. mcp-go may
// route a URI to any template that matches it, so all policies that match a URI
// must accept.
func AddResourceTemplate(s *server.MCPServer, template mcp.ResourceTemplate, policy policydecl.Policy, handler server.ResourceTemplateHandlerFunc) error {
	reg := registryOf(s)
	raw, err := rawTemplate(template)
	if err != nil {
		return reg.note(err)
	}
	meta, err := attachPolicy(reg, policydecl.Template, raw, template.Meta, policy)
	if err == nil && !policy.IsZero() {
		err = reg.declare(target{policydecl.Template, raw, true}, policy, func() bool { return true })
	}
	if err != nil {
		return reg.note(err)
	}
	template.Meta = meta
	s.AddResourceTemplate(template, handler)
	return nil
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
	meta, err := attachPolicy(registryOf(s), policydecl.Tool, tool.Name, tool.Meta, policy)
	if err != nil {
		return err
	}
	tool.Meta = meta
	return s.AddSessionTool(sessionID, tool, handler)
}

// AddSessionResource registers a resource for one session, with its policy,
// which counts beside those that the server has for the same URI.
func AddSessionResource(s *server.MCPServer, sessionID string, resource mcp.Resource, policy policydecl.Policy, handler server.ResourceHandlerFunc) error {
	meta, err := attachPolicy(registryOf(s), policydecl.Resource, resource.URI, resource.Meta, policy)
	if err != nil {
		return err
	}
	resource.Meta = meta
	return s.AddSessionResource(sessionID, resource, handler)
}

// AddSessionResourceTemplate registers a resource template for one session, with
// its policy, which counts beside those that the server has for the same URIs.
func AddSessionResourceTemplate(s *server.MCPServer, sessionID string, template mcp.ResourceTemplate, policy policydecl.Policy, handler server.ResourceTemplateHandlerFunc) error {
	raw, err := rawTemplate(template)
	if err != nil {
		return err
	}
	meta, err := attachPolicy(registryOf(s), policydecl.Template, raw, template.Meta, policy)
	if err != nil {
		return err
	}
	template.Meta = meta
	return s.AddSessionResourceTemplate(sessionID, template, handler)
}

// Govern gives a policy to something that is registered elsewhere or not at all:
// a tool, prompt, resource or template that somebody else adds without a policy of
// its own, every URI below a prefix (R3), or a name that only completions refer to.
// Calling it again for the same target replaces the policy.
//
// For tools and prompts a policy in the declaration itself comes first. For
// resources all policies that match must accept.
func Govern(s *server.MCPServer, kind policydecl.TargetKind, name string, policy policydecl.Policy) error {
	reg := registryOf(s)
	err := checkPolicy(reg, kind, name, policy)
	if err == nil && policy.IsZero() {
		err = &flowerrors.ConfigError{
			Path: targetPath(kind, name), Reason: flowerrors.ReasonMissing,
			Detail: "no policy", Hint: "use policydecl.AcceptFrom or policydecl.Default",
		}
	}
	if err == nil {
		err = reg.declare(target{kind, name, false}, policy, func() bool { return false })
	}
	return reg.note(err)
}

// attachPolicy returns the _meta of a declaration with the policy in it.
func attachPolicy(reg *registry, kind policydecl.TargetKind, name string, meta *mcp.Meta, policy policydecl.Policy) (*mcp.Meta, error) {
	if err := checkPolicy(reg, kind, name, policy); err != nil || policy.IsZero() {
		return meta, err
	}
	out := &mcp.Meta{}
	if meta != nil {
		if meta.AdditionalFields[policydecl.PolicyKey] != nil {
			return meta, &flowerrors.ConfigError{
				Path: targetPath(kind, name), Reason: flowerrors.ReasonDuplicate,
				Detail: "the declaration's _meta holds a policy already", Hint: "pass the policy in one place",
			}
		}
		out.ProgressToken = meta.ProgressToken
		out.AdditionalFields = maps.Clone(meta.AdditionalFields)
	}
	if out.AdditionalFields == nil {
		out.AdditionalFields = make(map[string]any, 1)
	}
	out.AdditionalFields[policydecl.PolicyKey] = policy
	return out, nil
}

// checkPolicy reports the mistakes of one declaration (P6).
func checkPolicy(reg *registry, kind policydecl.TargetKind, name string, policy policydecl.Policy) error {
	err := policy.Err()
	if set := reg.compiled.Load(); err == nil && set != nil {
		err = set.Check(policy) // the matchers of vendor tokens are known now
	}
	if err == nil && !policy.IsZero() {
		switch kind {
		case policydecl.Tool, policydecl.Prompt:
			if name == "" {
				err = &flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "it has no name"}
			}
		case policydecl.Resource:
			err = checkPattern(resourcematch.Exact, name)
		case policydecl.Template:
			err = checkPattern(resourcematch.Template, name)
		case policydecl.Prefix:
			err = checkPattern(resourcematch.Prefix, name)
		default:
			err = &flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: "this is no kind of target"}
		}
	}
	return flowerrors.Under(targetPath(kind, name), err)
}

// checkPattern reports the mistakes of one pattern, without its place in a list
// of one.
func checkPattern(kind resourcematch.Kind, pattern string) error {
	_, err := resourcematch.Compile([]resourcematch.Entry{{Kind: kind, Pattern: pattern}})
	if err == nil {
		return nil
	}
	for e := range flowerrors.All(err) {
		c := *e
		c.Path = ""
		return &c
	}
	return err
}
