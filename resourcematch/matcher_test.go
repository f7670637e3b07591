package resourcematch_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Pattern sets of the tables. fixture is the one of the cases from the field.
var (
	fixture = []resourcematch.Entry{
		0: {Kind: resourcematch.Exact, Pattern: "records://customers"},
		1: {Kind: resourcematch.Template, Pattern: "notes://item/{id}"},
		2: {Kind: resourcematch.Template, Pattern: "notes://export{?data}"},
		3: {Kind: resourcematch.Template, Pattern: "file:///{+path}"},
		4: {Kind: resourcematch.Prefix, Pattern: "file:///secret/"},
	}
	accents = []resourcematch.Entry{
		0: {Kind: resourcematch.Exact, Pattern: "docs://café/list"},
		1: {Kind: resourcematch.Template, Pattern: "docs://{+rest}"},
		2: {Kind: resourcematch.Exact, Pattern: "docs://caf%C3%A9/escaped"},
	}
	shapes = []resourcematch.Entry{
		0:  {Kind: resourcematch.Exact, Pattern: "Records://Secret?x=1#f"},
		1:  {Kind: resourcematch.Template, Pattern: "records://{+path}"},
		2:  {Kind: resourcematch.Template, Pattern: "a://{x}Mid{+y}End/Tail/"},
		3:  {Kind: resourcematch.Template, Pattern: "a://h{?q%20}/path{#f}"},
		4:  {Kind: resourcematch.Template, Pattern: "a://h/{x,y:3}{z*}/{&q}"},
		5:  {Kind: resourcematch.Exact, Pattern: `a://h/x\y;v=1`},
		6:  {Kind: resourcematch.Prefix, Pattern: "b://"},
		7:  {Kind: resourcematch.Template, Pattern: "a://q?fixed={x}{y}"},
		8:  {Kind: resourcematch.Prefix, Pattern: "a://dots/x/../y//"},
		9:  {Kind: resourcematch.Template, Pattern: "c:{x}"},
		10: {Kind: resourcematch.Template, Pattern: "d://{x}/"},
	}
)

