package wire

import (
	"bytes"
	"strconv"
)

// Unambiguous reports whether text is one JSON value that has one reading: no object
// in it has two members that encoding/json could take for each other. It is for what
// [ReadRequest] leaves unjudged.
func Unambiguous(text []byte) bool {
	end, err := unique(text, space(text, 0), "the value", nil, 0)
	return err == nil && space(text, end) == len(text)
}

// unique checks the names of every object inside the value at b[i].
func unique(b []byte, i int, where string, known []string, depth int) (int, error) {
	if depth > maxDepth {
		return i, errDepth
	}
	if i >= len(b) {
		return i, errSyntax
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{':
		c, err := open(b, i, '{')
		if err != nil {
			return i, err
		}
		seen := names{where: where, known: known}
		for {
			name, err := c.member()
			if err != nil || name == nil {
				return c.i, err
			}
			if _, err := seen.add(name); err != nil {
				return c.i, err
			}
			if c.i, err = unique(b, c.i, where, known, depth+1); err != nil {
				return c.i, err
			}
		}
	case '[':
		c, err := open(b, i, '[')
		if err != nil {
			return i, err
		}
		for {
			more, err := c.next(']')
			if err != nil || !more {
				return c.i, err
			}
			if c.i, err = unique(b, c.i, where, known, depth+1); err != nil {
				return c.i, err
			}
		}
	}
	end, err := skipValue(b, i)
	if err == nil && !holdable(b[i:end]) {
		err = &AmbiguousError{Where: where, Name: string(b[i:end]), Detail: "is a number that mcp-go cannot hold, so it would not read the rest"}
	}
	return end, err
}

// holdable reports whether encoding/json can put a scalar into an interface value:
// only a number beyond the range of float64 is refused.
func holdable(scalar []byte) bool {
	if c := scalar[0]; c != '-' && (c < '0' || c > '9') || len(scalar) < 300 && !bytes.ContainsAny(scalar, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(scalar), 64)
	return err == nil
}
