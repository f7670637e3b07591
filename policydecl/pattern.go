package policydecl

import (
	"errors"
	"strings"
)

// The mistakes that a regular expression can have.
var (
	errBracket    = errors.New("a bracket is not closed")
	errParen      = errors.New("a parenthesis is not closed")
	errUnopened   = errors.New("a parenthesis is closed that was not opened")
	errRepeat     = errors.New("there is nothing to repeat")
	errBackslash  = errors.New("it ends in a backslash")
	errGroup      = errors.New("no group begins like this")
	errRepetition = errors.New("a repetition ends before it begins")
)

// checkPattern reports whether a pattern of a schema is no regular expression of ECMA-262,
// which is what JSON Schema asks for. It knows the frame of the grammar: groups, classes,
// escapes and repetitions. What is in a class or an escape it takes on trust. It reads
// the pattern once and builds nothing, because a stranger may have written it.
func checkPattern(pattern string) error {
	depth := 0
	atom := false // there is something to repeat
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i++; i == len(pattern) {
				return errBackslash
			}
			atom = true
		case '[': // an initial ] closes: [] is nothing and [^] anything
			if i = classEnd(pattern, i+1); i < 0 {
				return errBracket
			}
			atom = true
		case '(':
			skip, ok := groupHead(pattern[i+1:])
			if !ok {
				return errGroup
			}
			i += skip
			depth++
			atom = false
		case ')':
			if depth--; depth < 0 {
				return errUnopened
			}
			atom = true
		case '|', '^', '$':
			atom = false
		case '*', '+', '?', '{':
			n, err := repetition(pattern[i:])
			if err != nil {
				return err
			}
			if n == 0 { // a brace that means itself
				atom = true
				continue
			}
			if !atom {
				return errRepeat
			}
			i += n - 1
			atom = false
		default:
			atom = true
		}
	}
	if depth > 0 {
		return errParen
	}
	return nil
}

// classEnd returns the index of the bracket that ends a class, or -1.
func classEnd(pattern string, i int) int {
	for ; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case ']':
			return i
		}
	}
	return -1
}

// groupHead returns how much of what follows a parenthesis says what kind of group it is.
func groupHead(rest string) (skip int, ok bool) {
	if !strings.HasPrefix(rest, "?") {
		return 0, true
	}
	for _, head := range []string{"?:", "?=", "?!", "?<=", "?<!"} {
		if strings.HasPrefix(rest, head) {
			return len(head), true
		}
	}
	if name, found := strings.CutPrefix(rest, "?<"); found {
		end := strings.IndexAny(name, ">()[]{}|")
		return len("?<") + end + 1, end > 0 && name[end] == '>'
	}
	// Modifiers, as in (?i:a) and (?-s:a).
	end := 1
	for end < len(rest) && strings.IndexByte("ims-", rest[end]) >= 0 {
		end++
	}
	return end + 1, 1 < end && end < len(rest) && rest[end] == ':'
}

// repetition returns the length of the quantifier at the start of s, with the question mark
// that makes it lazy, or 0 for a brace that is none.
func repetition(s string) (int, error) {
	n := 1
	if s[0] == '{' {
		end := 1
		for end < len(s) && strings.IndexByte("0123456789,", s[end]) >= 0 {
			end++
		}
		if end == len(s) || s[end] != '}' {
			return 0, nil
		}
		least, most, two := strings.Cut(s[1:end], ",")
		if least == "" || strings.Contains(most, ",") {
			return 0, nil
		}
		if two && most != "" && less(most, least) {
			return 0, errRepetition
		}
		n = end + 1
	}
	if strings.HasPrefix(s[n:], "?") {
		n++
	}
	return n, nil
}

// less compares numbers of any length.
func less(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) < len(b) || len(a) == len(b) && a < b
}