var matches = []struct {
	name    string
	entries []resourcematch.Entry
	uri     string
	want    []int
	bare    bool
}{
	{"exact", fixture, "records://customers", []int{0}, false},
	{"unknown", fixture, "records://orders", nil, true},
	{"longer", fixture, "records://customers2", nil, true},
	{"shorter", fixture, "records://customer", nil, true},
	{"empty", fixture, "", nil, true},
	{"R1 query", fixture, "records://customers?x=1", []int{0}, false},
	{"R1 fragment", fixture, "records://customers#x", []int{0}, false},
	{"R1 query with slashes", fixture, "records://customers?next=https://h//x", []int{0}, false},
	{"R1 query expression", fixture, "notes://export?data=1", []int{2}, false},
	{"R1 no query", fixture, "notes://export", []int{2}, false},
	{"variable", fixture, "notes://item/7", []int{1}, false},
	{"empty variable", fixture, "notes://item/", []int{1}, true}, // the slash may be dropped
	{"variable stops at a slash", fixture, "notes://item/7/8", nil, true},

	{"R3 inside", fixture, "file:///secret/k", []int{3, 4}, false},
	{"R3 sibling", fixture, "file:///secretx", []int{3}, false},
	{"R3 outside", fixture, "file:///public/secret/k", []int{3}, false},
	{"R3 the directory", fixture, "file:///secret", []int{3, 4}, false},
	{"R3 the directory with a slash", fixture, "file:///secret/", []int{3, 4}, false},
	{"R3 the directory with a query", fixture, "file:///secret?x", []int{3, 4}, false},

	{"R2 dots", fixture, "file:///a/../secret/k", []int{3, 4}, false},
	{"R2 dot", fixture, "file:///./secret/k", []int{3, 4}, false},
	{"R2 dots above the root", fixture, "file:///../../secret/k", []int{3, 4}, false},
	{"R2 escaped dots", fixture, "file:///a/%2e%2E/secret/k", []int{3, 4}, false},
	{"R2 half escaped dots", fixture, "file:///a/.%2e/secret/k", []int{3, 4}, false},
	{"R2 escaped twice", fixture, "file:///a/%252e%252e/secret/k", []int{3, 4}, false},
	{"R2 escaped five times", fixture, "file:///a/%252525252e./secret/k", []int{3, 4}, false},
	{"R2 letters escaped", fixture, "file:///%73ecre%74/k", []int{3, 4}, false},
	{"R2 an escape of an escape", fixture, "file:///%25%37%33ecret/k", []int{3, 4}, false},
	{"R2 escaped slash", fixture, "file:///secret%2fk", []int{3, 4}, false},
	{"R2 escaped slash that stays", fixture, "file:///x%2Fy/%2e%2e/secret/k", []int{3, 4}, false},
	{"R2 escaped slash that goes", fixture, "file:///x%2F..%2Fsecret%2Fk", []int{3, 4}, false},
	{"R2 parameters on dots", fixture, "file:///a/..;/secret/k", []int{3, 4}, false},
	{"R2 parameters with values", fixture, "file:///a/..;x=1;y/secret;v=2/k", []int{3, 4}, false},
	{"R2 escaped parameters", fixture, "file:///a/..%3Bx/secret/k", []int{3, 4}, false},
	{"R2 escaped parameters and dots", fixture, "file:///a/%2e%2e%3bx%2Fsecret%3b/k", []int{3, 4}, false},
	{"R2 empty segments", fixture, "file:////secret//k", []int{3, 4}, false},
	{"R2 dots that eat an empty segment", fixture, "file:///a//../secret/k", []int{3, 4}, false},
	{"R2 dots that eat a segment behind an empty one", fixture, "file:///a//../../secret/k", []int{3, 4}, false},
	{"R2 backslash", fixture, `file:///a\..\secret\k`, []int{3, 4}, false},
	{"R2 escaped backslash", fixture, `file:///a%5c..%5Csecret%5Ck`, []int{3, 4}, false},
	{"R2 query as a name", fixture, "file:///a?b/../secret/k", []int{3, 4}, false},
	{"R2 fragment as a name", fixture, "file:///a#b/../../secret/k", []int{3, 4}, false},
	{"R2 escaped query", fixture, "file:///secret%3F/k", []int{3, 4}, false},
	{"R2 query after the dots", fixture, "file:///x/../secret/a?b/../../..", []int{3, 4}, false},
	{"R2 query and fragment", fixture, "file:///a?/../secret/k#/../../..", []int{3, 4}, false},
	{"R2 scheme", fixture, "FILE:///secret/k", []int{3, 4}, false},
	{"R2 case of a path", fixture, "file:///SECRET/k", []int{3}, false},
	{"R2 authority of a file", fixture, "file://localhost/secret/k", []int{3, 4}, true},
	{"R2 first segment as an authority", fixture, "file://secret/k", []int{3, 4}, true},
	{"R2 file without authority", fixture, "file:/secret/k", []int{3, 4}, true},
	{"R2 escaped authority", fixture, "file:/%2F%2Fsecret/k", []int{3, 4}, true},
	{"R2 NUL", fixture, "file:///secret/k\x00.txt", []int{3, 4}, false},
	{"R2 escaped NUL", fixture, "file:///secret%00/../secret/k", []int{3, 4}, false},
	{"R2 not UTF-8", fixture, "file:///secret/\xff\xfe", []int{3, 4}, false},
	{"R2 decodes to what is not UTF-8", fixture, "file:///secret/%ff%C0%AF", []int{3, 4}, false},
	{"invalid escapes stay", fixture, "file:///secret/%zz%", []int{3, 4}, false},
	{"invalid escapes beside valid ones", fixture, "file:///%zz/%2e%2e/secret/%2", []int{3, 4}, false},
	{"dots in a variable", fixture, "notes://item/..%2Fexport", []int{1, 2}, true},
	{"the authority is a segment", fixture, "notes://x/../item/7", []int{1}, true},
	{"no scheme", fixture, "../records://customers", []int{0}, true},
	{"escaped scheme", fixture, "records%3A//customers", []int{0}, true},
	{"template text", fixture, "notes://item/{id}", []int{1}, false},

	{"case 37 raw", accents, "docs://café/list", []int{0, 1}, false},
	{"case 37 upper", accents, "docs://caf%C3%A9/list", []int{0, 1}, false},
	{"case 37 lower", accents, "docs://caf%c3%a9/list", []int{0, 1}, false},
	{"case 37 other way", accents, "docs://café/escaped", []int{1, 2}, false},
	{"case 37 other case", accents, "docs://caf%c3%A9/escaped", []int{1, 2}, false},
	{"another letter", accents, "docs://cafe\u0301/list", []int{1}, false},

	{"case of authority", shapes, "RECORDS://SECRET", []int{0, 1}, false},
	{"query of a pattern", shapes, "records://secret?x=2", []int{0, 1}, false},
	{"authority in the way of dots", shapes, "records://a/../secret", []int{0, 1}, false},
	{"authority in dots", shapes, "records://..;/Secret", []int{0, 1}, false},
	{"slash at the end", shapes, "records://secret/", []int{0, 1}, false},
	{"case in a template", shapes, "A://1Mid/2End/Tail/", []int{2}, false},
	{"case in a template, all authority", shapes, "a://1midEND/Tail", []int{2}, false},
	{"case in a template, some authority", shapes, "A://1MID/2End/Tail", []int{2}, false},
	{"query expression in the middle, absent", shapes, "a://h/path", []int{3}, false},
	{"query expression in the middle, there", shapes, "a://h?q=1/path", []int{3}, false},
	{"fragment expression", shapes, "a://h/path#f", []int{3}, false},
	{"list and ampersand", shapes, "a://h/1,2/&q=3", []int{4}, false},
	{"ampersand takes anything", shapes, "a://h/1/2/3", []int{4}, false},
	{"exact with parameters and backslash", shapes, `a://h/x\y;v=1`, []int{4, 5}, true},
	{"exact with a slash instead", shapes, "a://h/x/y;v=1", []int{4, 5}, false},
	{"whole scheme", shapes, "b://x/y", []int{6}, false},
	{"whole scheme, nothing behind", shapes, "b://", []int{6}, false},
	{"literal query in a template", shapes, "a://q?other", []int{7}, false},
	{"dots in a pattern", shapes, "a://dots/y/z", []int{8}, false},
	{"dots in both", shapes, "a://dots/x/../y//z", []int{8}, false},
	{"slash at the end of a template", shapes, "d://x/", []int{10}, false},
	{"no slash at the end of a template", shapes, "d://x", []int{10}, false},
	{"opaque", shapes, "c:x", []int{9}, false},
	{"opaque with dots", shapes, "c:a/../x", []int{9}, true},
}

