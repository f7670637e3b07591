package mcpgo_test

//lint:file-ignore SA1019 the earlier protocol is tested too

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The facts about mcp-go's client that this package relies on.

// plainClient is mcp-go's client over a fake, without the adapter.
func plainClient(t *testing.T, f *fake) *client.Client {
	t.Helper()
	c := client.NewClient(f)
	must(c.Start(t.Context()))
	_, err := c.Initialize(t.Context(), mcp.InitializeRequest{})
	must(err)
	return c
}

// The client puts words before the error of a transport, and none before that of an
// answer whose code means nothing to it, of which it keeps nothing but the text.
func TestFactErrorTexts(t *testing.T) {
	f := newFake("")
	c := plainClient(t, f)
	f.set("tools/call", func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		return nil, errors.New(flowerrors.ModelText)
	})
	if err := step(t.Context(), c, "a"); err == nil || err.Error() != "transport error: "+flowerrors.ModelText {
		t.Errorf("%v", err)
	}
	f.set("tools/call", fail(flowerrors.DefaultCode, flowerrors.ModelText))
	if err := step(t.Context(), c, "a"); err == nil || err.Error() != flowerrors.ModelText || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
	f.set("tools/call", fail(mcp.INTERNAL_ERROR, flowerrors.ModelText))
	if err := step(t.Context(), c, "a"); err == nil || err.Error() == flowerrors.ModelText {
		t.Errorf("%v", err)
	}
}

// The client panics when a transport returns neither an answer nor an error, so the
// adapter must not.
func TestFactNilAnswer(t *testing.T) {
	f := newFake("")
	c := plainClient(t, f)
	f.set("tools/call", func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) { return nil, nil })
	defer func() {
		if recover() == nil {
			t.Error("it copes by now")
		}
	}()
	_ = step(t.Context(), c, "a")
}

// The client looks for these optional interfaces in a transport, and no others. A new one
// has to be added to what a wrapped transport keeps.
func TestFactOptionalInterfaces(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/mark3labs/mcp-go/client").Output()
	if err != nil {
		t.Fatalf("the source of mcp-go is not at hand: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(err)
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(err)
		ast.Inspect(file, func(n ast.Node) bool {
			if a, ok := n.(*ast.TypeAssertExpr); ok {
				if x, ok := a.X.(*ast.SelectorExpr); ok && x.Sel.Name == "transport" && a.Type != nil {
					found = append(found, typeName(a.Type))
				}
			}
			return true
		})
	}
	slices.Sort(found)
	if got, want := strings.Join(slices.Compact(found), " "), "BidirectionalInterface HTTPConnection connectionLostSetter legacyRequiringTransport"; got != want {
		t.Errorf("the client looks for %s, want %s", got, want)
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// Handlers that are given to an in-process transport are called past it.
func TestFactInProcessHandlers(t *testing.T) {
	s := server.NewMCPServer("s", "1")
	s.EnableSampling()
	must(middleware.AddTool(s, mcp.NewTool("ask"), onlyUser, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := server.ServerFromContext(ctx).RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
		return mcp.NewToolResultText("asked"), err
	}))
	g, err := middleware.New(s, middleware.Config{URI: recordsURI, Logger: quiet})
	must(err)
	a := newAgent(t, hostConfig)
	asked := false
	ctx, p := a.turn(t)
	inner := g.InProcess(transport.WithSamplingHandler(asker(func(string) {
		asked = true
		if holds(p) {
			t.Error("it counts by now: the package's documentation says that it does not")
		}
	})))
	c, _ := a.dial(t, legacy, records(policydecl.Verified), inner)
	permitted(t, step(ctx, c, "ask"))
	if !asked {
		t.Error("the handler was not called")
	}
}

// The handler of a server's request that comes on a request's stream has the values of
// the request's context.
func TestFactStreamContext(t *testing.T) {
	type key struct{}
	f := newFake("[" + toolText("a") + "]")
	inner, _ := sseServer(t, f, `{"jsonrpc":"2.0","id":"s1","method":"ping"}`, "", doneEvent)
	got := make(chan any, 1)
	inner.(transport.BidirectionalInterface).SetRequestHandler(func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		got <- ctx.Value(key{})
		return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(`{}`)), nil
	})
	must(inner.Start(t.Context()))
	_, err := inner.SendRequest(context.WithValue(deadline(t), key{}, "mine"), transport.JSONRPCRequest{
		JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "tools/call",
	})
	must(err)
	if v := <-got; v != "mine" {
		t.Errorf("the handler has %v", v)
	}
}

// A client's own ids are numbers, and a string is never taken for one of them.
func TestFactIDs(t *testing.T) {
	if a, b := mcp.NewRequestId("1").String(), mcp.NewRequestId(int64(1)).String(); a == b {
		t.Errorf("%s is both", a)
	}
	f := newFake("")
	plainClient(t, f)
	for _, r := range f.sent {
		if _, ok := r.ID.Value().(int64); !ok {
			t.Errorf("%s has the id %v", r.Method, r.ID)
		}
	}
}
