package flowgate_test

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/overrides"
)

// codeOf yields the indented blocks in the doc comments of a package, each with the name of
// its file.
func codeOf(t *testing.T, dir string) iter.Seq2[string, string] {
	fset, parsed := sources(t, dir)
	return func(yield func(string, string) bool) {
		for _, f := range parsed {
			for _, doc := range docsOf(f) {
				for _, b := range new(comment.Parser).Parse(doc.Text()).Content {
					if code, ok := b.(*comment.Code); ok && !yield(fset.Position(f.Package).Filename, code.Text) {
						return
					}
				}
			}
		}
	}
}

// docsOf returns the doc comments of a file that go doc shows.
func docsOf(f *ast.File) []*ast.CommentGroup {
	docs := []*ast.CommentGroup{f.Doc}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			docs = append(docs, n.Doc)
			return false
		case *ast.GenDecl:
			docs = append(docs, n.Doc)
		case *ast.TypeSpec:
			docs = append(docs, n.Doc)
		case *ast.ValueSpec:
			docs = append(docs, n.Doc)
		case *ast.Field:
			docs = append(docs, n.Doc)
		}
		return true
	})
	return docs
}

// isGo reports whether a text is Go: declarations, or what can stand in a function.
func isGo(text string) bool {
	for _, whole := range []string{"package p\n" + text, "package p\nfunc _() {\n" + text + "\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", whole, parser.SkipObjectResolution); err == nil {
			return true
		}
	}
	return false
}

// compiledIn is the text of the tests of a package, which the compiler and vet have seen.
func compiledIn(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(squeeze(string(text)) + "\n")
	}
	return all.String()
}

// TestDocComments checks that every Go snippet in a doc comment is part of a test of the same
// package. In a public package every block has to be Go, so that a snippet with a mistake is
// not taken for something else; the only other thing there is a file of overrides, which is
// read.
func TestDocComments(t *testing.T) {
	snippets, files := 0, 0
	err := fs.WalkDir(os.DirFS("."), ".", func(dir string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.':
			return fs.SkipDir
		}
		compiled := compiledIn(t, dir)
		for at, text := range codeOf(t, dir) {
			switch {
			case strings.Contains(compiled, squeeze(text)):
				snippets++
			case dir == "overrides" && strings.HasPrefix(text, "flowgate: "):
				if _, err := overrides.Parse(at, []byte(text)); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				files++
			case isGo(text) || slices.Contains(publicPackages, dir):
				t.Errorf("%s: no test of that package holds this snippet:\n%s", at, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if snippets < 12 || files != 1 {
		t.Errorf("%d snippets and %d files of overrides were found", snippets, files)
	}
}

// TestIsGo: what is taken for Go.
func TestIsGo(t *testing.T) {
	for text, want := range map[string]bool{
		"err := f()\nreturn err":           true,
		"func f() {}":                      true,
		"x, err := f(ctx, // a comment\n)": true,
		"go test ./soak":                   false,
		"flowgate: 1\nmode: enforce # x":   false,
		`{"command", "error"}`:             false,
		"flowgate validate FILE|-":         false,
	} {
		if isGo(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
