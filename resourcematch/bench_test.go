package resourcematch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// many returns n entries of all kinds that share their beginnings.
func many(n int) []resourcematch.Entry {
	entries := make([]resourcematch.Entry, 0, n)
	for i := range n {
		e := resourcematch.Entry{Kind: resourcematch.Exact, Pattern: fmt.Sprintf("records://customers/%d", i)}
		switch i % 4 {
		case 1:
			e = resourcematch.Entry{Kind: resourcematch.Template, Pattern: fmt.Sprintf("records://tenants/{tenant}/tables/%d/{+key}", i)}
		case 2:
			e = resourcematch.Entry{Kind: resourcematch.Prefix, Pattern: fmt.Sprintf("file:///srv/%d/", i)}
		}
		entries = append(entries, e)
	}
	return entries
}

// hostile names inputs that cost as much as the limits allow (case 38).
var hostile = []struct{ name, uri string }{
	{"commas and percents", pad("list0://", ",%")},
	{"escapes", pad("list0://", "%2C,")},
	{"slashes", pad("list0://", "/")},
	{"questions", pad("list0://", "?/")},
	{"deep", pad("list0://%", "25")},
	{"everything", pad("list0://", `a%2f..;%5c\.//./b?#`)},
	{"late dots", pad("list0://", "a") + `/..;%2F\?#`},
}

func pad(head, unit string) string {
	return (head + strings.Repeat(unit, resourcematch.MaxURI))[:resourcematch.MaxURI-10]
}

// lists returns the templates of case 38.
func lists() []resourcematch.Entry {
	var entries []resourcematch.Entry
	for i := range 100 {
		entries = append(entries,
			resourcematch.Entry{Kind: resourcematch.Template, Pattern: fmt.Sprintf("list0://{+a,b,c*}/{d,e}x%d", i)},
			resourcematch.Entry{Kind: resourcematch.Template, Pattern: fmt.Sprintf("list0://{a,b},{c*},{+d}%d", i)})
	}
	return entries
}

// Case 38. A matcher that backtracks would not come back from these before the
// test's deadline. What they cost is for BenchmarkMatchHostile to say.
func TestHostileURIsEnd(t *testing.T) {
	m := compile(t, lists())
	for _, tc := range hostile {
		matches, bare, err := m.Match(nil, tc.uri)
		if err == nil && len(matches) == 0 && !bare {
			t.Errorf("%s: no match, not bare, and no error", tc.name)
		}
	}
	if _, _, err := m.Match(nil, strings.Repeat(",%", 1<<19)); err == nil {
		t.Error("1 MiB was read")
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		m := compile(b, many(n))
		for _, tc := range []struct{ name, uri string }{
			{"exact", "records://customers/3"},
			{"template", "records://tenants/acme/tables/1/a/b/c"},
			{"prefix", "file:///srv/2/a/b/c"},
			{"query", "records://customers/3?page=2"},
			{"bare", "records://orders/3"},
			{"escaped", "file:///srv/%32/a%20b/../c"},
		} {
			b.Run(fmt.Sprintf("n=%d/%s", n, tc.name), func(b *testing.B) {
				dst := make([]int, 0, 8)
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := m.Match(dst, tc.uri); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkMatchHostile(b *testing.B) {
	m := compile(b, lists())
	for _, tc := range hostile {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = m.Match(nil, tc.uri) // some are refused
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		entries := many(n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compile(b, entries)
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, uri := range []string{"https://records.example/mcp", "HTTPS://Records.Example:443", "urn:mcp:user"} {
		b.Run(uri, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := resourcematch.Canonical(uri); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
