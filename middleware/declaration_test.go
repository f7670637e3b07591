package middleware_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func rawTool(name, inputSchema string) mcp.Tool {
	return mcp.NewToolWithRawSchema(name, "", json.RawMessage(inputSchema))
}

func noTask(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) { return nil, nil }

// Declarations that a helper must refuse, each with the paths of its mistakes.
var badDeclarations = map[string]struct {
	add   func(s *server.MCPServer, policy policydecl.Policy) error
	paths []string
}{
	"a schema of another type": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"type":"array"}`), p, nothing)
		}, []string{`tools["a"].inputSchema.type`},
	},
	"a schema that is none": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"type":"object","properties":{"x":{"type":"strng"},"y":{"minLength":"3"}}}`), p, nothing)
		}, []string{`tools["a"].inputSchema.properties.x.type`, `tools["a"].inputSchema.properties.y.minLength`},
	},
	"a schema from elsewhere": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`), p, nothing)
		}, []string{`tools["a"].inputSchema.properties.x["$ref"]`},
	},
	"another dialect": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), p, nothing)
		}, []string{`tools["a"].inputSchema["$schema"]`},
	},
	"two schemas": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			both := mcp.NewTool("a")
			both.RawInputSchema = json.RawMessage(`{"type":"object"}`)
			return middleware.AddTool(s, both, p, nothing)
		}, []string{`tools["a"]`},
	},
	"a schema that is no JSON": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"type":`), p, nothing)
		}, []string{`tools["a"]`},
	},
	"a duplicate name": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("a", `{"type":"object","type":"object"}`), p, nothing)
		}, []string{`tools["a"].inputSchema.type`},
	},
	"no name": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddTool(s, rawTool("", `{"type":"object"}`), p, nothing)
		}, []string{`tools[""]`},
	},
	"a task tool": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			tool := rawTool("a", `{"type":"object","$ref":"#"}`)
			return middleware.AddTaskTool(s, tool, p, noTask)
		}, []string{`tools["a"].inputSchema["$ref"]`},
	},
	"a prompt": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddPrompt(s, mcp.NewPrompt("p", mcp.WithArgument("")), p, noPrompt)
		}, []string{`prompts["p"].arguments[0].name`},
	},
	"a resource": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddResource(s, mcp.NewResource("no-scheme", ""), p, noResource)
		}, []string{`resources["no-scheme"]`, `resources["no-scheme"].name`},
	},
	"a template": {
		func(s *server.MCPServer, p policydecl.Policy) error {
			return middleware.AddResourceTemplate(s, mcp.NewResourceTemplate("x://{id}", ""), p, noResource)
		}, []string{`templates["x://{id}"].name`},
	},
}

// P6: registration validates the whole declaration, whether it has a policy or not; what
// is wrong is not registered, and a server with it does not start.
func TestP6BadDeclarationsAreNotRegistered(t *testing.T) {
	for name, row := range badDeclarations {
		for _, policy := range []policydecl.Policy{onlyUser, noPolicy} {
			t.Run(name+"/"+strings.Join(policy.Tokens(), " "), func(t *testing.T) {
				s := server.NewMCPServer("x", "1", server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true))
				err := row.add(s, policy)
				checkPaths(t, err, row.paths, policy.IsZero())
				if len(s.ListTools())+len(s.ListPrompts())+len(s.ListResources()) > 0 {
					t.Error("registered all the same")
				}
				_, err = middleware.New(s, config())
				checkPaths(t, err, row.paths, policy.IsZero())
			})
		}
	}
}

// checkPaths allows for the place of a name, which is that of the target where there is
// a policy, and a member of the declaration elsewhere.
func checkPaths(t *testing.T, err error, paths []string, bare bool) {
	t.Helper()
	got := map[string]bool{}
	for e := range flowerrors.All(err) {
		path := e.Path
		if bare {
			path = strings.TrimSuffix(path, ".uri")
			if path == `tools[""].name` {
				path = `tools[""]`
			}
		}
		got[path] = true
		if e.Hint == "" && e.Reason != flowerrors.ReasonURI {
			t.Errorf("no way out: %v", e)
		}
	}
	for _, path := range paths {
		if !got[path] {
			t.Errorf("nothing about %s in %v", path, err)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("more than %v: %v", paths, err)
	}
}

// A session's declarations are held to the same.
func TestP6BadSessionDeclarations(t *testing.T) {
	r := newRecipient()
	for name, err := range map[string]error{
		"tool":     middleware.AddSessionTool(r.server, "s", rawTool("a", `{"type":"array"}`), onlyUser, nothing),
		"resource": middleware.AddSessionResource(r.server, "s", mcp.NewResource("x://a", ""), onlyUser, noResource),
		"template": middleware.AddSessionResourceTemplate(r.server, "s", mcp.NewResourceTemplate("x://{a}", ""), onlyUser, noResource),
	} {
		found := 0
		for range flowerrors.All(err) {
			found++
		}
		if found != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What mcp-go's own methods register is listed as it is and stops nobody: in a proxy it
// is somebody else's.
func TestUnhelpedDeclarationsAreNotJudged(t *testing.T) {
	r := newRecipient()
	r.server.AddTool(rawTool("proxied", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), nothing)
	if _, err := middleware.New(r.server, config()); err != nil {
		t.Error(err)
	}
}
