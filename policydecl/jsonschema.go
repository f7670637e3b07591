package policydecl

import (
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
)

// MaxSubschemas is how many subschemas a schema of a declaration may have.
const MaxSubschemas = 4000

// dialect is the $schema of 2020-12, and metaPrefix what its meta-schemas begin with.
const (
	metaPrefix = "https://json-schema.org/draft/2020-12/"
	dialect    = metaPrefix + "schema"
)

// schema reports the mistakes of a tool's schema, at p, that its meta-schema cannot
// see: another dialect, references that lead out of it or nowhere, references that go round in a circle,
// and patterns that are no regular expressions.
func (r *report) schema(p *place.Place, obj map[string]any) {
	before := len(r.faults)
	if named, ok := obj["$schema"].(string); ok && strings.TrimSuffix(named, "#") != dialect {
		return // the shape of a declaration says so; other dialects have other rules
	}
	base, err := url.Parse(schemaBase + "declaration")
	if err != nil {
		r.add(p, RuleSchema, flowerrors.ConfigError{Reason: flowerrors.ReasonUnsupported, Detail: err.Error()})
		return
	}
	w := &schemaWalk{report: r, resources: make(map[string]*resource), nodes: make(map[uintptr]*schemaNode)}
	w.walk(p, obj, &resource{base: base})
	w.follow()
	w.circles()
	if n := len(w.order); n > MaxSubschemas {
		r.limit(p, RuleSchema, strconv.Itoa(n), MaxSubschemas, "the schema has too many subschemas", "describe less")
	}
	if len(r.faults) > before || r.anyUnder(p) {
		return
	}
	for _, f := range schemaFaults(func() error { return compileSchema(obj) }) {
		f.Detail, f.Hint = strings.ReplaceAll(f.Detail, schemaBase+"declaration", "schema"), "correct the schema"
		r.add(p, RuleSchema, f.ConfigError)
	}
}

// anyUnder reports whether there is a fault at p or below it.
func (r *report) anyUnder(p *place.Place) bool {
	at := p.Pointer()
	return slices.ContainsFunc(r.faults, func(f Fault) bool {
		return f.Pointer == at || strings.HasPrefix(f.Pointer, at+"/")
	})
}

// compileSchema is what a client does with a schema. Whatever else may be wrong with one,
// it is found here, if without its place.
func compileSchema(obj map[string]any) error {
	c := newCompiler()
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		return anyPattern(pattern), checkPattern(pattern)
	})
	if err := c.AddResource(schemaBase+"declaration", obj); err != nil {
		return err
	}
	_, err := c.Compile(schemaBase + "declaration")
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return invalid.Err
	}
	return err
}

// anyPattern stands for a pattern in a schema that is only compiled, never used.
type anyPattern string

func (p anyPattern) String() string        { return string(p) }
func (anyPattern) MatchString(string) bool { return false }

// resource is a schema with a URI of its own, within which references are resolved.
type resource struct {
	base    *url.URL
	root    any
	place   *place.Place
	anchors map[string]*schemaNode
}

// schemaNode is one subschema.
type schemaNode struct {
	place    *place.Place
	obj      map[string]any
	resource *resource
	inPlace  []schemaEdge // what is applied to the same value
	state    uint8        // of the search for circles
}

// schemaEdge leads to a subschema that is applied to the same value.
type schemaEdge struct {
	via *place.Place
	to  *schemaNode
}

// schemaWalk looks at every subschema of a schema.
type schemaWalk struct {
	*report
	resources map[string]*resource
	nodes     map[uintptr]*schemaNode // by identity of obj
	order     []*schemaNode
}

// The keywords whose values hold subschemas, and whether these are applied to the same
// value as the schema itself.
var schemaKeywords = map[string]struct{ many, inPlace bool }{
	"$defs": {many: true}, "definitions": {many: true}, "properties": {many: true}, "patternProperties": {many: true},
	"dependentSchemas": {many: true, inPlace: true}, "dependencies": {many: true, inPlace: true},
	"additionalProperties": {}, "unevaluatedProperties": {}, "unevaluatedItems": {}, "items": {}, "contains": {},
	"propertyNames": {}, "contentSchema": {},
	"not": {inPlace: true}, "if": {inPlace: true}, "then": {inPlace: true}, "else": {inPlace: true},
	"allOf": {many: true, inPlace: true}, "anyOf": {many: true, inPlace: true}, "oneOf": {many: true, inPlace: true},
	"prefixItems": {many: true},
}

// walk enters v, a schema at p that belongs to res, and everything below it. It returns
// nil for what is no object.
func (w *schemaWalk) walk(p *place.Place, v any, res *resource) *schemaNode {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	key := reflect.ValueOf(obj).Pointer()
	if known := w.nodes[key]; known != nil {
		return known
	}
	node := &schemaNode{place: p, obj: obj}
	w.nodes[key] = node
	w.order = append(w.order, node)
	node.resource = w.enter(node, res)
	w.names(node)
	w.patterns(node)
	for _, keyword := range slices.Sorted(maps.Keys(obj)) {
		if k, ok := schemaKeywords[keyword]; ok {
			w.children(node, keyword, k.many, k.inPlace)
		}
	}
	return node
}

// names enters the anchors of node, and reports what two places call themselves, or a
// part of the schema in another dialect.
func (w *schemaWalk) names(node *schemaNode) {
	anchors := node.resource.anchors
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := node.obj[keyword].(string)
		if !ok {
			continue
		}
		if other := anchors[name]; other != nil && other != node {
			w.twice(node.place.Member(keyword), name)
			continue
		}
		anchors[name] = node
	}
	if named, ok := node.obj["$schema"].(string); ok && node != w.order[0] && strings.TrimSuffix(named, "#") != dialect {
		w.add(node.place.Member("$schema"), RuleSchema, flowerrors.ConfigError{
			Value: named, Reason: flowerrors.ReasonUnknownToken, Detail: otherDialect, Hint: otherDialectHint,
		})
	}
}

