package flowgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// spoken are the names of this module's API in a text: what follows one of its packages, a
// gate or a Config. A name in a test's own domain, such as t, is none.
var spoken = regexp.MustCompile(`\b(?:middleware|middlewaretest|policydecl|overrides|decision|decisiontest|host|mcpgo|gate|Config)\.([A-Z]\w*)`)

// inExamples returns the identifiers in the examples of the public packages that have an
// output, which is what makes go test run them.
func inExamples(t *testing.T) (used map[string]bool, examples map[string]int) {
	t.Helper()
	used, examples = map[string]bool{}, map[string]int{}
	for _, dir := range append([]string{"cmd/flowgate"}, publicPackages...) {
		names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") {
					continue
				}
				if !hasOutput(f, fn) {
					t.Errorf("%s: %s has no output, so it is not run", name, fn.Name)
				}
				examples[dir]++
				ast.Inspect(f, func(n ast.Node) bool { // with what the examples of a file share
					if id, ok := n.(*ast.Ident); ok {
						used[id.Name] = true
					}
					return true
				})
			}
		}
	}
	return used, examples
}

func hasOutput(f *ast.File, fn *ast.FuncDecl) bool {
	for _, c := range f.Comments {
		if fn.Body.Pos() < c.Pos() && c.End() < fn.Body.End() && strings.HasPrefix(c.Text(), "Output:") {
			return true
		}
	}
	return false
}

// Every public package has an example that runs, and what the README and the guides speak of is
// in one.
func TestWhatIsSpokenOfHasAnExample(t *testing.T) {
	used, examples := inExamples(t)
	for _, dir := range append([]string{"cmd/flowgate"}, publicPackages...) {
		if examples[dir] == 0 {
			t.Errorf("%s has no example", dir)
		}
	}
	found := 0
	for _, name := range []string{"README.md", "docs/hosts.md", "docs/operations.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spoken.FindAllStringSubmatch(string(text), -1) {
			if found++; !used[m[1]] {
				t.Errorf("%s: no example has %s", name, m[0])
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d names were found", found)
	}
}
