package flowgate_test

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// check is a test, a fuzz target or an example, as its source shows it.
type check struct {
	rules   []string // named in its name or doc comment
	interop bool     // only the module interop runs it, or only with that tag
	skipped bool     // it never does anything
	vectors []string // kinds of vectors that it runs
	texts   map[string]bool
}

// runs says why the check does not run with go test ./..., or nothing.
func (c check) runs() string {
	switch {
	case c.skipped:
		return "is always skipped"
	case c.interop:
		return "runs with the tag interop only; list it under interop"
	}
	return ""
}

// checks are the tests of this module and of interop by package.TestName, and the rules of
// the vectors by id.
type checks struct {
	tests   map[string]check
	vectors map[string][]string
}

// testOf cuts the subtest off the name of a test, which may be in a package with slashes.
func testOf(name string) string {
	dot := strings.LastIndex(name, ".")
	if slash := strings.IndexByte(name[dot+1:], '/'); slash >= 0 {
		return name[:dot+1+slash]
	}
	return name
}

var vectorID = regexp.MustCompile(`^[a-z]+/[a-z0-9-]+$`)

// why says what is wrong with a check of a row with the given rules, or nothing. The last
// argument says that the row lists it under interop.
func (k checks) why(name string, rules []string, interop bool) string {
	named := func(of []string) string {
		if !slices.ContainsFunc(rules, func(rule string) bool { return slices.Contains(of, rule) }) {
			return "names none of " + strings.Join(rules, ", ")
		}
		return ""
	}
	if vectorID.MatchString(name) {
		of, ok := k.vectors[name]
		if !ok {
			return "is no vector"
		}
		return named(of)
	}
	test := testOf(name)
	c, ok := k.tests[test]
	if !ok {
		return "is no test"
	}
	if sub := strings.TrimPrefix(strings.TrimPrefix(name, test), "/"); sub != "" && !c.texts[sub] {
		return "is no subtest: no text of the package is its name"
	}
	switch {
	case interop && !c.interop:
		return "does not need the tag interop"
	case !interop && c.runs() != "" || c.skipped:
		return c.runs()
	}
	return named(c.rules)
}

// One rule, or a range of them as in "L1 to L9".
var (
	oneRule   = regexp.MustCompile(`\b([LPUGRXDMH])([1-9])\b|\bsection 5\b`)
	ruleRange = regexp.MustCompile(`\b([LPUGRXDMH])([1-9]) to ([LPUGRXDMH])([1-9])\b`)
	ruleName  = regexp.MustCompile(`^(?:Test|Fuzz|Example)((?:[LPUGRXDMH][1-9])+)`) // as in TestP4P5DefaultApplies
)

// rulesIn returns the rules that a test names.
func rulesIn(name, doc string) (rules []string) {
	add := func(rule string) {
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	doc = strings.Join(strings.Fields(doc), " ")
	for _, m := range oneRule.FindAllString(doc, -1) {
		add(m)
	}
	for _, m := range ruleRange.FindAllStringSubmatch(doc, -1) {
		for n := m[2][0]; m[1] == m[3] && n <= m[4][0]; n++ {
			add(m[1] + string(n))
		}
	}
	if m := ruleName.FindStringSubmatch(name); m != nil {
		for i := 0; i < len(m[1]); i += 2 {
			add(m[1][i : i+2])
		}
	}
	return rules
}

// checksOf reads the sources of all tests, and the heads of all vectors. Modules within this
// one other than interop have a traceability of their own to see to.
func checksOf(t *testing.T) checks {
	t.Helper()
	known := checks{tests: map[string]check{}, vectors: map[string][]string{}}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name := entry.Name()
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if name == "testdata" || name == "node_modules" || path != "." && (name[0] == '.' || module == nil && path != "interop") {
			return filepath.SkipDir
		}
		return known.scan(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var heads struct {
			Vectors []struct {
				ID    string
				Rules []string
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &heads); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range heads.Vectors {
			known.vectors[v.ID] = v.Rules
		}
	}
	return known
}

// scan reads the tests of one directory.
func (k checks) scan(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	pkg := filepath.ToSlash(dir)
	if pkg == "." {
		pkg = "flowgate"
	}
	tagged := build.Default
	tagged.BuildTags = []string{"interop"}
	texts := map[string]bool{}
	for _, path := range files {
		plain, err := build.Default.MatchFile(dir, filepath.Base(path))
		if err != nil {
			return err
		}
		if with, _ := tagged.MatchFile(dir, filepath.Base(path)); !plain && !with {
			continue // for another system
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		collectTexts(file, texts)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !testName.MatchString(f.Name.Name) {
				continue
			}
			k.tests[pkg+"."+f.Name.Name] = check{
				rules:   rulesIn(f.Name.Name, f.Doc.Text()),
				interop: !plain || pkg == "interop",
				skipped: alwaysSkipped(f),
				vectors: vectorKinds(f),
				texts:   texts,
			}
		}
	}
	return nil
}

var testName = regexp.MustCompile(`^(?:Test|Fuzz|Example)(?:$|[^a-z])`)

// collectTexts notes every string of a file, in the form that names of subtests have.
func collectTexts(file *ast.File, texts map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				texts[strings.ReplaceAll(s, " ", "_")] = true
			}
		}
		return true
	})
}

// alwaysSkipped reports whether a test has nothing in it, or a call of Skip that nothing
// stands before.
func alwaysSkipped(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) == 0 {
		return true
	}
	stmt, ok := f.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := stmt.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
}

// vectorKinds returns the kinds that a test gives to vectors.Run.
func vectorKinds(f *ast.FuncDecl) (kinds []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Run" {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		kind, isText := call.Args[1].(*ast.BasicLit)
		if ok && isText && pkg.Name == "vectors" {
			s, _ := strconv.Unquote(kind.Value)
			kinds = append(kinds, s)
		}
		return true
	})
	return kinds
}
