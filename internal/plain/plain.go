// Package plain makes text from a peer fit for a log or a terminal (M3). It knows nothing
// but strings.
package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote returns s as a quoted string in printable ASCII, of which at most max bytes of s
// are shown; an ellipsis stands for the rest. No character is cut in two.
func Quote(s string, max int) string {
	if len(s) <= max {
		return strconv.QuoteToASCII(s)
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	q := strconv.QuoteToASCII(s[:max])
	return q[:len(q)-1] + `..."`
}

// Escape is [Quote] without quotes around it, and with those inside as they are: on one
// line, in printable ASCII.
func Escape(s string, max int) string {
	q := Quote(s, max)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
