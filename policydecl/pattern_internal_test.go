package policydecl

import (
	"errors"
	"strings"
	"testing"
)

// The grammar is that of ECMA-262; rows were compared with an engine for it.
func TestCheckPattern(t *testing.T) {
	for pattern, want := range map[string]error{
		"": nil, "^[^]*$": nil, "[]": nil, "[[:alpha:]": nil, "]": nil, "}": nil, "{": nil, "a{": nil, "a{x}": nil, "{b}": nil, "a{,3}": nil,
		`^(?=.*\d)(?!x)(?<=a)(?<!b)(?:c)(?<name>d)\k<name>$`: nil, `\p{L}+?`: nil, `a{2,}?b{3}c*?`: nil, "(?i:a)": nil, "(a|)": nil, `[\]]`: nil, `\(`: nil,
		"a{00002,2}": nil, "(?i-s:a)": nil,
		"[": errBracket, `[\]`: errBracket, "[^": errBracket, "[a": errBracket,
		"(": errParen, "((a)": errParen, `(\)`: errParen, "(?:": errParen,
		")": errUnopened, "(a))": errUnopened,
		"*": errRepeat, "a**": errRepeat, "a+*": errRepeat, "(*)": errRepeat, "|?": errRepeat, "^*": errRepeat, "a{2}{3}": errRepeat, "{2}": errRepeat,
		`\`: errBackslash, `a\`: errBackslash,
		"(?P<x>a)": errGroup, "(?a)": errGroup, "(?<>a)": errGroup, "(?": errGroup, "(?-:": errParen, "(?x:a)": errGroup,
		"a{3,1}": errRepetition, "a{10,9}": errRepetition,
		strings.Repeat("(", 1<<20): errParen, strings.Repeat("[", 1<<20): errBracket, strings.Repeat("{", 1<<20): nil,
	} {
		if err := checkPattern(pattern); !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", pattern, err, want)
		}
	}
}
