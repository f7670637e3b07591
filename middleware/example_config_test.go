package middleware_test

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// While hosts do not label yet, the default accepts what nobody vouches for, and strict
// policies stay where they matter.
func ExampleConfig_default() {
	s := exportServer()
	s.AddTool(mcp.NewTool("search"), export) // no policy of its own
	cfg := quietly()
	cfg.Default = policydecl.AcceptFrom("self", "user", "host", "verified", "tofu", "unverified")
	gate, err := middleware.New(s, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(gate, "tools/call", map[string]any{"name": "search"})
	ask(gate, "tools/call", map[string]any{"name": "export"})
	// Output:
	// {"content":[{"type":"text","text":"id,name"}]}
	// refused: [{unverified }] accepts: [self user]
}

// A vendor token means what the function says that is registered for its prefix. It is given
// a contributor whose identity is in canonical form.
func ExampleConfig_matchers() {
	gold := map[string]bool{"https://partner.example/mcp": true}
	s := server.NewMCPServer("records", "1.0.0")
	if err := middleware.AddTool(s, mcp.NewTool("export"), policydecl.AcceptFrom("user", "com.example.tier:gold"), export); err != nil {
		fmt.Println(err)
		return
	}
	cfg := quietly()
	cfg.Matchers = map[string]policydecl.Matcher{
		"com.example.tier": func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
			return token == "com.example.tier:gold" && gold[c.CanonicalPrincipal()], nil
		},
	}
	gate, err := middleware.New(s, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	partner := policydecl.NewContributor("https://Partner.example/mcp", policydecl.Verified, "")
	other := policydecl.NewContributor("https://other.example/mcp", policydecl.Verified, "")
	ask(gate, "tools/call", map[string]any{"name": "export", "_meta": from(theUser, partner)})
	ask(gate, "tools/call", map[string]any{"name": "export", "_meta": from(theUser, other)})
	// Output:
	// {"content":[{"type":"text","text":"id,name"}]}
	// refused: [{verified https://other.example/mcp}] accepts: [user com.example.tier:gold]
}

// How much of a refusal the peer sees. It is a refusal to the peer in any case, and the
// record has it all.
func ExampleConfig_detail() {
	for _, detail := range []flowerrors.Detail{flowerrors.DetailFull, flowerrors.DetailNoPrincipals, flowerrors.DetailKeyOnly} {
		cfg := quietly()
		cfg.Detail = detail
		gate, err := middleware.New(exportServer(), cfg)
		if err != nil {
			fmt.Println(err)
			return
		}
		ask(gate, "tools/call", map[string]any{"name": "export", "_meta": from(aPage)})
	}
	// Output:
	// refused: [{unverified https://fetch.example/mcp}] accepts: [self user]
	// refused: [{unverified }] accepts: [self user]
	// refused: [] accepts: []
}

// A server that only reports enforces what is ready, target by target.
func ExampleConfig_modes() {
	s := exportServer()
	s.AddTool(mcp.NewTool("search"), export)
	cfg := quietly()
	cfg.Mode = middleware.DangerouslyReport
	cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "export", Mode: middleware.Enforce}}
	gate, err := middleware.New(s, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(gate, "tools/call", map[string]any{"name": "search"})
	ask(gate, "tools/call", map[string]any{"name": "export"})
	// Output:
	// {"content":[{"type":"text","text":"id,name"}]}
	// refused: [{unverified }] accepts: [self user]
}
