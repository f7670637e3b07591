package policydecl

import (
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// report is what a validation has found so far.
type report struct {
	faults []Fault
}

// add reports a mistake at p. What e says of its path is replaced.
func (r *report) add(p *place.Place, rule Rule, e flowerrors.ConfigError) {
	switch {
	case len(r.faults) == MaxFaults:
		return
	case len(r.faults) == MaxFaults-1:
		p, e = nil, flowerrors.ConfigError{Reason: flowerrors.ReasonLimit, Limit: MaxFaults, Detail: "there are more mistakes than are reported", Hint: "mend these first"}
	}
	e.Path = p.Path()
	r.faults = append(r.faults, Fault{Pointer: p.Pointer(), Rule: rule, ConfigError: &e})
}

// wrong reports a value of the wrong type.
func (r *report) wrong(p *place.Place, rule Rule, v any, want, hint string) {
	r.add(p, rule, flowerrors.ConfigError{Value: describe(v), Reason: flowerrors.ReasonType, Detail: want, Hint: hint})
}

// limit reports that something exceeds a limit.
func (r *report) limit(p *place.Place, rule Rule, value string, limit int, detail, hint string) {
	r.add(p, rule, flowerrors.ConfigError{Value: value, Reason: flowerrors.ReasonLimit, Limit: limit, Detail: detail, Hint: hint})
}

// placeIn returns the place that tokens of a JSON Pointer lead to in v.
func placeIn(v any, tokens []string) *place.Place {
	var p *place.Place
	for _, token := range tokens {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(token)
			p = p.Element(i)
			v = nil
			if err == nil && i >= 0 && i < len(list) {
				v = list[i]
			}
			continue
		}
		p = p.Member(token)
		obj, _ := v.(map[string]any)
		v = obj[token]
	}
	return p
}
