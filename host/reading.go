package host

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// decode reads a text from a server: one JSON object without duplicate names.
func decode(raw []byte) (map[string]any, error) {
	if !jsontext.Value(raw).IsValid() {
		return nil, errors.New("it is no JSON, or names a member twice")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	return obj, nil
}

// spelt reports a member that a typed client takes for name, because it ignores letter
// case, and this package does not. The application would be shown something else (L8).
func spelt(obj map[string]any, name string) error {
	for have := range obj {
		if have != name && strings.EqualFold(have, name) {
			return errors.New("it has " + name + " in another letter case")
		}
	}
	return nil
}

// announcement reads the capability in both forms. Where they differ, both must accept. What
// cannot be read announces the draft's default policy: somebody meant something by it.
func announcement(hello map[string]any) (rule, string) {
	r := rule{open: true}
	var fault string
	add := func(policy policydecl.Policy, what string) {
		r.open = false
		r.policies = append(r.policies, policy)
		if what != "" {
			fault = what
		}
	}
	object := func(of map[string]any, name string) map[string]any {
		obj, ok := of[name].(map[string]any)
		if !ok && of[name] != nil {
			add(policydecl.Default(), name+" is no object")
		}
		return obj
	}
	form := func(of map[string]any, name string) {
		flow := object(of, name)
		switch flow["policy"] {
		case nil, false:
		case true:
			policy, err := readPublished(flow["default"], policydecl.Policy{})
			if err != nil {
				add(policy, bounded(err.Error()))
			} else {
				add(policy, "")
			}
		default:
			add(policydecl.Default(), name+".policy is neither true nor false")
		}
	}
	capabilities := object(hello, "capabilities")
	form(capabilities, policydecl.CapabilityMember)
	form(object(capabilities, "extensions"), policydecl.ExtensionKey)
	return r, fault
}

// ownPolicy reads the policy of a declaration, beside its other members and under _meta
// (D1). If there are two and they differ, both must accept. Without any, and instead of
// what cannot be read, it is the server's default (P4, P6).
func ownPolicy(declaration map[string]any) (r rule, fault string) {
	r.open = true
	meta, _ := declaration["_meta"].(map[string]any)
	for _, v := range []any{declaration[policydecl.PolicyMember], meta[policydecl.PolicyKey]} {
		if v == nil {
			continue
		}
		// A default that is known by its handle says whether it was needed.
		policy, err := readPublished(v, standIn)
		if err != nil {
			fault = bounded(err.Error())
		}
		stated := rule{policies: []policydecl.Policy{policy}}
		if policy == standIn {
			stated = rule{byDefault: true, unread: true}
		}
		r = r.and(stated)
	}
	if r.open {
		return rule{byDefault: true}, ""
	}
	return r, fault
}

var standIn = policydecl.AcceptFrom()

// overlong stands in for a token that is longer than any principal or publisher that a label
// can name, so that it accepts nobody. It is itself no token, so nobody is accepted by it either.
const overlong = "over-long"

// readPublished is policydecl's, but for tokens that are too long to mean anything: their text
// is not kept.
func readPublished(v any, serverDefault policydecl.Policy) (policydecl.Policy, error) {
	obj, _ := v.(map[string]any)
	list, _ := obj["acceptFrom"].([]any)
	for i, token := range list {
		if text, ok := token.(string); ok && len(text) > policydecl.MaxString {
			list[i] = overlong
		}
	}
	return policydecl.ReadPublished(v, serverDefault)
}
