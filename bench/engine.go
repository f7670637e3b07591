package bench

import (
	"encoding/json"
	"fmt"
	"time"
)

// Form is what a decision starts from.
type Form string

// The forms.
const (
	// FromPrepared: the label is in whatever form the engine likes best.
	FromPrepared Form = "prepared"
	// FromDecoded: the label is what encoding/json made of it, as mcp-go hands it over.
	FromDecoded Form = "decoded"
	// FromJSON: the label is JSON text.
	FromJSON Form = "json"
)

// Forms lists the forms.
func Forms() []Form { return []Form{FromPrepared, FromDecoded, FromJSON} }

// Engine is one way to decide.
type Engine struct {
	Name string
	// Compile makes of a policy, once, what decides under it.
	Compile func(tokens []string) (Decider, error)
}

// Decider decides under one policy. Each method returns a function that decides about
// one label as often as it is called.
type Decider interface {
	Prepared(raw []byte) (func() bool, error)
	Decoded(v any) func() bool
	JSON(raw []byte) func() bool
}

// Engines returns the engines; flowgate is the first.
func Engines() []Engine {
	return []Engine{
		{"flowgate", newFlowgate},
		{"prototype", newPrototype},
		{"cedar", newCedar},
		{"opa", newOPA},
	}
}

// Decide returns a function that takes the decision of a case with an engine.
func (e Engine) Decide(c Case, from Form) (func() bool, error) {
	d, err := e.Compile(c.Tokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", e.Name, c.Name, err)
	}
	switch from {
	case FromPrepared:
		return d.Prepared([]byte(c.Label))
	case FromJSON:
		return d.JSON([]byte(c.Label)), nil
	}
	v, err := decode([]byte(c.Label))
	return d.Decoded(v), err
}

// decode returns what encoding/json makes of a text.
func decode(raw []byte) (v any, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

// decided is the part that the engines have in common which read what encoding/json
// has decoded: JSON is decoded and then decided about.
func decided(raw []byte, decide func(v any) bool) func() bool {
	return func() bool {
		v, err := decode(raw)
		return err == nil && decide(v)
	}
}

// decideGroups compares the engines, case by case.
func decideGroups() []Group {
	var all []Group
	for _, from := range Forms() {
		for _, c := range Cases() {
			all = append(all, Group{
				Section: Decide,
				Name:    fmt.Sprintf("from=%s/case=%s", from, c.Name),
				Batch:   time.Millisecond / 2,
				Weight:  1,
				Make: func() (ops []Op, done func(), err error) {
					for _, e := range Engines() {
						decide, err := e.Decide(c, from)
						if err != nil {
							return nil, nil, err
						}
						ops = append(ops, Op{"engine=" + e.Name, once(c.Accept, decide)})
					}
					return ops, func() {}, nil
				},
			})
		}
	}
	return all
}
