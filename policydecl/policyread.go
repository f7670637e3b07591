package policydecl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// MaxPolicyBytes is how large the JSON text of one policy may be.
const MaxPolicyBytes = 1 << 20

// How deep a policy that is read may nest. A right one nests two levels; the others
// are there so that a wrong one is told what is wrong with it.
const policyDepth = 8

// policyShape shows what a policy looks like, for hints.
const policyShape = `write {"acceptFrom":["self","user"]}`

// ParsePolicy reads a policy that this server's own author wrote, from its JSON text
// (P6). It is strict: besides wrong types and tokens, a duplicate name and an
// unknown member are mistakes, for the author meant something by them. All mistakes
// are reported at once with paths such as acceptFrom[1]. null is the absent
// policy (P4).
//
// With an error comes a policy that accepts nothing and reports the same error.
func ParsePolicy(raw []byte) (Policy, error) {
	if len(raw) > MaxPolicyBytes {
		return refusing(&flowerrors.ConfigError{
			Value: strconv.Itoa(len(raw)), Reason: flowerrors.ReasonLimit, Limit: MaxPolicyBytes,
			Detail: "the policy's JSON text is too long", Hint: "list fewer tokens",
		})
	}
	v, err := decode(raw, policyDepth)
	if err != nil {
		return refusing(notJSON(raw, err))
	}
	return PolicyOf(v)
}

// PolicyOf reads a policy that this server's own author wrote, as Go values: what a
// JSON decoder makes of {"acceptFrom":[…]}, where the list may also be a []string, or
// a Policy itself. It is as strict as [ParsePolicy] (P6). nil is the absent policy (P4).
//
// With an error comes a policy that accepts nothing and reports the same error.
func PolicyOf(v any) (Policy, error) {
	switch v := v.(type) {
	case nil:
		return Policy{}, nil
	case Policy:
		return v, v.Err()
	}
	r, faults := readPolicy(v)
	for _, name := range unknownMembers(v) {
		faults.add(&flowerrors.ConfigError{
			Path: place.Name(name), Value: name, Reason: flowerrors.ReasonUnknownMember,
			Detail: "a flow policy has no such member", Hint: policyShape,
		})
	}
	if r == nil {
		r = &rules{}
	}
	r.fault = faults.join()
	return Policy{r}, r.fault
}

// ReadPublished reads a policy that somebody else published, as a host does, from the
// values a JSON decoder makes. It is tolerant (P6): a token it does not understand is
// inert (P3), members it does not know are passed over, and a policy whose acceptFrom
// is missing or malformed is that server's default, which is serverDefault or, if that
// is absent, [Default]. nil, the absent policy, is the default too, and no fault.
//
// The policy it returns is always usable. The error reports the faults beside it, for
// the record; it must not be taken as a reason to send. A list longer than [MaxTokens]
// is not read at all: the policy returned for it accepts nothing.
func ReadPublished(v any, serverDefault Policy) (Policy, error) {
	if serverDefault.IsZero() {
		serverDefault = Default()
	}
	switch v := v.(type) {
	case nil:
		return serverDefault, nil
	case Policy:
		if v.IsZero() {
			return serverDefault, nil
		}
		r, faults := parseTokens(v.rules.tokens)
		return Policy{r}, errors.Join(v.rules.fault, faults.join())
	}
	r, faults := readPolicy(v)
	if r == nil {
		return serverDefault, faults.join()
	}
	return Policy{r}, faults.join()
}

// readPolicy reads the object around the tokens. It returns nil rules if there is no
// list to read. An entry that is no string matches nothing and is left out.
func readPolicy(v any) (*rules, faultList) {
	var faults faultList
	obj, ok := v.(map[string]any)
	if !ok {
		faults.add(wrongType("", v, "a flow policy is an object"))
		return nil, faults
	}
	list, ok := obj[memberAcceptFrom]
	if !ok {
		faults.add(&flowerrors.ConfigError{
			Path: memberAcceptFrom, Reason: flowerrors.ReasonMissing,
			Detail: "a flow policy names what it accepts", Hint: policyShape + ", or [] to accept nothing",
		})
		return nil, faults
	}
	switch list := list.(type) {
	case []string:
		if list != nil {
			return parseTokens(list)
		}
	case []any:
		if list != nil {
			return parseTokens(list)
		}
	}
	// Also a nil slice, which Go publishes as null (P4).
	fault := wrongType(memberAcceptFrom, list, "acceptFrom is an array of strings")
	fault.Hint = listHint(list)
	faults.add(fault)
	return nil, faults
}

// listHint says how to write a list where v is. It keeps the author's own token and adds
// none: whoever copies it must not accept more than was meant.
func listHint(v any) string {
	if s, ok := v.(string); ok && len(s) <= maxHintToken && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		if _, fault := parseToken(s); fault == nil {
			return "write [" + strconv.Quote(s) + "]"
		}
	}
	return `write a list of tokens, such as ["user"]`
}

// maxHintToken is how long a token may be that a hint repeats.
const maxHintToken = 200

// wrongType returns the mistake of a value of the wrong JSON type.
func wrongType(path string, v any, detail string) *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Path: path, Value: describe(v), Reason: flowerrors.ReasonType, Detail: detail, Hint: policyShape,
	}
}

// describe names a value of the wrong type. It looks into none: a Go value can
// contain itself.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		return "(array)"
	case map[string]any:
		return "(object)"
	}
	return fmt.Sprintf("(%T)", v)
}

// notJSON returns the mistake of a text that decode refused with err.
func notJSON(raw []byte, err error) *flowerrors.ConfigError {
	fault := jsonMistake(err, policyDepth)
	fault.Value = string(raw)
	if fault.Reason == flowerrors.ReasonType {
		fault.Hint = policyShape
	}
	return &fault
}

// unknownMembers returns the names of v that no policy has, sorted, so that mistakes
// come in a fixed order.
func unknownMembers(v any) []string {
	obj, _ := v.(map[string]any)
	names := slices.Sorted(maps.Keys(obj))
	return slices.DeleteFunc(names, func(name string) bool { return name == memberAcceptFrom })
}

// refusing returns a policy that accepts nothing because of fault.
func refusing(fault *flowerrors.ConfigError) (Policy, error) {
	return Policy{&rules{fault: fault}}, fault
}