func compile(t testing.TB, entries []resourcematch.Entry) *resourcematch.Matcher {
	t.Helper()
	m, err := resourcematch.Compile(entries)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// R1, R2, R3, R4.
func TestMatch(t *testing.T) {
	for _, tc := range matches {
		t.Run(tc.name, func(t *testing.T) {
			m := compile(t, tc.entries)
			got, bare, err := m.Match([]int{-1}, tc.uri)
			if err != nil {
				t.Fatal(err)
			}
			if want := append([]int{-1}, tc.want...); !slices.Equal(got, want) || bare != tc.bare {
				t.Errorf("%q: got %v, %t, want %v, %t", tc.uri, got, bare, want, tc.bare)
			}
		})
	}
}

// For completion/complete, which names a template by its text.
func TestMatchTemplate(t *testing.T) {
	for _, tc := range []struct {
		entries []resourcematch.Entry
		text    string
		want    []int
		bare    bool
	}{
		{fixture, "notes://item/{id}", []int{1}, false},
		{fixture, "notes://item/{other}", []int{1}, false},
		{fixture, "NOTES://item/{id}", []int{1}, false},
		{fixture, "notes://item/%7Bid%7D", []int{1}, false},
		{fixture, "notes://item/7", []int{1}, false},
		{fixture, "notes://export{?data}", []int{2}, false},
		{fixture, "notes://export{?other}", []int{2}, false},
		{fixture, "notes://export{#other}", []int{2}, false},
		{fixture, "notes://export?data={d}", []int{2}, false},
		{fixture, "notes://export", []int{2}, false},
		{fixture, "file:///{+path}", []int{3}, false},
		{fixture, "file:///a/../secret/{name}{?q}", []int{3, 4}, false},
		{fixture, "records://customers", []int{0}, false},
		{fixture, "records://customers{", nil, true},
		{fixture, "records://orders/{id}{?q}", nil, true},
		{shapes, "a://h{?q%20}/path{#f}", []int{3}, false},
		{shapes, "a://h{?q}/path", []int{3}, false},
		{shapes, "a://q?fixed={x}{y}", []int{7}, false},
	} {
		got, bare, err := compile(t, tc.entries).MatchTemplate(nil, tc.text)
		if err != nil || !slices.Equal(got, tc.want) || bare != tc.bare {
			t.Errorf("%q: got %v, %t, %v, want %v, %t", tc.text, got, bare, err, tc.want, tc.bare)
		}
	}
}

// R4, and R2 where it would cost too much: refused, never read halfway.
func TestMatchRefuses(t *testing.T) {
	m := compile(t, fixture)
	deep := "%" + strings.Repeat("25", resourcematch.MaxReadings+1) + "2e"
	odd := `a%2525252f..;%25255c\..//./%253b/..%253f/..%2523;/%2525252f/b%252525?#`
	long := "file:///" + strings.Repeat("a", resourcematch.MaxURI)
	for _, uri := range []string{long, "file:///" + deep, "file:///" + odd} {
		for name, match := range map[string]func([]int, string) ([]int, bool, error){
			"Match": m.Match, "MatchTemplate": m.MatchTemplate,
		} {
			got, bare, err := match([]int{7}, uri)
			var e *flowerrors.ConfigError
			if !errors.As(err, &e) || e.Reason != flowerrors.ReasonLimit || e.Value != uri || e.Limit == 0 {
				t.Errorf("%s(%.40q): got error %v", name, uri, err)
			}
			if !slices.Equal(got, []int{7}) || !bare {
				t.Errorf("%s(%.40q): got %v, %t", name, uri, got, bare)
			}
		}
	}
	if _, _, err := (*resourcematch.Matcher)(nil).Match(nil, long); err == nil {
		t.Error("a nil matcher took a URI that is too long")
	}
	if _, _, err := m.Match(nil, long[:resourcematch.MaxURI]); err != nil {
		t.Errorf("the longest URI: %v", err)
	}
}

func TestEmptyMatcher(t *testing.T) {
	for name, m := range map[string]*resourcematch.Matcher{
		"nil": nil, "zero": {}, "no entries": compile(t, nil),
	} {
		for _, match := range []func([]int, string) ([]int, bool, error){m.Match, m.MatchTemplate} {
			if got, bare, err := match(nil, "records://customers"); len(got) > 0 || !bare || err != nil {
				t.Errorf("%s: got %v, %t, %v", name, got, bare, err)
			}
		}
	}
}

// An ordinary URI has one reading, and the short way for it says so only where
// the steps agree.
func TestReadings(t *testing.T) {
	for _, uri := range []string{
		"records://customers", "file:///secret/k", "https://h.example/a.b/c-d_e~f", "urn:isbn:1", "notes://item/7", "", "x",
	} {
		if r, ok := resourcematch.Readings(uri); !ok || len(r) != 1 || !resourcematch.IsOrdinary(uri) {
			t.Errorf("%q: got %q, %t", uri, r, ok)
		}
	}
	odd := "file://H/a%20b/c;v=1/.././/d/?x=1#f"
	if r, ok := resourcematch.Readings(odd); !ok || len(r) < 50 {
		t.Errorf("%q: got %d readings, %t", odd, len(r), ok)
	}
}

func TestConcurrentMatch(t *testing.T) {
	m := compile(t, fixture)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for _, tc := range matches {
					if &tc.entries[0] != &fixture[0] {
						continue
					}
					if got, bare, err := m.Match(nil, tc.uri); err != nil || bare != tc.bare || !slices.Equal(got, tc.want) {
						t.Errorf("%q: got %v, %t, %v", tc.uri, got, bare, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestMatchAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations differ under the race detector")
	}
	m, dst := compile(t, fixture), make([]int, 0, 8)
	for _, uri := range []string{"records://customers", "notes://item/7", "file:///secret/k", "records://customers?x=1", "records://orders"} {
		if n := testing.AllocsPerRun(1000, func() { _, _, _ = m.Match(dst, uri) }); n != 0 {
			t.Errorf("%q: %v allocations, want 0", uri, n)
		}
	}
	for _, tc := range canonicals {
		if n := testing.AllocsPerRun(100, func() { _, _ = resourcematch.Canonical(tc.want) }); n != 0 {
			t.Errorf("Canonical(%q): %v allocations, want 0", tc.want, n)
		}
	}
}

// A handler that joins what a template gives it to a directory does not care how many
// slashes come first, so no number of them may lead past a policy (R2).
func TestLeadingSlashes(t *testing.T) {
	m := compile(t, []resourcematch.Entry{
		{Kind: resourcematch.Template, Pattern: "repo://{+path}"},
		{Kind: resourcematch.Prefix, Pattern: "repo://secret/"},
		{Kind: resourcematch.Exact, Pattern: "repo://customers"},
		{Kind: resourcematch.Template, Pattern: "memo:{+path}"},
		{Kind: resourcematch.Prefix, Pattern: "memo:secret/"},
		{Kind: resourcematch.Template, Pattern: "file:///{+path}"},
		{Kind: resourcematch.Prefix, Pattern: "file:///secret/"},
	})
	for uri, want := range map[string]int{
		"repo:///secret/key": 1, "repo:////secret/key": 1, "repo://%2Fsecret/key": 1, "repo://%2f%2Fsecret/key": 1, `repo://\secret/key`: 1, "repo://./secret/key": 1,
		"repo:///customers": 2, "repo://%2fcustomers": 2, "repo:///customers?x": 2,
		"memo:/secret/key": 4, "memo://secret/key": 4, "memo:///secret/key": 4, "memo:%2Fsecret/key": 4, "memo:%2F%2F%2Fsecret/key": 4,
		"file:////secret/key": 6, "file:///%2Fsecret/key": 6,
	} {
		got, bare, err := m.Match(nil, uri)
		if err != nil || bare || !slices.Contains(got, want) {
			t.Errorf("%s: %v, bare %v, %v; want %d among them", uri, got, bare, err, want)
		}
	}
	if got, bare, err := m.Match(nil, "file:///public/key"); err != nil || bare || len(got) != 1 {
		t.Errorf("an ordinary file URI: %v, %v, %v", got, bare, err)
	}
}
