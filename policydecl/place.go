package policydecl

import (
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// place is where a value lies in a JSON text: the names and indices that lead to it.
// It is a list that shares its tail, so that walking costs nothing until something is
// wrong.
type place struct {
	parent *place
	name   string
	index  int // of an element of an array; name is empty then
	array  bool
}

func (p *place) member(name string) *place { return &place{parent: p, name: name} }
func (p *place) element(i int) *place      { return &place{parent: p, index: i, array: true} }

// steps returns the places from the root to p, without the root.
func (p *place) steps() []*place {
	n := 0
	for q := p; q != nil; q = q.parent {
		n++
	}
	steps := make([]*place, n)
	for q := p; q != nil; q = q.parent {
		n--
		steps[n] = q
	}
	return steps
}

// pointer returns p as a JSON Pointer (RFC 6901).
func (p *place) pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		b.WriteByte('/')
		if s.array {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.name))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// path returns p as the Path of a [flowerrors.ConfigError].
func (p *place) path() string {
	var b strings.Builder
	for _, s := range p.steps() {
		step := "[" + strconv.Itoa(s.index) + "]"
		if !s.array {
			step = memberPath(s.name)
		}
		if b.Len() > 0 && step[0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// placeIn returns the place that tokens of a JSON Pointer lead to in v.
func placeIn(v any, tokens []string) *place {
	var p *place
	for _, token := range tokens {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(token)
			p = p.element(i)
			v = nil
			if err == nil && i >= 0 && i < len(list) {
				v = list[i]
			}
			continue
		}
		p = p.member(token)
		obj, _ := v.(map[string]any)
		v = obj[token]
	}
	return p
}

// report is what a validation has found so far.
type report struct {
	faults []Fault
}

// add reports a mistake at p. What e says of its path is replaced.
func (r *report) add(p *place, rule Rule, e flowerrors.ConfigError) {
	switch {
	case len(r.faults) == MaxFaults:
		return
	case len(r.faults) == MaxFaults-1:
		p, e = nil, flowerrors.ConfigError{Reason: flowerrors.ReasonLimit, Limit: MaxFaults, Detail: "there are more mistakes than are reported", Hint: "mend these first"}
	}
	e.Path = p.path()
	r.faults = append(r.faults, Fault{Pointer: p.pointer(), Rule: rule, ConfigError: &e})
}

// wrong reports a value of the wrong type.
func (r *report) wrong(p *place, rule Rule, v any, want, hint string) {
	r.add(p, rule, flowerrors.ConfigError{Value: describe(v), Reason: flowerrors.ReasonType, Detail: want, Hint: hint})
}

// limit reports that something exceeds a limit.
func (r *report) limit(p *place, rule Rule, value string, limit int, detail, hint string) {
	r.add(p, rule, flowerrors.ConfigError{Value: value, Reason: flowerrors.ReasonLimit, Limit: limit, Detail: detail, Hint: hint})
}
