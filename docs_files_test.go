package flowgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fileName    = regexp.MustCompile(`[A-Za-z0-9_./*-]*\.go\b`)
	participant = regexp.MustCompile(`participant \w+ as (\w+) \(([^)]*\.go)\)`)
	stepOf      = regexp.MustCompile("\\*\\*The (\\w+)\\*\\* \\((`[^)]*)\\)")
	declaredIn  = regexp.MustCompile("`(\\w+)` \\(`(\\w+\\.go)`\\)")
)

// TestDocsNameFiles: each Go file that a document names is there: a link or a path from where the
// document is or from the root, and a bare name in docs/request.md in middleware.
func TestDocsNameFiles(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	named := 0
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range fileName.FindAllString(string(text), -1) {
			named++
			places := []string{filepath.Join(filepath.Dir(doc), name)}
			if !strings.HasPrefix(name, "../") {
				places = append(places, name)
			}
			if !strings.Contains(name, "/") && doc != "README.md" {
				places = append(places, filepath.Join("middleware", name))
			}
			if !slices.ContainsFunc(places, func(place string) bool {
				found, err := filepath.Glob(place)
				return err == nil && len(found) > 0
			}) {
				t.Errorf("%s names %s, which is not there", doc, name)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d names of files were found", named)
	}
}

// TestRequestNamesPlaces: docs/request.md says of each part of the gate where it is, the same in the
// picture and in the text, and one of the files declares something of that name.
func TestRequestNamesPlaces(t *testing.T) {
	text, err := os.ReadFile("docs/request.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]string{}
	for _, m := range participant.FindAllStringSubmatch(string(text), -1) {
		parts[m[1]] = strings.Split(m[2], ", ")
	}
	for _, m := range declaredIn.FindAllStringSubmatch(string(text), -1) {
		parts[m[1]] = []string{m[2]}
	}
	if len(parts) < 6 {
		t.Fatalf("parts: %v", parts)
	}
	for name, files := range parts {
		if !slices.ContainsFunc(files, func(file string) bool { return declares(t, "middleware/"+file, name) }) {
			t.Errorf("%q is declared in none of %v", name, files)
		}
	}
	steps := stepOf.FindAllStringSubmatch(string(text), -1)
	if len(steps) < 3 {
		t.Fatalf("steps: %q", steps)
	}
	for _, m := range steps {
		for _, file := range fileName.FindAllString(m[2], -1) {
			if files, ok := parts[m[1]]; ok && !slices.Contains(files, file) {
				t.Errorf("the step says that the %s is in %s, the picture that it is in %v", m[1], file, files)
			}
		}
	}
}

// declares reports whether a file declares something that has the name in its own.
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	has := func(id *ast.Ident) bool { return strings.Contains(strings.ToLower(id.Name), strings.ToLower(name)) }
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		switch d := d.(type) {
		case *ast.FuncDecl:
			return has(d.Name)
		case *ast.GenDecl:
			return slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
				spec, ok := s.(*ast.TypeSpec)
				return ok && has(spec.Name)
			})
		}
		return false
	})
}
