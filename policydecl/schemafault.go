package policydecl

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// schemaFault is one thing that a JSON Schema has against a value.
type schemaFault struct {
	at []string // tokens of a JSON Pointer
	flowerrors.ConfigError
}

// schemaFaults runs a validation and returns what it found, in a fixed order. A validator
// that panics has found a fault: nothing is taken for valid because it could
// not be looked at.
func schemaFaults(validate func() error) (faults []schemaFault) {
	defer func() {
		if p := recover(); p != nil {
			faults = append(faults, schemaFault{ConfigError: flowerrors.ConfigError{
				Reason: flowerrors.ReasonUnsupported, Detail: errValidator.Error() + ": " + fmt.Sprint(p),
			}})
		}
	}()
	err := validate()
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []schemaFault{{ConfigError: flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: err.Error()}}}
	}
	faults = leaves(nil, invalid)
	// Of two at one place the one that allows less says more, and it is the shorter one.
	slices.SortStableFunc(faults, func(a, b schemaFault) int {
		return cmp.Or(slices.Compare(a.at, b.at), cmp.Compare(len(a.Detail), len(b.Detail)))
	})
	return faults
}

// leaves appends the faults below e that say something themselves. It enters each cause
// once: alternatives can lie in alternatives, as deep as the text allows.
func leaves(faults []schemaFault, e *jsonschema.ValidationError) []schemaFault {
	if len(e.Causes) == 0 {
		return append(faults, schemaFault{e.InstanceLocation, schemaMistake(e.ErrorKind)})
	}
	from := len(faults)
	for _, cause := range e.Causes {
		faults = leaves(faults, cause)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		faults = append(faults[:from], nearest(e.InstanceLocation, faults[from:])...)
	}
	return faults
}

// nearest returns, of the faults of a value at the given place that is none of several
// things, those that come nearest to what was meant: what lies inside the value, or else one
// about the value itself. What allows values of the type that was written is what its
// author meant.
func nearest(at []string, causes []schemaFault) []schemaFault {
	here := func(f schemaFault) bool { return slices.Equal(f.at, at) }
	if slices.ContainsFunc(causes, func(f schemaFault) bool { return !here(f) }) {
		return slices.DeleteFunc(causes, func(f schemaFault) bool { return here(f) && f.Reason == flowerrors.ReasonType })
	}
	best := 0
	for i, f := range causes {
		if causes[best].Reason == flowerrors.ReasonType && f.Reason != flowerrors.ReasonType {
			best = i
		}
	}
	return causes[best : best+1]
}

// schemaMistake says what is wrong in the terms of this package.
func schemaMistake(k jsonschema.ErrorKind) flowerrors.ConfigError {
	switch k := k.(type) {
	case *kind.Type:
		want := strings.Join(k.Want, " or ")
		return flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: "it is of type " + k.Got, Hint: "write one of type " + want}
	case *kind.Required:
		return flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "it lacks " + quotedList(k.Missing), Hint: "add what is missing"}
	case *kind.Enum:
		return oneOf(k.Got, k.Want...)
	case *kind.Const:
		return oneOf(k.Got, k.Want)
	case *kind.MinLength:
		return flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "it is empty", Hint: "write something"}
	case *kind.Pattern:
		return flowerrors.ConfigError{Value: k.Got, Reason: flowerrors.ReasonType, Detail: "it does not match " + strconv.QuoteToASCII(k.Want), Hint: "correct it"}
	case *kind.UniqueItems:
		return flowerrors.ConfigError{
			Reason: flowerrors.ReasonDuplicate, Detail: fmt.Sprintf("the items %d and %d are equal", k.Duplicates[0], k.Duplicates[1]), Hint: "remove one of the two",
		}
	}
	return boundMistake(k)
}

// boundMistake says which bound a value is beyond.
func boundMistake(k jsonschema.ErrorKind) flowerrors.ConfigError {
	e := flowerrors.ConfigError{Reason: flowerrors.ReasonType, Hint: "correct it"}
	switch k := k.(type) {
	case *kind.MinItems:
		e.Reason, e.Detail = flowerrors.ReasonMissing, "it has "+strconv.Itoa(k.Got)+" items and must have at least "+strconv.Itoa(k.Want)
	case *kind.Minimum:
		e.Value, e.Detail = ratio(k.Got), "it must not be less than "+ratio(k.Want)
	case *kind.ExclusiveMinimum:
		e.Value, e.Detail = ratio(k.Got), "it must be more than "+ratio(k.Want)
	case *kind.Maximum:
		e.Value, e.Detail = ratio(k.Got), "it must not be more than "+ratio(k.Want)
	default:
		e.Detail = "it breaks the keyword " + strings.Join(k.KeywordPath(), "/")
	}
	return e
}

// ratio writes a number of a schema. A huge exponent must not make a huge text.
func ratio(n *big.Rat) string {
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// oneOf returns the mistake of a value that is none of those allowed.
func oneOf(got any, want ...any) flowerrors.ConfigError {
	texts := make([]string, len(want))
	for i, w := range want {
		texts[i] = strconv.QuoteToASCII(describe(w))
	}
	list := strings.Join(texts, ", ")
	if len(texts) > 1 {
		list = "one of " + list
	}
	e := flowerrors.ConfigError{Reason: flowerrors.ReasonUnknownToken, Detail: "it must be " + list, Hint: "write " + list}
	switch s, ok := got.(string); {
	case !ok:
		e.Reason, e.Detail = flowerrors.ReasonType, "it is no string; "+e.Detail
	case s == "":
		e.Detail = "it is empty; " + e.Detail
	default:
		e.Value = s
	}
	return e
}

// quotedList lists names for people.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.QuoteToASCII(name)
	}
	return strings.Join(quoted, ", ")
}
