package bench

import (
	"slices"
	"strings"
)

// prototype decides the way the draft's prototype is described to: normalise each
// contributor, try every token on each, and collect those that none accepts. It is what one
// writes first, without thought for speed.
type prototype struct{ acceptFrom []string }

type origin struct {
	contributors []contributor
	complete     bool
}

type contributor struct{ assurance, principal, publisher string }

var (
	assurances   = []string{"user", "host", "verified", "tofu", "unverified"}
	leastAssured = contributor{assurance: "unverified"}
)

func newPrototype(tokens []string) (Decider, error) { return prototype{tokens}, nil }

// readOrigin reads a label, and takes for unverified what it cannot read.
func readOrigin(v any) origin {
	object, _ := v.(map[string]any)
	list, _ := object["contributors"].([]any)
	if len(list) == 0 {
		return origin{contributors: []contributor{leastAssured}}
	}
	o := origin{contributors: make([]contributor, 0, len(list))}
	for _, e := range list {
		o.contributors = append(o.contributors, readContributor(e))
	}
	o.complete, _ = object["complete"].(bool)
	return o
}

func readContributor(v any) contributor {
	object, _ := v.(map[string]any)
	assurance, _ := object["assurance"].(string)
	if !slices.Contains(assurances, assurance) {
		assurance = leastAssured.assurance
	}
	principal, _ := object["principal"].(string)
	publisher, _ := object["publisher"].(string)
	return contributor{assurance, principal, publisher}
}

// rejected returns the contributors that no token accepts.
func (p prototype) rejected(o origin) []contributor {
	all := o.contributors
	if !o.complete {
		all = append(slices.Clone(all), leastAssured)
	}
	var out []contributor
	for _, c := range all {
		if !slices.ContainsFunc(p.acceptFrom, c.matches) {
			out = append(out, c)
		}
	}
	return out
}

// matches reports whether a token accepts c.
func (c contributor) matches(token string) bool {
	if token == "self" {
		return c.principal == ownURI
	}
	if slices.Contains(assurances, token) {
		return c.assurance == token
	}
	if uri, ok := strings.CutPrefix(token, "publisher:"); ok {
		return c.publisher != "" && c.publisher == uri
	}
	for _, scheme := range []string{"https://", "http://", "urn:"} {
		if strings.HasPrefix(token, scheme) {
			return c.principal == token
		}
	}
	return false
}

func (p prototype) Prepared(raw []byte) (func() bool, error) {
	v, err := decode(raw)
	o := readOrigin(v)
	return func() bool { return len(p.rejected(o)) == 0 }, err
}

func (p prototype) Decoded(v any) func() bool {
	return func() bool { return len(p.rejected(readOrigin(v))) == 0 }
}

func (p prototype) JSON(raw []byte) func() bool {
	return decided(raw, func(v any) bool { return len(p.rejected(readOrigin(v))) == 0 })
}
