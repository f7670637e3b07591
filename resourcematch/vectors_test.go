package resourcematch_test

import (
	"slices"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/vectors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// TestURIVectors: U1 to U3, in the words of testdata/vectors. What is canonical stays as it is.
func TestURIVectors(t *testing.T) {
	vectors.Run(t, "uris", func(t *testing.T, v vectors.URI) {
		got, err := resourcematch.Canonical(string(v.URI))
		if (err == nil) != (v.Canonical != nil) || got != string(v.Canonical) {
			t.Fatalf("%q, %v; want %q", got, err, v.Canonical)
		}
		if resourcematch.Usable(string(v.URI)) != (v.Canonical != nil) {
			t.Error("Usable says otherwise")
		}
		if err != nil {
			return
		}
		if again, err := resourcematch.Canonical(got); err != nil || again != got {
			t.Errorf("the canonical form becomes %q, %v", again, err)
		}
	})
}

// TestEqualityVectors: U1 and U4. Two URIs are equal exactly when their canonical forms are.
func TestEqualityVectors(t *testing.T) {
	vectors.Run(t, "equality", func(t *testing.T, v vectors.Equality) {
		a, errA := resourcematch.Canonical(v.A)
		b, errB := resourcematch.Canonical(v.B)
		if equal := errA == nil && errB == nil && a == b; equal != v.Equal {
			t.Errorf("%q (%v) and %q (%v): equal %v", a, errA, b, errB, equal)
		}
	})
}

func entries(t *testing.T, list []vectors.Pattern) []resourcematch.Entry {
	t.Helper()
	kinds := map[string]resourcematch.Kind{
		"exact": resourcematch.Exact, "template": resourcematch.Template, "prefix": resourcematch.Prefix,
	}
	out := make([]resourcematch.Entry, len(list))
	for i, p := range list {
		if kinds[p.Kind] == 0 {
			t.Fatalf("no kind: %q", p.Kind)
		}
		out[i] = resourcematch.Entry{Kind: kinds[p.Kind], Pattern: string(p.Pattern)}
	}
	return out
}

// TestResourceVectors: R1 to R4. All readings of a URI are looked up.
func TestResourceVectors(t *testing.T) {
	vectors.Run(t, "resources", func(t *testing.T, v vectors.Resource) {
		m, err := resourcematch.Compile(entries(t, v.Patterns))
		if err != nil {
			t.Fatal(err)
		}
		got, bare, err := m.Match(nil, string(v.URI))
		switch w := v.Want; {
		case (err != nil) != w.Refused:
			t.Fatalf("refused: %v", err)
		case w.Refused:
			return
		case w.AtLeast != nil:
			for _, i := range w.AtLeast {
				if !slices.Contains(got, i) {
					t.Errorf("governed by %v, want %d among them", got, i)
				}
			}
		case !slices.Equal(got, w.Patterns):
			t.Errorf("governed by %v, want %v", got, w.Patterns)
		}
		if v.Want.Default != nil && bare != *v.Want.Default {
			t.Errorf("and by the default: %v", bare)
		}
		if len(got) == 0 && !bare {
			t.Error("governed by nothing at all")
		}
	})
}

// TestPatternVectors: P6 for the patterns of resources (R2, R3), every mistake at once.
func TestPatternVectors(t *testing.T) {
	vectors.Run(t, "patterns", func(t *testing.T, v vectors.PatternFaults) {
		list := entries(t, v.Patterns)
		for i := range list {
			list[i].Path = string(rune('a' + i))
		}
		_, err := resourcematch.Compile(list)
		var got, want []string
		for e := range flowerrors.All(err) {
			got = append(got, e.Path+" "+string(e.Reason))
		}
		for _, f := range v.Faults {
			want = append(want, string(rune('a'+f.Pattern))+" "+f.Reason)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}
