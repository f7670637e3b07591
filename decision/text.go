package decision

import (
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// MaxText is how many bytes of one text of a peer a record shows.
const MaxText = 256

// MaxShown is how long a text can have become when it is shown: an escape takes the place
// of each byte.
const MaxShown = 4*MaxText + 8

// MaxRejected is how many contributors a record lists.
const MaxRejected = 8

// MaxTokens is how many tokens of a policy a record shows. After that many stands
// [MoreTokens]; the whole policy is known by its digest.
const MaxTokens = 64

// MoreTokens stands for the tokens that were left out. It is no token.
const MoreTokens = "..."

// Text returns what a peer has sent in printable ASCII and bounded to [MaxText] (M3). What
// it returns is not meant for it again, since it would escape the escapes; see [Shown].
func Text(s string) string { return plain.Escape(s, MaxText) }

// Shown returns s as it is if it is printable ASCII of at most [MaxShown] bytes, such as
// [Text] returns, and otherwise what Text makes of it. So it changes nothing the second
// time.
func Shown(s string) string {
	if isShown(s) {
		return s
	}
	return Text(s)
}

// isShown reports whether s is what [Shown] can return.
func isShown(s string) bool {
	if len(s) > MaxShown {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// shownTokens returns the list itself where there is nothing to change.
func shownTokens(tokens []string) []string {
	whole := len(tokens) <= MaxTokens || len(tokens) == MaxTokens+1 && tokens[MaxTokens] == MoreTokens
	if whole && !slices.ContainsFunc(tokens, func(s string) bool { return !isShown(s) }) {
		return tokens
	}
	shown := make([]string, 0, MaxTokens+1)
	for _, token := range tokens[:min(len(tokens), MaxTokens)] {
		shown = append(shown, Shown(token))
	}
	if len(tokens) > MaxTokens {
		shown = append(shown, MoreTokens)
	}
	return shown
}

// String describes the contributor on one line of printable ASCII: one of the five
// assurances, the principal, and what was given instead of one, with a space between.
// An assurance that is none is "unverified" (L4).
func (c Contributor) String() string {
	assurance, _ := policydecl.ParseAssurance(c.Assurance)
	s := assurance.String()
	if c.Principal != "" {
		s += " " + word(c.Principal)
	}
	if c.Unusable != "" {
		s += " " + quoted(c.Unusable)
	}
	return s
}

// Beyond a principal is what makes a word be taken for something else.
const beyondWord = ` "(`

// word shows a principal so that it is one word and does not look like a quotation. What
// is usable as a principal is that already.
func word(s string) string {
	if isShown(s) && !strings.ContainsAny(s, ` "`) && s[0] != '(' {
		return s
	}
	var b strings.Builder
	for _, c := range []byte(Text(s)) {
		if strings.IndexByte(beyondWord, c) < 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(map[byte]string{' ': `\x20`, '"': `\x22`, '(': `\x28`}[c])
	}
	return b.String()
}

// quoted shows an unusable value, which [policydecl.Contributor.Unusable] has quoted or
// put in parentheses.
func quoted(s string) string {
	if isShown(s) && (s[0] == '"' || s[0] == '(') {
		return s
	}
	return plain.Quote(s, MaxText)
}

// readContributor is the way back from [Contributor.String]. It reports false for a text
// that is none.
func readContributor(s string) (Contributor, bool) {
	name, rest, more := strings.Cut(s, " ")
	if _, ok := policydecl.ParseAssurance(name); !ok {
		return Contributor{}, false
	}
	c := Contributor{Assurance: name}
	if more && !strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, "(") {
		c.Principal, rest, more = strings.Cut(rest, " ")
		if c.Principal == "" {
			return Contributor{}, false
		}
	}
	if more {
		c.Unusable = rest
	}
	return c, c.String() == s
}
