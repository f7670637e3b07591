package policydecl

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// The longest number in a declaration, and the largest exponent in it. A validator
// calculates with them exactly, which has no bound of its own.
const (
	maxNumber   = 256
	maxExponent = 400
)

// bounds reports a declaration with more in it than anybody has a use for: what looks at it
// later may keep a path for every value in it. The decoder has seen to the nesting.
func (r *report) bounds(v any) {
	values, names := r.measure(nil, v, 0)
	slices.SortFunc(r.faults, func(a, b Fault) int { return strings.Compare(a.Pointer, b.Pointer) }) // members have no order
	if values > MaxDeclarationValues {
		r.limit(nil, RuleMCP, strconv.Itoa(values), MaxDeclarationValues, "the declaration holds too many values", "describe less")
	}
	if names > MaxDeclarationNames {
		r.limit(nil, RuleMCP, strconv.Itoa(names), MaxDeclarationNames, "the names in the declaration are too long for its nesting", "use shorter names")
	}
}

// measure returns how many values v holds, itself included, and how long the pointers to them
// are all together, if the one to v has length at. It reports numbers that are too long.
func (r *report) measure(p *place.Place, v any, at int) (values, names int) {
	values, names = 1, at
	add := func(p *place.Place, v any, at int) {
		n, m := r.measure(p, v, at)
		values, names = values+n, names+m
	}
	switch v := v.(type) {
	case json.Number:
		if !bounded(string(v)) {
			r.add(p, RuleJSON, flowerrors.ConfigError{
				Reason: flowerrors.ReasonLimit, Limit: maxExponent, Detail: "the number has too many digits, or too large an exponent", Hint: "write a shorter one",
			})
		}
	case []any:
		for i, e := range v {
			add(p.Element(i), e, at+len("/")+1)
		}
	case map[string]any:
		for name, e := range v {
			add(p.Member(name), e, at+len("/")+len(name))
		}
	}
	return values, names
}

// bounded reports whether arithmetic on a number is cheap.
func bounded(number string) bool {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		e, err := strconv.Atoi(number[i+1:])
		return len(number) <= maxNumber && err == nil && -maxExponent <= e && e <= maxExponent
	}
	return len(number) <= maxNumber
}
