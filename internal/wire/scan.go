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

// cursor walks one object or array. It is a struct and not a function that calls back,
// because this is the hot path of every request.
type cursor struct {
	b    []byte
	i    int // where to go on; after member or element, where the value starts
	more bool
}

// open returns a cursor for the object or array that opens with bracket at b[i].
func open(b []byte, i int, bracket byte) (cursor, error) {
	if i >= len(b) || b[i] != bracket {
		return cursor{}, errSyntax
	}
	return cursor{b: b, i: space(b, i+1)}, nil
}

// member moves to the next member and returns its raw name, quotes included, with
// c.i at its value; the caller sets c.i to the index after the value. It returns nil
// after the last member, with c.i behind the object.
func (c *cursor) member() (name []byte, err error) {
	if more, err := c.next('}'); !more {
		return nil, err
	}
	start := c.i
	end, err := skipString(c.b, start)
	if err != nil {
		return nil, err
	}
	i := space(c.b, end)
	if i >= len(c.b) || c.b[i] != ':' {
		return nil, errSyntax
	}
	c.i = space(c.b, i+1)
	return c.b[start:end], nil
}

// next moves over what stands between two values. It reports false at the end of the
// object or array, with c.i behind it.
func (c *cursor) next(bracket byte) (bool, error) {
	i := c.i
	if c.more {
		i = space(c.b, i)
	}
	if i >= len(c.b) {
		return false, errSyntax
	}
	switch {
	case c.b[i] == bracket:
		c.i = i + 1
		return false, nil
	case !c.more:
		c.more = true
	case c.b[i] == ',':
		i = space(c.b, i+1)
	default:
		return false, errSyntax
	}
	c.i = i
	return true, nil
}

// skip moves over the value at c.i.
func (c *cursor) skip() (err error) {
	c.i, err = skipValue(c.b, c.i)
	return err
}

// at returns the byte at c.i, or 0 at the end.
func (c *cursor) at() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}
