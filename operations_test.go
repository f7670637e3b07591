package flowgate_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const operations = "docs/operations.md"

// The YAML blocks of the operators' guide are files of overrides without a mistake, and a
// server that has what they name takes them.
func TestOperationsYAML(t *testing.T) {
	found := 0
	for _, b := range blocksOf(t, operations) {
		if b.lang != "yaml" {
			continue
		}
		found++
		path := filepath.Join(t.TempDir(), "overrides.yaml")
		if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := overrides.Load(path)
		if err != nil {
			t.Errorf("%s:%d: %v", operations, b.line, err)
			continue
		}
		s := server.NewMCPServer("records", "1")
		run := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(""), nil
		}
		for name, policy := range map[string]policydecl.Policy{"export_records": policydecl.AcceptFrom("self", "user"), "debug_dump": policydecl.AcceptFrom("host")} {
			if err := middleware.AddTool(s, mcp.NewTool(name), policy, run); err != nil {
				t.Fatal(err)
			}
		}
		g, err := middleware.New(s, middleware.Config{URI: "https://elsewhere.example/mcp", Overrides: o})
		if err != nil {
			t.Errorf("%s:%d: %v", operations, b.line, err)
		} else if g.Overrides().Digest() != o.Digest() {
			t.Errorf("%s:%d: they are not in force", operations, b.line)
		}
	}
	if found == 0 {
		t.Fatal("the guide shows no overrides")
	}
}

// The guide says of every reason what to do, and of no other.
func TestOperationsNamesEveryReason(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "decision/record.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
				want[text] = true
			}
		}
		return true
	})
	if !want[string(decision.ReasonSeams)] || len(want) < 10 {
		t.Fatalf("reasons in the code: %v", want)
	}
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Reasons, and what to do")
	table, _, _ = strings.Cut(table, "\n## ")
	word := regexp.MustCompile("`([a-z-]+)`")
	for line := range strings.Lines(table) {
		cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(cell, "`") {
			continue
		}
		for _, m := range word.FindAllStringSubmatch(cell, -1) {
			if !want[m[1]] {
				t.Errorf("%s explains %q, which is no reason or stands there twice", operations, m[1])
			}
			delete(want, m[1])
		}
	}
	for reason := range want {
		t.Errorf("%s does not explain %q", operations, reason)
	}
}
