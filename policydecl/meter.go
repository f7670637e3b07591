package policydecl

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// numberBytes is what a number counts for, whatever it is: the longest text that
// encoding/json writes for a float64.
const numberBytes = 24

// value meters v, which lies at the given level if it is a container. It reports
// false if v brings the label over a budget, is ambiguous (L8) or is
// no value of a JSON decoder.
//
// It stops at the first budget, so the work is bounded by the budgets even for a Go
// value that contains itself.
func (r *reader) value(v any, level int) bool {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case bool:
		r.bytes += len("true")
		if !v {
			r.bytes++
		}
	case nil:
		r.bytes += len("null")
	case float64:
		r.bytes += numberBytes
	case json.Number:
		r.bytes += max(numberBytes, len(v))
	case []any:
		if level > r.lim.Depth {
			return false
		}
		r.container(len(v))
		for _, e := range v {
			if !r.value(e, level+1) {
				return false
			}
		}
	case map[string]any:
		if level > r.lim.Depth {
			return false
		}
		r.container(len(v))
		return r.members(v, nil, level+1)
	default:
		return false
	}
	return r.bytes <= r.lim.Bytes
}

// container meters the brackets and commas of an object or array of n entries.
func (r *reader) container(n int) { r.bytes += len("{}") + max(n-1, 0) }

// text meters a string or a member name (L7).
func (r *reader) text(s string) bool {
	r.bytes += len(s) + len(`""`)
	return len(s) <= r.lim.String && r.bytes <= r.lim.Bytes
}

// members meters the members of obj that are not among known, and looks for names
// that a folding decoder would take for one another (L8). Their values lie at level.
func (r *reader) members(obj map[string]any, known []string, level int) bool {
	var folded map[string]struct{} // made only if two unknown names can meet
	for name, v := range obj {
		if slices.Contains(known, name) {
			continue
		}
		r.bytes += len(":")
		if !r.text(name) || !r.value(v, level) {
			return false
		}
		for _, k := range known {
			if strings.EqualFold(name, k) {
				return false
			}
		}
		if len(obj) < 2 {
			continue
		}
		if folded == nil {
			folded = make(map[string]struct{})
		}
		key := fold(name)
		if _, twice := folded[key]; twice {
			return false
		}
		folded[key] = struct{}{}
	}
	return r.bytes <= r.lim.Bytes
}

// fold maps all strings that [strings.EqualFold] calls equal to one of them.
func fold(s string) string {
	return strings.Map(func(c rune) rune {
		// The smallest rune of the orbit stands for all of them.
		least := c
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}
