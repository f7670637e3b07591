package policydecl_test

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// This file says, in the plainest way, what a schema cannot.

// sameTokens reports tokens that are equal once they are canonical, but not before.
func sameTokens(v any) bool {
	obj, _ := v.(map[string]any)
	list, _ := obj["acceptFrom"].([]any)
	seen, exact := map[string]bool{}, map[string]bool{}
	for _, e := range list {
		s, _ := e.(string)
		key := s
		if uri, ok := strings.CutPrefix(s, "publisher:"); ok {
			if c, err := resourcematch.Canonical(uri); err == nil {
				key = "publisher:" + c
			}
		} else if c, err := resourcematch.Canonical(s); err == nil {
			key = c
		}
		if seen[key] && !exact[s] {
			return true
		}
		seen[key], exact[s] = true, true
	}
	return false
}

// sameEntries reports rejected contributors that are there twice.
func sameEntries(v any) bool {
	obj, _ := v.(map[string]any)
	list, _ := obj["rejected"].([]any)
	seen := map[string]bool{}
	for _, e := range list {
		entry, ok := e.(map[string]any)
		a, isString := entry["assurance"].(string)
		if !ok || !isString {
			return false // that is fault enough
		}
		key := a
		if p, ok := entry["principal"]; ok {
			s, _ := p.(string)
			c, err := resourcematch.Canonical(s)
			if err != nil {
				return false
			}
			key += " " + c
		}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// manyBytes reports a label that is over a budget in bytes but not in characters.
func manyBytes(v any) bool {
	over := false
	size := 0
	visit(v, func(s string, n int) {
		size += n
		over = over || len(s) > policydecl.MaxString && utf8.RuneCountInString(s) <= policydecl.MaxString
	})
	if over {
		return true
	}
	return policydecl.LabelOf(v, true, defaultLimits).Class() == policydecl.ClassMalformed && size > policydecl.MaxLabelBytes/2
}

// foldedTwice reports two names of one object that differ only by case.
func foldedTwice(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if foldedTwice(e) {
				return true
			}
		}
	case map[string]any:
		for a, e := range v {
			for b := range v {
				if a != b && strings.EqualFold(a, b) {
					return true
				}
			}
			if foldedTwice(e) {
				return true
			}
		}
	}
	return false
}

// visit calls f with every string and name, and with about what every value costs.
func visit(v any, f func(s string, cost int)) {
	switch v := v.(type) {
	case string:
		f(v, len(v)+3)
	case json.Number:
		f("", max(24, len(v))+1)
	case []any:
		f("", 3)
		for _, e := range v {
			visit(e, f)
		}
	case map[string]any:
		f("", 3)
		for name, e := range v {
			f(name, len(name)+4)
			visit(e, f)
		}
	default:
		f("", 6)
	}
}
