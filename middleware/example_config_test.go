package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
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

// While the gate is off nothing is judged, and the records say so. Apply can switch it on
// while the server runs.
func ExampleConfig_off() {
	cfg := quietly()
	cfg.Mode = middleware.DangerouslyOff
	cfg.Sinks = []decision.Sink{decision.SinkFunc(func(_ context.Context, r decision.Record) error {
		fmt.Println(r.Target, r.Verdict, r.Mode)
		return nil
	})}
	gate, err := middleware.New(exportServer(), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(gate, "tools/call", map[string]any{"name": "export"})
	// Output:
	// export unjudged off
	// {"content":[{"type":"text","text":"id,name"}]}
}

// Under a flood there are fewer records than requests, and none of the requests is forgotten.
func ExampleConfig_sampleAbove() {
	requests := uint64(0)
	cfg := quietly()
	cfg.SampleAbove = 1
	cfg.Sinks = []decision.Sink{decision.SinkFunc(func(_ context.Context, r decision.Record) error {
		requests += r.Requests()
		return nil
	})}
	gate, err := middleware.New(exportServer(), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := gate.Handler(server.WithStateLess(true))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 100 {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(unlabelled))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	fmt.Println(gate.Flush(context.Background()), requests)
	// Output:
	// <nil> 100
}
