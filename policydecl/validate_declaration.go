package policydecl

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// The members of declarations that are looked at one by one.
const (
	memberMeta         = "_meta"
	memberURI          = "uri"
	memberURITemplate  = "uriTemplate"
	memberInputSchema  = "inputSchema"
	memberOutputSchema = "outputSchema"
)

// ValidateDeclaration reports every mistake in the JSON text of one declaration as a
// list shows it (D1), or nil if there is none. kind is [Tool], [Prompt], [Resource] or
// [Template]. It looks at
//
//   - the flow policy, in flowPolicy and in its copy under _meta, which must be equal;
//     a policy under _meta alone is a mistake, because a host that goes by the draft does not
//     see it
//   - whether requests can be told to concern the URI or template that has a policy (R2)
//   - the shape that the Model Context Protocol asks for
//   - a tool's schemas, which must be JSON Schema 2020-12, and whose references must lead
//     to places inside them; nothing is fetched
//
// Faults come in the order in which they are listed above, at most [MaxFaults] of them, with
// Pointers from the root of raw. A declaration over one of the bounds, such as
// [MaxDeclarationBytes], is not looked at any further. raw is not kept.
func ValidateDeclaration(kind TargetKind, raw []byte) []Fault {
	v, r := readStrictly(raw, MaxDeclarationBytes, declarationDepth)
	if len(r.faults) > 0 {
		return r.faults
	}
	obj, ok := v.(map[string]any)
	if !ok {
		r.wrong(nil, RuleMCP, v, "a declaration is an object", "write an object with a name")
		return r.faults
	}
	if r.bounds(obj); len(r.faults) > 0 {
		return r.faults
	}
	governed := r.declaredPolicy(obj)
	r.target(kind, obj, governed)
	r.shape(kind, obj)
	if kind == Tool {
		for _, name := range []string{memberInputSchema, memberOutputSchema} {
			if schema, ok := obj[name].(map[string]any); ok {
				r.schema((*place.Place)(nil).Member(name), schema)
			}
		}
	}
	return r.faults
}

// declaredPolicy reports the mistakes of the policy of a declaration (D1), and whether
// there is one.
func (r *report) declaredPolicy(obj map[string]any) bool {
	var root *place.Place
	r.nearly(root, obj, PolicyMember)
	policy, stated := obj[PolicyMember]
	if stated {
		r.policy(root.Member(PolicyMember), policy)
	}
	meta, _ := obj[memberMeta].(map[string]any)
	r.nearly(root.Member(memberMeta), meta, PolicyKey)
	mirror, mirrored := meta[PolicyKey]
	if !mirrored {
		return stated
	}
	at := root.Member(memberMeta).Member(PolicyKey)
	if stated && reflect.DeepEqual(policy, mirror) {
		return true
	}
	r.policy(at, mirror)
	if !stated {
		r.add(at, "D1", flowerrors.ConfigError{
			Reason: flowerrors.ReasonConflict, Detail: "this is only a copy, and there is no flowPolicy for a host that goes by the draft", Hint: "show the same policy as flowPolicy beside the name",
		})
		return true
	}
	r.add(at, "D1", flowerrors.ConfigError{
		Reason: flowerrors.ReasonConflict, Detail: "it differs from flowPolicy", Hint: "publish one policy in both places",
	})
	return true
}

// joined takes out what other styles of naming put between words.
var joined = strings.NewReplacer("_", "", "-", "")

// nearly reports a member that is the named one but for letter case and for what
// stands between its words, as in flow_policy: its author meant it, and nobody reads it.
func (r *report) nearly(p *place.Place, obj map[string]any, name string) {
	var near []string
	for other := range obj {
		if other != name && strings.EqualFold(joined.Replace(other), name) {
			near = append(near, other)
		}
	}
	slices.Sort(near)
	for _, other := range near {
		r.add(p.Member(other), "D1", flowerrors.ConfigError{
			Value: other, Reason: flowerrors.ReasonUnknownMember, Detail: "nobody reads a policy from here", Hint: "write " + name,
		})
	}
}

