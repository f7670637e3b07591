package plain_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"export_records":               "export_records",
		"a\nb\r\x1b[31m\x00\x7f":       `a\nb\r\x1b[31m\x00\x7f`,
		"\u202eevil\u2028\u0085\ufeff": `\u202eevil\u2028\u0085\ufeff`,
		`say "x" \ y`:                  `say "x" \\ y`,
		"\xff\xfe":                     `\xff\xfe`,
		"0123456789abcdef":             "0123456789abcdef",
		"0123456789abcdefg":            "0123456789abcdef...",
		"0123456789abcdeé":             `0123456789abcde...`,
		"0123456789abcd\U0001f600":     `0123456789abcd...`,
		strings.Repeat("\xbf", 17):     "...",
	} {
		if got := plain.Escape(in, 16); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got := plain.Quote(`say "x"`+"\n", 80); got != `"say \"x\"\n"` {
		t.Errorf("got %s", got)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max &= 1<<12 - 1; strings.ContainsFunc(plain.Escape(s, max)+plain.Quote(s, max), func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("%q is not plain", plain.Escape(s, max))
		}
		if got := plain.Escape(s, max); len(got) > 10*max+3 {
			t.Fatalf("%d bytes, of at most %d", len(got), max)
		}
	})
}
