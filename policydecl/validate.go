package policydecl

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// The bounds of one declaration. A declaration over one of them is not looked at any
// further, because it may be a stranger's, and looking at it would have no bound either.
const (
	// MaxDeclarationBytes is how large its JSON text may be.
	MaxDeclarationBytes = 4 << 20
	// MaxDeclarationValues is how many values it may hold, of all types together.
	MaxDeclarationValues = 50_000
	// MaxDeclarationNames is how long the JSON Pointers to all its values may be, all
	// together in bytes.
	MaxDeclarationNames = 16 << 20
	// MaxFaults is how many mistakes of one text are reported.
	MaxFaults = 100
)

// declarationDepth is how deep a declaration may nest. Schemas of tools are the deepest
// part of it; the bound keeps readers that recurse within their stacks.
const declarationDepth = 256

// ValidatePolicy reports every mistake in the JSON text of a flow policy (P1, P6), or
// nil if there is none. It finds what [ParsePolicy] finds, each at its place. null
// is a mistake here: a declaration without a policy has no flowPolicy at all (P4). At
// most [MaxFaults] are reported, of a text of at most [MaxPolicyBytes]. raw is not kept.
func ValidatePolicy(raw []byte) []Fault {
	v, r := readStrictly(raw, MaxPolicyBytes, declarationDepth)
	if len(r.faults) == 0 {
		r.policy(nil, v)
	}
	return r.faults
}

// readStrictly decodes raw, which must be one JSON value of at most limit bytes without
// duplicate names (L8), or reports what is wrong with it.
func readStrictly(raw []byte, limit, depth int) (any, *report) {
	r := &report{}
	if len(raw) > limit {
		r.limit(nil, RuleJSON, strconv.Itoa(len(raw)), limit, "the text has too many bytes", "shorten it")
		return nil, r
	}
	v, err := decode(raw, depth)
	if err != nil {
		r.notJSON(err, depth)
	}
	return v, r
}

// notJSON reports a text that decode refused with err.
func (r *report) notJSON(err error, depth int) {
	pointer := ""
	var at *placedError
	if errors.As(err, &at) {
		pointer = at.pointer
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		pointer = string(syntax.JSONPointer)
	}
	e, rule := jsonMistake(err, depth), RuleJSON
	if e.Reason == flowerrors.ReasonDuplicate {
		rule = "L8"
	}
	e.Path = placeOf(pointer).Path()
	r.faults = append(r.faults, Fault{Pointer: pointer, Rule: rule, ConfigError: &e})
}

// jsonMistake says what is wrong with a text that decode, with that depth, refused with
// err. It does not say where.
func jsonMistake(err error, depth int) flowerrors.ConfigError {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return flowerrors.ConfigError{
			Reason: flowerrors.ReasonDuplicate, Detail: "the member is there more than once, and readers differ in which they take", Hint: "keep one of them",
		}
	case errors.Is(err, errDepth):
		return flowerrors.ConfigError{Reason: flowerrors.ReasonLimit, Limit: depth, Detail: errDepth.Error(), Hint: "nest less"}
	case errors.Is(err, errNumber):
		return flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: errNumber.Error(), Hint: "write a smaller one"}
	case errors.Is(err, errTrailing):
		return flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: errTrailing.Error(), Hint: "remove what follows the value"}
	}
	e := flowerrors.ConfigError{Reason: flowerrors.ReasonType, Detail: "not one valid JSON value", Hint: "write one JSON value in UTF-8"}
	if errors.As(err, &syntax) {
		e.Detail += fmt.Sprintf(", at byte %d", syntax.ByteOffset)
	}
	return e
}

// placeOf returns the place that a JSON Pointer names in a text that could not be read.
// A number may be an index or a name; in a path for people it is shown as an index.
func placeOf(pointer string) *place.Place {
	var p *place.Place
	for token := range jsontext.Pointer(pointer).Tokens() {
		if i, err := strconv.Atoi(token); err == nil && strconv.Itoa(i) == token {
			p = p.Element(i)
		} else {
			p = p.Member(token)
		}
	}
	return p
}

// policy reports the mistakes of a policy at p.
func (r *report) policy(p *place.Place, v any) {
	if v == nil {
		r.wrong(p, "P4", v, "null is no policy", "leave the member out to say that the server's default applies, or "+policyShape)
		return
	}
	_, err := PolicyOf(v)
	r.policyFaults(p, err)
}

// policyFaults reports the mistakes in err, whose paths start at p.
func (r *report) policyFaults(p *place.Place, err error) {
	for e := range flowerrors.All(err) {
		r.add(under(p, e.Path), ruleOf(e.Reason), *e)
	}
}

// under returns the place below p that the path of a policy's mistake names: a member,
// or an element of acceptFrom.
func under(p *place.Place, path string) *place.Place {
	for path != "" {
		name, index, length := place.Cut(path)
		switch {
		case length == 0:
			return p
		case index < 0:
			p = p.Member(name)
		default:
			p = p.Element(index)
		}
		path = path[length:]
	}
	return p
}

// ruleOf returns the rule that a mistake in a policy breaks.
func ruleOf(reason flowerrors.Reason) Rule {
	switch reason {
	case flowerrors.ReasonUnknownToken:
		return "P1"
	case flowerrors.ReasonURI:
		return "U2"
	}
	return "P6"
}