// target reports a template that is none of RFC 6570, and a resource or template with a
// policy that no request could be told to concern (R2, P6). One without is governed by
// the default, whatever it is (R4).
func (r *report) target(kind TargetKind, obj map[string]any, governed bool) {
	var name string
	var pattern resourcematch.Kind
	switch kind {
	case Resource:
		name, pattern = memberURI, resourcematch.Exact
	case Template:
		name, pattern = memberURITemplate, resourcematch.Template
	default:
		return
	}
	at := (*place.Place)(nil).Member(name)
	text, ok := obj[name].(string)
	if !ok || text == "" { // its shape says so
		return
	}
	if kind == Template {
		if _, err := uritemplate.New(text); err != nil {
			r.add(at, RuleMCP, flowerrors.ConfigError{
				Value: text, Reason: flowerrors.ReasonURI, Detail: "it is no URI template of RFC 6570", Hint: "write one such as records://customers/{id}",
			})
			return
		}
	}
	if !governed {
		return
	}
	_, err := resourcematch.Compile([]resourcematch.Entry{{Kind: pattern, Pattern: text}})
	for e := range flowerrors.All(err) {
		rule := Rule("P6")
		if e.Reason == flowerrors.ReasonUnsupported {
			rule = "R2"
		}
		r.add(at, rule, *e)
	}
}

// shape reports where a declaration is not what the protocol's schema asks for. What was
// looked at by itself is left out.
func (r *report) shape(kind TargetKind, obj map[string]any) {
	schemas, err := declarationSchemas()
	schema := schemas[kind]
	if err == nil && schema == nil {
		err = fmt.Errorf("%v is not a kind of declaration; use Tool, Prompt, Resource or Template", kind)
	}
	if err != nil { // fail closed
		r.add(nil, RuleMCP, flowerrors.ConfigError{Reason: flowerrors.ReasonUnsupported, Detail: err.Error()})
		return
	}
	judged := make(map[string]bool)
	rest := make(map[string]any, len(obj))
	for name, v := range obj {
		switch {
		case strings.EqualFold(joined.Replace(name), PolicyMember):
		case name == memberMeta:
			rest[name] = withoutPolicy(v)
		default:
			rest[name] = v
		}
	}
	for _, f := range schemaFaults(func() error { return schema.Validate(rest) }) {
		p := placeIn(obj, f.at)
		rule := RuleMCP
		if len(f.at) > 0 && kind == Tool && (f.at[0] == memberInputSchema || f.at[0] == memberOutputSchema) && !isSchemaShape(f) {
			rule = RuleSchema
		}
		f.say(rule)
		key := p.Pointer() + " " + string(f.Reason)
		if !judged[key] {
			judged[key] = true
			r.add(p, rule, f.ConfigError)
		}
	}
}

const (
	otherDialect     = "another dialect than 2020-12, which no client has to know"
	otherDialectHint = "leave it out, and write the schema in 2020-12"
)

// say puts in plain words what a schema cannot know of itself.
func (f *schemaFault) say(rule Rule) {
	if rule != RuleSchema {
		return
	}
	switch last := f.at[len(f.at)-1]; {
	case len(f.at) == 2 && last == "$schema":
		f.Detail, f.Hint = otherDialect, otherDialectHint
	case last == "items" && strings.HasSuffix(f.Detail, "array"):
		f.Hint = "write prefixItems, which is what 2020-12 calls a list of schemas for the first items"
	}
}

// isSchemaShape reports whether f is about what the protocol asks of the root of a
// tool's schema.
func isSchemaShape(f schemaFault) bool {
	return len(f.at) == 1 || len(f.at) == 2 && f.at[1] == "type"
}

// withoutPolicy returns meta without the policy's copy.
func withoutPolicy(meta any) any {
	obj, ok := meta.(map[string]any)
	if !ok {
		return meta
	}
	rest := make(map[string]any, len(obj))
	for name, v := range obj {
		if !strings.EqualFold(joined.Replace(name), PolicyKey) {
			rest[name] = v
		}
	}
	return rest
}

// errValidator is what a validator that panicked is taken to have said.
var errValidator = errors.New("the schema validator failed")
