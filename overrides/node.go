package overrides

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// maxDepth is how deep a file may nest. A right one nests four levels; the others are
// there so that a wrong one is told what is wrong with it.
const maxDepth = 8

// kind is the type of a value, as JSON has them.
type kind uint8

const (
	unreadable kind = iota // what is wrong with it has been reported
	null
	boolean
	number
	text
	array
	object
)

// node is a value of a file in either notation.
type node struct {
	kind    kind
	text    string // of a scalar, as written; of a string, what it says
	line    int
	members []member // of an object, each name once
	list    []*node  // of an array
}

// member is one member of an object.
type member struct {
	name  string
	line  int
	value *node
}

// shown returns what stands for the value in a report of its wrong type.
func (n *node) shown() string {
	switch n.kind {
	case array:
		return "(array)"
	case object:
		return "(object)"
	case null:
		return "null"
	}
	return n.text
}

// value returns n as policydecl takes it. It goes down no further than to the elements of
// an array, because what is deeper is wrong in any case.
func (n *node) value() any {
	switch n.kind {
	case null:
		return nil
	case boolean:
		return n.text == "true"
	case number:
		return json.Number(n.text)
	case text:
		return n.text
	case object:
		return map[string]any{}
	case array:
		return []any{}
	}
	return struct{}{} // a mistake that [builder.judge] passes over
}

// seen are the names of one object so far.
type seen map[string]struct{}

// twice reports a name that was there before (L8).
func (r *report) twice(s seen, at *place.Place, name string, line int) bool {
	if _, twice := s[name]; !twice {
		s[name] = struct{}{}
		return false
	}
	r.add(at.Member(name), line, "L8", flowerrors.ConfigError{
		Value: name, Reason: flowerrors.ReasonDuplicate,
		Detail: "the member is there more than once, and readers differ in which they take", Hint: "keep one of them",
	})
	return true
}

// tooDeep reports a container in which nothing is looked at any more.
func (r *report) tooDeep(at *place.Place, line int) *node {
	r.add(at, line, "P6", flowerrors.ConfigError{
		Reason: flowerrors.ReasonLimit, Limit: maxDepth, Detail: "nested too deep", Hint: "nest less",
	})
	return &node{kind: unreadable, line: line}
}

// A byte order mark, as UTF-8 and as the two orders of UTF-16.
var bomUTF8, bomLittle, bomBig = []byte("\ufeff"), []byte{0xff, 0xfe}, []byte{0xfe, 0xff}

// fit reports what keeps a file from being looked at in any notation.
func (r *report) fit(data []byte) bool {
	e := flowerrors.ConfigError{Reason: flowerrors.ReasonType}
	line := 0
	switch {
	case len(data) > MaxBytes:
		e = *tooLarge(len(data))
	case bytes.HasPrefix(data, bomUTF8):
		e.Detail, e.Hint, line = "the file begins with a byte order mark", "save it as UTF-8 without one", 1
	case bytes.HasPrefix(data, bomLittle), bytes.HasPrefix(data, bomBig):
		e.Detail, e.Hint, line = "the file looks like UTF-16", "save it as UTF-8", 1
	case !utf8.Valid(data):
		line = lineAt(data, invalidAt(data))
		e.Detail, e.Hint = "the file is not UTF-8", "save it as UTF-8"
	case len(bytes.TrimSpace(data)) == 0:
		e = *isEmpty()
	default:
		return true
	}
	r.add(nil, line, "P6", e)
	return false
}

// isEmpty is the mistake of a file without a value.
func isEmpty() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Reason: flowerrors.ReasonMissing, Detail: "the file is empty", Hint: "to say nothing, write flowgate: " + version,
	}
}

// tooLarge is the mistake of a file of that many bytes.
func tooLarge(size int) *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Value: strconv.Itoa(size), Reason: flowerrors.ReasonLimit, Limit: MaxBytes,
		Detail: "the file has too many bytes", Hint: "say it in fewer targets and tokens",
	}
}

// invalidAt returns the offset of the first byte that is no UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// lineAt returns the line of an offset, counted from 1.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}

// broken reports a file that does not keep to the grammar of its notation.
func (r *report) broken(rule policydecl.Rule, line int, detail, hint string) {
	r.add(nil, line, rule, flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: detail, Hint: hint})
}
