package policydecl_test

// The obvious twins of the reader and of the decision: no budgets on the way, no masks,
// no maps, no early exits where a whole-document question can be asked instead. They
// are what the fast code is fuzzed against.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

type slowContributor struct{ assurance, principal, publisher string }

type slowLabel struct {
	class        string
	contributors []slowContributor // with the synthetic one
}

func slowRefused(class string) slowLabel {
	return slowLabel{class, []slowContributor{{assurance: "unverified"}}}
}

// slowRead reads a label from what encoding/json made of it, under default budgets.
func slowRead(v any) slowLabel {
	if v == nil {
		return slowRefused("absent")
	}
	obj, ok := v.(map[string]any)
	if !ok || slowDepth(v) > 8 || slowSize(v) > 64<<10 || slowLongest(v) > 2<<10 || slowFolds(v) {
		return slowRefused("malformed")
	}
	if slowSmuggles(obj, "contributors", "complete") {
		return slowRefused("malformed")
	}
	list, ok := obj["contributors"].([]any)
	if !ok || len(list) == 0 || len(list) > 256 {
		return slowRefused("malformed")
	}
	l := slowLabel{class: "incomplete"}
	written := []map[string]any{}
	for _, e := range list {
		c := slowContributor{assurance: "unverified"}
		entry := map[string]any{}
		if o, ok := e.(map[string]any); ok {
			if slowSmuggles(o, "assurance", "principal", "publisher") {
				return slowRefused("malformed")
			}
			for _, known := range []string{"unverified", "tofu", "verified", "host", "user"} {
				if o["assurance"] == known {
					c.assurance = known
				}
			}
			c.principal, c.publisher = slowIdentity(o["principal"]), slowIdentity(o["publisher"])
		}
		entry["assurance"] = c.assurance
		if c.principal != "" {
			entry["principal"] = c.principal
		}
		if c.publisher != "" {
			entry["publisher"] = c.publisher
		}
		written = append(written, entry)
		l.contributors = append(l.contributors, c)
	}
	complete := false
	if b, ok := obj["complete"].(bool); ok && b {
		complete, l.class = true, "ok"
	} else {
		l.contributors = append(l.contributors, slowContributor{assurance: "unverified"})
	}
	if slowJSONLen(map[string]any{"contributors": written, "complete": complete}) > 64<<10 {
		return slowRefused("malformed")
	}
	return l
}

func slowIdentity(v any) string {
	if s, ok := v.(string); ok && s != "" && resourcematch.Usable(s) {
		return s
	}
	return ""
}

// slowSmuggles reports a name that is one of names only after folding.
func slowSmuggles(obj map[string]any, names ...string) bool {
	for name := range obj {
		for _, known := range names {
			if name != known && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}

// slowFolds reports two names of one object, anywhere, that fold to the same.
func slowFolds(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, slowFolds)
	case map[string]any:
		for a, child := range v {
			if slowFolds(child) {
				return true
			}
			for b := range v {
				if a != b && strings.EqualFold(a, b) {
					return true
				}
			}
		}
	}
	return false
}

func slowDepth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, slowDepth(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, slowDepth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

func slowLongest(v any) int {
	longest := 0
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, e := range v {
			longest = max(longest, slowLongest(e))
		}
	case map[string]any:
		for name, e := range v {
			longest = max(longest, len(name), slowLongest(e))
		}
	}
	return longest
}

// slowSize is the size of v as compact JSON without escapes, where a number counts 24.
func slowSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case float64:
		return 24
	case []any:
		parts := 2
		for i, e := range v {
			if i > 0 {
				parts++
			}
			parts += slowSize(e)
		}
		return parts
	case map[string]any:
		parts := 2
		for name, e := range v {
			if parts > 2 {
				parts++
			}
			parts += len(name) + 3 + slowSize(e)
		}
		return parts
	default:
		return slowJSONLen(v)
	}
}

// slowJSONLen is the length of v as encoding/json writes it, without HTML escapes.
func slowJSONLen(v any) int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Len() - 1 // without the newline
}

// slowOf turns a label into the twin's form.
func slowOf(l policydecl.Label) slowLabel {
	s := slowLabel{class: l.Class().String()}
	for i := range l.Len() {
		c := l.At(i)
		s.contributors = append(s.contributors, slowContributor{c.Assurance().String(), c.Principal(), c.Publisher()})
	}
	return s
}

func (l slowLabel) equal(m slowLabel) bool {
	return l.class == m.class && slices.Equal(l.contributors, m.contributors)
}

// slowMatches says whether one token accepts one contributor, on a server whose own URI
// is self and which knows no vendor tokens.
func slowMatches(token string, c slowContributor, self string) bool {
	same := func(a, b string) bool {
		x, err := resourcematch.Canonical(a)
		if err != nil || a == "" || b == "" {
			return false
		}
		y, err := resourcematch.Canonical(b)
		return err == nil && x == y
	}
	switch token {
	case "self":
		return same(self, c.principal)
	case "user", "host", "verified", "tofu", "unverified":
		return token == c.assurance
	}
	if p, ok := strings.CutPrefix(token, "publisher:"); ok {
		return same(p, c.publisher)
	}
	return same(token, c.principal)
}

// slowDecide returns the violation set of a label under one policy.
func slowDecide(tokens []string, l slowLabel, self string) []slowContributor {
	var rejected []slowContributor
	for _, c := range l.contributors {
		matched := false
		for _, token := range tokens {
			matched = matched || slowMatches(token, c, self)
		}
		if matched {
			continue
		}
		already := false
		for _, r := range rejected {
			rp, _ := resourcematch.Canonical(r.principal)
			cp, _ := resourcematch.Canonical(c.principal)
			already = already || r.assurance == c.assurance && (r.principal == c.principal || rp == cp && rp != "")
		}
		if !already {
			rejected = append(rejected, c)
		}
	}
	return rejected
}