// twice reports a name within a schema that two places have.
func (w *schemaWalk) twice(p *place.Place, name string) {
	w.add(p, RuleSchema, flowerrors.ConfigError{
		Value: name, Reason: flowerrors.ReasonDuplicate, Detail: "another place in the schema calls itself the same", Hint: "rename one of the two",
	})
}

// enter returns the resource that node belongs to: a new one if it has an $id, or is the
// first.
func (w *schemaWalk) enter(node *schemaNode, res *resource) *resource {
	base := res.base
	id, ok := node.obj["$id"].(string)
	if ok {
		u, err := url.Parse(id)
		if err != nil {
			w.add(node.place.Member("$id"), RuleSchema, flowerrors.ConfigError{Value: id, Reason: flowerrors.ReasonURI, Detail: "it is no URI", Hint: "leave it out"})
			ok = false
		} else {
			base = base.ResolveReference(u)
			base.Fragment = ""
		}
	}
	if !ok && res.root != nil {
		return res
	}
	if ok && w.resources[base.String()] != nil {
		w.twice(node.place.Member("$id"), id)
	}
	own := &resource{base: base, root: node.obj, place: node.place, anchors: make(map[string]*schemaNode)}
	w.resources[base.String()] = own
	if ok && res.root == nil {
		w.resources[res.base.String()] = own
	}
	return own
}

// inert reports whether a keyword of a node does nothing: then and else do not without if.
func (n *schemaNode) inert(keyword string) bool {
	_, conditional := n.obj["if"]
	return !conditional && (keyword == "then" || keyword == "else")
}

// children enters the subschemas under one keyword.
func (w *schemaWalk) children(node *schemaNode, keyword string, many, inPlace bool) {
	at := node.place.Member(keyword)
	enter := func(p *place.Place, v any) {
		if child := w.walk(p, v, node.resource); child != nil && inPlace && !node.inert(keyword) {
			node.inPlace = append(node.inPlace, schemaEdge{p, child})
		}
	}
	switch v := node.obj[keyword].(type) {
	case map[string]any:
		if !many {
			enter(at, v)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			enter(at.Member(name), v[name])
		}
	case []any:
		for i, e := range v {
			enter(at.Element(i), e)
		}
	}
}

// patterns reports what is no regular expression.
func (w *schemaWalk) patterns(node *schemaNode) {
	check := func(p *place.Place, pattern string) {
		if err := checkPattern(pattern); err != nil {
			w.add(p, RuleSchema, flowerrors.ConfigError{
				Value: pattern, Reason: flowerrors.ReasonType, Detail: "it is no regular expression: " + err.Error(), Hint: "correct it",
			})
		}
	}
	if pattern, ok := node.obj["pattern"].(string); ok {
		check(node.place.Member("pattern"), pattern)
	}
	if of, ok := node.obj["patternProperties"].(map[string]any); ok {
		for _, pattern := range slices.Sorted(maps.Keys(of)) {
			check(node.place.Member("patternProperties").Member(pattern), pattern)
		}
	}
}

// follow resolves all references. One can lead to a place that no keyword makes a schema,
// which is then entered too, so the list can grow.
func (w *schemaWalk) follow() {
	for i := 0; i < len(w.order); i++ {
		node := w.order[i]
		for _, keyword := range []string{"$ref", "$dynamicRef"} {
			ref, ok := node.obj[keyword].(string)
			if !ok {
				continue
			}
			at := node.place.Member(keyword)
			target, fault := w.resolve(node, ref)
			if fault != nil {
				fault.Value = ref
				w.add(at, RuleSchema, *fault)
			} else if target != nil {
				node.inPlace = append(node.inPlace, schemaEdge{at, target})
			}
		}
	}
}

// resolve returns the subschema that ref means in node, nil if that is true, false or a
// meta-schema.
func (w *schemaWalk) resolve(node *schemaNode, ref string) (*schemaNode, *flowerrors.ConfigError) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, &flowerrors.ConfigError{Reason: flowerrors.ReasonURI, Detail: "it is no URI reference", Hint: `write one such as "#/$defs/name"`}
	}
	u = node.resource.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	res := w.resources[u.String()]
	switch {
	case res == nil && strings.HasPrefix(u.String(), metaPrefix):
		return nil, nil
	case res == nil:
		return nil, &flowerrors.ConfigError{
			Reason: flowerrors.ReasonUnsupported, Detail: "it leads out of the declaration, and nothing is fetched", Hint: "copy what it refers to into $defs",
		}
	case fragment == "":
		return w.walk(res.place, res.root, res), nil
	case fragment[0] != '/':
		if target := res.anchors[fragment]; target != nil {
			return target, nil
		}
		return nil, nowhere()
	}
	p, v, ok := lookUp(res, fragment)
	if _, isBool := v.(bool); ok && isBool {
		return nil, nil
	}
	if target := w.walk(p, v, res); ok && target != nil {
		return target, nil
	}
	return nil, nowhere()
}

func nowhere() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "it leads to no schema", Hint: `refer to a place in the schema, such as "#/$defs/name"`}
}

// lookUp returns what a JSON Pointer means in a resource.
func lookUp(res *resource, pointer string) (*place.Place, any, bool) {
	p, v := res.place, res.root
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[token]
			if !ok {
				return p, nil, false
			}
			p, v = p.Member(token), next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(c) {
				return p, nil, false
			}
			p, v = p.Element(i), c[i]
		default:
			return p, nil, false
		}
	}
	return p, v, true
}
