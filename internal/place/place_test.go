package place_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/internal/place"
)

// step is a name, or an index where that is not negative.
type step struct {
	name  string
	index int
}

func name(s string) step { return step{s, -1} }
func index(i int) step   { return step{"", i} }

func placeOf(steps []step) *place.Place {
	var p *place.Place
	for _, s := range steps {
		if s.index < 0 {
			p = p.Member(s.name)
		} else {
			p = p.Element(s.index)
		}
	}
	return p
}

func isTools(name string) bool { return name == "tools" }

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		steps                    []step
		pointer, path, pathUnder string
	}{
		{nil, "", "", ""},
		{[]step{name("default")}, "/default", "default", "default"},
		{[]step{name("tools")}, "/tools", "tools", "tools"},
		{[]step{name("acceptFrom"), index(1)}, "/acceptFrom/1", "acceptFrom[1]", "acceptFrom[1]"},
		{[]step{name("tools"), name("export"), name("acceptFrom"), index(10)},
			"/tools/export/acceptFrom/10", "tools.export.acceptFrom[10]", `tools["export"].acceptFrom[10]`},
		{[]step{name("tools"), name("export"), name("export")}, "/tools/export/export", "tools.export.export", `tools["export"].export`},
		{[]step{name("other"), name("export")}, "/other/export", "other.export", "other.export"},
		{[]step{name("a"), name("tools"), name("b")}, "/a/tools/b", "a.tools.b", "a.tools.b"},
		{[]step{name("tools"), index(0), name("x")}, "/tools/0/x", "tools[0].x", "tools[0].x"},
		{[]step{index(0), name("x")}, "/0/x", "[0].x", "[0].x"},
		{[]step{name("0"), name("_Az9")}, "/0/_Az9", "0._Az9", "0._Az9"},
		{[]step{name("")}, "/", `[""]`, `[""]`},
		{[]step{name("_meta"), name("com.example/a~b"), name("x")}, "/_meta/com.example~1a~0b/x", `_meta["com.example/a~b"].x`, `_meta["com.example/a~b"].x`},
		{[]step{name(`a"]`)}, `/a"]`, `["a\"]"]`, `["a\"]"]`},
		{[]step{name("\u202e\x1b"), name("\u00fc")}, "/\u202e\x1b/\u00fc", `["\u202e\x1b"]["\u00fc"]`, `["\u202e\x1b"]["\u00fc"]`},
	} {
		p := placeOf(tt.steps)
		if got := p.Pointer(); got != tt.pointer {
			t.Errorf("%v: pointer %q, want %q", tt.steps, got, tt.pointer)
		}
		if got := p.Path(); got != tt.path {
			t.Errorf("%v: path %q, want %q", tt.steps, got, tt.path)
		}
		if got := p.PathUnder(isTools); got != tt.pathUnder {
			t.Errorf("%v: path under sections %q, want %q", tt.steps, got, tt.pathUnder)
		}
	}
	if got := placeOf([]step{index(0), name("x")}).PathUnder(func(string) bool { return true }); got != "[0].x" {
		t.Errorf("an element of the root is a section: %q", got)
	}
	for _, key := range []string{"export", "", "a b", "\u202e"} {
		if got, want := place.Keyed("tools", key), placeOf([]step{name("tools"), name(key)}).PathUnder(isTools); got != want {
			t.Errorf("the path of the member %q is %q, want %q", key, got, want)
		}
	}
	// A step from a place leaves it and its neighbours as they are.
	p := placeOf([]step{name("a")})
	first := p.Member("b")
	p.Element(1).Member("c")
	if p.Path() != "a" || first.Path() != "a.b" {
		t.Errorf("%q and %q have changed", p.Path(), first.Path())
	}
}

// pointerSteps reads a pointer with whole names, the slow way.
func pointerSteps(pointer string) (names []string) {
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		token = strings.ReplaceAll(token, "~1", "/")
		names = append(names, strings.ReplaceAll(token, "~0", "~"))
		if pointer = ""; more {
			pointer = "/" + rest
		}
	}
	return names
}

func pathSteps(path string) (steps []step, ok bool) {
	for path != "" {
		name, index, length := place.Cut(path)
		if length == 0 {
			return steps, false
		}
		steps = append(steps, step{name, max(index, -1)})
		path = path[length:]
	}
	return steps, true
}

// What is written reads back, for every name there can be, and a JSON library writes and
// reads the same pointers.
func TestRoundTrip(t *testing.T) {
	alphabet := []string{"a", "0", "_", "Z", "~", "/", "~0", "~1", ".", "[", "]", `"`, `\`, "'", "`", "\x00", "\n", "\xff", "\u00e9", "\u202e", "\U0001f600", "tools"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		steps := make([]step, r.IntN(5))
		var names []string
		for i := range steps {
			if r.IntN(3) == 0 {
				steps[i] = index(r.IntN(12))
				names = append(names, strconv.Itoa(steps[i].index))
				continue
			}
			var b strings.Builder
			for range r.IntN(4) {
				b.WriteString(alphabet[r.IntN(len(alphabet))])
			}
			steps[i] = name(b.String())
			names = append(names, b.String())
		}
		p := placeOf(steps)
		for _, path := range []string{p.Path(), p.PathUnder(isTools)} {
			if got, ok := pathSteps(path); !ok || !slices.Equal(got, steps) {
				t.Fatalf("the path %q of %v reads back as %v", path, steps, got)
			}
			if strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Fatalf("the path %q of %v is not printable", path, steps)
			}
		}
		pointer := p.Pointer()
		if got := pointerSteps(pointer); !slices.Equal(got, names) {
			t.Fatalf("the pointer %q of %q reads back as %q", pointer, names, got)
		}
		if !utf8.ValidString(pointer) {
			continue // the library mends it
		}
		var twin jsontext.Pointer
		for _, name := range names {
			twin = twin.AppendToken(name)
		}
		if string(twin) != pointer {
			t.Fatalf("the pointer of %q is %q, want %q", names, pointer, twin)
		}
		if got := slices.Collect(jsontext.Pointer(pointer).Tokens()); !slices.Equal(got, names) {
			t.Fatalf("the pointer %q of %q is read as %q", pointer, names, got)
		}
	}
}

// What is no path is not read past its end, nor for ever.
func TestCutNoPath(t *testing.T) {
	for _, path := range []string{"", "[", "[]", "[x]", "[-1]", "[1", `["`, `["a"`, `["a"x]`, "[\"\n\"]", "[99999999999999999999]"} {
		if name, _, length := place.Cut(path); length != 0 || name != "" {
			t.Errorf("%q: %q, of length %d", path, name, length)
		}
	}
}
