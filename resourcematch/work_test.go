package resourcematch_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// R4: what matching takes is at most linear in the length of the URI. Work is counted, not
// time: twice the length may take twice as much and a little, and quadratic work takes four
// times as much.
func TestR4LinearInTheLength(t *testing.T) {
	for name, m := range map[string]*resourcematch.Matcher{"many": compile(t, many(1000)), "lists": compile(t, lists())} {
		for _, tc := range []struct{ name, head, unit, tail string }{
			{"exact", "records://customers/", "3", ""},
			{"template", "records://tenants/acme/tables/1/", "a/b", ""},
			{"prefix", "file:///srv/2/", "ab/c", ""},
			{"bare", "records://orders/", "o/", "x"},
			{"lists", "list0://", "a,b", "/c,dx1"},
			{"query", "records://customers/3?page=", "12", ""},
			{"escape", "file:///srv/%32/", "ab/c", "d"},
			{"dots", "file:///srv/2/../2/", "ab/c", "d"},
			{"everything", `list0://a%2f..;%5c\.//./b?#`, "ab/c", "d"},
		} {
			last, bytes := 0, 0
			for n := 256; n <= 4096; n *= 2 {
				uri := tc.head + strings.Repeat(tc.unit, n/len(tc.unit)) + tc.tail
				p, b := m.Work(uri)
				if p == 0 || b == 0 {
					t.Fatalf("%s, %s: no work was counted", name, tc.name)
				}
				if last > 0 && (p > 2*last+64 || b > 2*bytes) {
					t.Errorf("%s, %s: %d bytes take %d places and %d bytes; half as many took %d and %d", name, tc.name, len(uri), p, b, last, bytes)
				}
				last, bytes = p, b
			}
		}
	}
}

// R4: what matching takes grows less than the number of patterns: that many times more of
// them change next to nothing for a URI that matches the same ones.
func TestR4FlatInThePatterns(t *testing.T) {
	for _, uri := range []string{
		"records://customers/3",
		"records://tenants/acme/tables/1/a/b/c",
		"file:///srv/2/a/b/c",
		"records://customers/3?page=2",
		"records://orders/3",
		"file:///srv/%32/a%20b/../c",
		"file:///srv/2/" + strings.Repeat("a/", 500),
	} {
		few, _ := compile(t, many(10)).Work(uri)
		for _, n := range []int{100, 1000, 10_000} {
			if got, _ := compile(t, many(n)).Work(uri); got > few+8 {
				t.Errorf("%.40q: %d places with %d patterns, %d with 10", uri, got, n, few)
			}
		}
	}
}

// R4: what no URI exceeds, whatever it is made of: a number of readings, a number of bytes in
// them, and so many places for each byte, which is a matter of the patterns' shapes.
func TestR4WorkIsBounded(t *testing.T) {
	m := compile(t, lists())
	for _, tc := range hostile {
		places, bytes := m.Work(tc.uri)
		if limit := resourcematch.NumSteps() * resourcematch.MaxReadingBytes; bytes > limit {
			t.Errorf("%s: the steps were given %d bytes", tc.name, bytes)
		}
		readings, ok := resourcematch.Readings(tc.uri)
		if !ok {
			continue // refused before anything is looked up
		}
		all := 0
		for _, s := range readings {
			all += len(s)
		}
		if places > 8*all {
			t.Errorf("%s: %d places for %d bytes of readings", tc.name, places, all)
		}
	}
}
