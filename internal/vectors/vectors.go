// Package vectors reads the test vectors in testdata/vectors, which say in a neutral
// language what draft SEP-3193 and this project's rules ask for. Only tests use it.
//
// It is strict: a member that nobody knows, a missing one, an id that is there twice and a
// wrong count are errors, because a vector that is read in part is one that nobody runs.
package vectors

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Format is the version of the files' format.
const Format = 1

// PrototypeAsserts is how many assertions each test of the draft's prototype makes, in the
// order of its file.
var PrototypeAsserts = [...]int{
	2, 1, 1, 1, 3, 2, 1, 3, 3, 2, 3, 3, 2, 1, 3, 2, 3,
	2, 2, 2, 2, 3, 2, 5, 2, 3, 2, 3, 1, 2, 2, 2, 3, 2,
}

// Head is what every vector has.
type Head struct {
	ID        string   `json:"id"`
	About     string   `json:"about"`
	Rules     []string `json:"rules"`
	Prototype []string `json:"prototype"` // the prototype's assertions of the same, as "test.assertion"
}

// head makes a type that embeds Head a Vector.
func (h *Head) head() *Head { return h }

// Vector is a pointer to one of the types of this package.
type Vector[T any] interface {
	*T
	head() *Head
}

// file is one file of vectors.
type file[T any] struct {
	Format  int    `json:"format"`
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Vectors []T    `json:"vectors"`
}

var (
	idForm   = regexp.MustCompile(`^[a-z]+/[a-z0-9]+(-[a-z0-9]+)*$`)
	ruleForm = regexp.MustCompile(`^(L[1-9]|P[1-9]|U[1-4]|G[1-6]|R[1-4]|X[1-5]|D[1-4]|M[1-3]|H[1-7])$`)
)

// Parse reads the text of a file of the given kind.
func Parse[T any, P Vector[T]](text []byte, kind string) ([]T, error) {
	var f file[T]
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	switch {
	case f.Format != Format:
		return nil, fmt.Errorf("format %d, want %d", f.Format, Format)
	case f.Kind != kind:
		return nil, fmt.Errorf("kind %q, want %q", f.Kind, kind)
	case len(f.Vectors) == 0:
		return nil, errors.New("no vectors")
	case len(f.Vectors) != f.Count:
		return nil, fmt.Errorf("%d vectors, but the count says %d", len(f.Vectors), f.Count)
	}
	seen := map[string]bool{}
	for i := range f.Vectors {
		h := P(&f.Vectors[i]).head()
		if err := h.check(kind); err != nil {
			return nil, fmt.Errorf("vector %d, %s: %w", i, h.ID, err)
		}
		if seen[h.ID] {
			return nil, fmt.Errorf("%s is there twice", h.ID)
		}
		seen[h.ID] = true
	}
	return f.Vectors, nil
}

func (h *Head) check(kind string) error {
	if !idForm.MatchString(h.ID) || !strings.HasPrefix(h.ID, kind+"/") {
		return errors.New("the id has another form")
	}
	if h.About == "" || len(h.Rules) == 0 {
		return errors.New("about or rules are missing")
	}
	for _, rule := range h.Rules {
		if !ruleForm.MatchString(rule) {
			return fmt.Errorf("there is no rule %q", rule)
		}
	}
	for _, name := range h.Prototype {
		if !asserted(name) {
			return fmt.Errorf("the prototype has no assertion %q", name)
		}
	}
	return nil
}

// asserted reports whether the prototype has an assertion of that name.
func asserted(name string) bool {
	for test, asserts := range PrototypeAsserts {
		for n := range asserts {
			if name == AssertName(test, n) {
				return true
			}
		}
	}
	return false
}

// AssertName is the name of an assertion of the prototype, which counts from 1; test and n
// count from 0.
func AssertName(test, n int) string { return fmt.Sprintf("%d.%d", test+1, n+1) }

// Run runs every vector of a kind as a subtest. It fails if the file is missing, cannot be
// read to the letter, or holds a vector that was not run.
func Run[T any, P Vector[T]](t *testing.T, kind string, run func(*testing.T, T)) {
	t.Helper()
	list, err := Load[T, P](kind)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, v := range list {
		t.Run(strings.TrimPrefix(P(&v).head().ID, kind+"/"), func(t *testing.T) {
			ran++
			run(t, v)
		})
	}
	if ran != len(list) && !chosen() {
		t.Errorf("%d of %d vectors were run", ran, len(list))
	}
}

// chosen reports whether the command line asks for some subtests only.
func chosen() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && strings.Contains(f.Value.String(), "/") {
			return true
		}
	}
	return false
}

// Load reads the file of a kind.
func Load[T any, P Vector[T]](kind string) ([]T, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, kind+".json"))
	if err != nil {
		return nil, err
	}
	list, err := Parse[T, P](text, kind)
	if err != nil {
		return nil, fmt.Errorf("%s.json: %w", kind, err)
	}
	return list, nil
}

// Dir returns the directory of the vectors, which is looked for from the directory of the
// test upwards.
func Dir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "vectors"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test")
		}
		dir = parent
	}
}

// Same reports whether two JSON texts are the same value. Neither may hold a name twice.
func Same(a, b []byte) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
