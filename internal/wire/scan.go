package wire

import (
	"bytes"
	"errors"
)

// maxDepth bounds nesting. encoding/json stops at the same depth, so nothing
// that mcp-go would run is lost by it.
const maxDepth = 10_000

// errSyntax reports bytes that are not JSON. Callers that follow
// encoding/json never see it.
var errSyntax = errors.New("not a JSON value")

// errDepth reports nesting beyond maxDepth.
var errDepth = errors.New("nested too deeply")

// space returns the index of the first byte at or after i that is not JSON
// white space.
func space(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// skipString returns the index after the string that opens at b[i].
//
// It jumps from quote to quote and counts the backslashes that stand directly
// before each. Every backslash belongs to one run and every run ends at one
// quote, so the work is linear. After an escaped quote it walks a little before it
// jumps again, because where there is one there are more, as in JSON inside JSON.
func skipString(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, errSyntax
	}
	start := i + 1
	for i = start; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for j := i - 1; j >= start && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1, nil
		}
		i++
		for near := min(i+walk, len(b)); i < near; i++ {
			switch b[i] {
			case '"':
				return i + 1, nil
			case '\\':
				i++ // and what it escapes
			}
		}
		start = i
	}
	return len(b), errSyntax
}

// walk is how many bytes skipString looks at one by one after an escaped quote.
const walk = 32

// skipValue returns the index after the value that starts at b[i], without
// looking at what it holds.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errSyntax
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':':
			if i == start {
				return i, errSyntax
			}
			return i, nil
		}
		i++
	}
	if i == start {
		return i, errSyntax
	}
	return i, nil
}

// skipNested skips an object or array by counting brackets outside strings.
// It keeps no stack, so depth costs nothing.
func skipNested(b []byte, i int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, err := skipString(b, i)
			if err != nil {
				return end, err
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return i, errSyntax
}

// members walks the object that opens at b[i] and calls visit with each raw
// member name (quotes included) and the index at which its value starts. visit
// returns the index after the value. members returns the index after the
// object.
func members(b []byte, i int, visit func(name []byte, value int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return i, errSyntax
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		end, err := skipString(b, i)
		if err != nil {
			return end, err
		}
		name := b[i:end]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return i, errSyntax
		}
		if i, err = visit(name, space(b, i+1)); err != nil {
			return i, err
		}
		i = space(b, i)
		if i >= len(b) {
			return i, errSyntax
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, errSyntax
		}
	}
}

// elements walks the array that opens at b[i] as members walks an object.
func elements(b []byte, i int, visit func(value int) (int, error)) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return i, errSyntax
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = visit(i); err != nil {
			return i, err
		}
		i = space(b, i)
		if i >= len(b) {
			return i, errSyntax
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case ']':
			return i + 1, nil
		default:
			return i, errSyntax
		}
	}
}
