package flowgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// publicPackages are the directories whose packages somebody else may import. A package that is
// not among them is internal, a program, or holds no code but tests.
var publicPackages = []string{
	"conformance", "decision", "decision/decisiontest", "errors", "host", "host/mcpgo", "middleware",
	"middleware/middlewaretest", "otelflow", "overrides", "policydecl", "resourcematch",
}

// undocumented says which exported names of a package have no comment of their own.
type undocumented struct {
	fset   *token.FileSet
	faults []string
}

func (u *undocumented) fault(at token.Pos, name, why string) {
	u.faults = append(u.faults, u.fset.Position(at).String()+": "+name+" "+why)
}

// want notes a name that none of the comments is about.
func (u *undocumented) want(name *ast.Ident, prefix string, comments ...*ast.CommentGroup) {
	if name.IsExported() && !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
		u.fault(name.Pos(), prefix+name.Name, "has no comment")
	}
}

func (u *undocumented) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				u.want(d.Name, "", d.Doc)
			} else if of := receiver(d.Recv.List[0].Type); ast.IsExported(of) {
				u.want(d.Name, of+".", d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				u.spec(d, s)
			}
		}
	}
}

func (u *undocumented) spec(d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec: // a group of constants may be explained as one
		for _, name := range s.Names {
			u.want(name, "", d.Doc, s.Doc, s.Comment)
		}
	case *ast.TypeSpec:
		own := s.Doc
		if !d.Lparen.IsValid() {
			own = d.Doc
		}
		u.want(s.Name, "", own)
		if s.Name.IsExported() {
			u.members(s.Name.Name, s.Type)
		}
	}
}

// members looks at fields and at the methods of an interface. The comment above a group, which
// ends with an empty line, is about those of its members that it names.
func (u *undocumented) members(of string, in ast.Expr) {
	list := (*ast.FieldList)(nil)
	switch in := in.(type) {
	case *ast.StructType:
		list = in.Fields
	case *ast.InterfaceType:
		list = in.Methods
	default:
		return
	}
	group, last := "", 0
	for _, f := range list.List {
		if first := u.fset.Position(start(f)).Line; first > last+1 || f.Doc != nil {
			group = f.Doc.Text()
		}
		last = u.fset.Position(f.End()).Line
		for _, name := range f.Names {
			if about := regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(group); !about {
				u.want(name, of+".", f.Doc, f.Comment)
			}
			if name.IsExported() {
				u.members(of+"."+name.Name, f.Type)
			}
		}
		if name := receiver(f.Type); len(f.Names) == 0 {
			u.want(&ast.Ident{NamePos: f.Pos(), Name: name}, of+".", f.Doc, f.Comment)
		}
	}
}

// start is where a field begins, with its comment.
func start(f *ast.Field) token.Pos {
	if f.Doc != nil {
		return f.Doc.Pos()
	}
	return f.Pos()
}

// receiver is the name of the type of a receiver, or of an embedded field.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// sources parses the files of a package, without its tests.
func sources(t *testing.T, dir string) (*token.FileSet, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if name := e.Name(); path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(fset, path.Join(dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return fset, files
}

// Every exported name, field and method of a public package has a comment.
func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, dir := range publicPackages {
		fset, files := sources(t, dir)
		if len(files) == 0 {
			t.Errorf("%s holds no package", dir)
		}
		u, doc := undocumented{fset: fset}, false
		for _, f := range files {
			doc = doc || f.Doc.Text() != ""
			u.file(f)
		}
		if !doc {
			t.Errorf("%s has no package comment", dir)
		}
		for _, fault := range u.faults {
			t.Error(fault)
		}
	}
}

// No package is left out of publicPackages that could be imported.
func TestPublicPackagesAreAll(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || name == ".":
			return err
		case slices.Contains([]string{"bench", "cmd", "examples", "interop", "internal", "soak", "testdata"}, d.Name()) || strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		if _, files := sources(t, name); len(files) > 0 && !slices.Contains(publicPackages, name) {
			t.Errorf("%s holds a package that is not among publicPackages", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUndocumentedIsFound: each kind of name that can lack a comment.
func TestUndocumentedIsFound(t *testing.T) {
	const text = `package p

type A struct {
	B int // good

	// C and D belong together.
	C int
	D int
	E int

	F struct{ G int } // good
	h int
}

func (*A) M() {}

// I is good.
type I interface { N() }

type k struct{ L int }

func (k) O() {}

// A group.
const (
	P = 1
)

var Q, r = 1, 2

// S is good.
type S struct {
	A
	*k
}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	u := undocumented{fset: fset}
	u.file(f)
	var got []string
	for _, fault := range u.faults {
		got = append(got, strings.Fields(fault)[1])
	}
	if want := []string{"A", "A.E", "A.F.G", "A.M", "I.N", "Q", "S.A"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
