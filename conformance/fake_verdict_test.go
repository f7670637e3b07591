package conformance_test

import (
	"context"
	"encoding/json"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// judged returns the label as the fake reads it.
func (f *fake) judged(c *call) policydecl.Label {
	var v any
	_ = json.Unmarshal(c.raw, &v)
	obj, _ := v.(map[string]any)
	contributors, _ := obj["contributors"].([]any)
	switch {
	case obj == nil:
	case f.is("takes every label for complete"):
		obj["complete"] = true
	case f.is("reads the first contributor") && len(contributors) > 0:
		obj["contributors"] = contributors[:1]
	case f.is("cuts long labels") && len(contributors) > policydecl.MaxContributors:
		obj["contributors"] = contributors[:policydecl.MaxContributors]
	case f.is("folds the case of states"):
		for _, one := range contributors {
			if m, ok := one.(map[string]any); ok {
				state, _ := m["assurance"].(string)
				m["assurance"] = strings.ToLower(strings.TrimSpace(state))
			}
		}
	case f.is("compares the beginning of principals"):
		for _, one := range contributors {
			if m, ok := one.(map[string]any); ok {
				if name, _ := m["principal"].(string); strings.HasPrefix(name, partner+"/") {
					m["principal"] = partner
				}
			}
		}
	}
	tool, _ := c.params.Text("name")
	for _, one := range contributors {
		if m, ok := one.(map[string]any); ok {
			f.misread(tool == "gold", m)
		}
	}
	return policydecl.LabelOf(v, c.raw != nil, policydecl.Limits{})
}

// misread reads a contributor for another one.
func (f *fake) misread(gold bool, m map[string]any) {
	name, _ := m["principal"].(string)
	publisher, _ := m["publisher"].(string)
	upper := func(uri string) bool { return uri != partner && strings.EqualFold(uri, partner) }
	switch {
	case f.is("takes the word self for itself") && name == "self",
		f.is("takes its publisher for itself") && publisher == fakeURI:
		m["principal"] = fakeURI
	case f.is("takes a token for a state") && m["assurance"] == vendor,
		gold && f.is("lists User and means user") && m["assurance"] == "User":
		m["assurance"] = "user"
	case f.is("drops the slash at the end") && name == partner+"/":
		m["principal"] = partner
	case f.is("compares letter by letter") && upper(name):
		m["principal"] = partner + "/another"
	case f.is("drops the dot at the end of a host"):
		m["principal"] = strings.Replace(name, ".example./", ".example/", 1)
	case f.is("folds the case of urns") && strings.HasPrefix(name, "urn:"):
		m["principal"] = strings.ToLower(name)
	case f.is("compares publishers letter by letter") && publisher != strings.ToLower(publisher):
		delete(m, "publisher")
	}
}

// verdict returns the refusal of a request, or nil.
func (f *fake) verdict(c *call, target string) *flowerrors.Violation {
	uri, _ := c.params.Text("uri")
	_, task := c.params.Text("task")
	task = task || c.params.Has("task")
	switch {
	case f.is("ignores labels"), f.is("ignores labels and ids"), f.is("sends escapes"), f.is("enforces in one era") && c.era == stateful,
		f.is("accepts what is not labelled") && c.raw == nil, f.is("answers null") && c.id == "null",
		f.is("does not enforce " + c.method), f.is("makes the task first") && task,
		f.is("takes a query for another resource") && strings.Contains(uri, "?"),
		f.is("decodes before it looks") && strings.Contains(uri, "%"):
		return nil
	}
	if len(uri) > resourcematch.MaxURI && !f.is("reads long URIs") {
		return &flowerrors.Violation{}
	}
	l := f.judged(c)
	policies := []policydecl.Policy{f.policy(target)}
	if target == "resource notes://item/top" {
		if policies = append(policies, f.policy("template notes://item/{id}")); f.is("asks the wider pattern alone") {
			policies = policies[1:]
		}
	}
	v := fakeSet.Decide(context.Background(), &l, policies...).Violation()
	if f.is("takes a majority") && majority(l, policies[0]) {
		return nil
	}
	if f.is("merges policy and default") && v != nil && fakeSet.Decide(context.Background(), &l, policydecl.Default()).Accepted() {
		return nil
	}
	if f.is("refuses everybody") && v == nil {
		v = &flowerrors.Violation{Rejected: []flowerrors.Rejected{}, AcceptFrom: f.policy(target).Tokens()}
	}
	if f.is("shows principals as sent") && v != nil && len(v.Rejected) == 1 && v.Rejected[0].Principal == "" {
		v.Rejected[0].Principal = onlyPrincipal(c)
	}
	return v
}

// majority reports whether a policy accepts more contributors than it refuses.
func majority(l policydecl.Label, p policydecl.Policy) bool {
	n := 0
	for _, c := range l.Contributors() {
		one := policydecl.BuildLabel(true, c)
		if n--; fakeSet.Decide(context.Background(), &one, p).Accepted() {
			n += 2
		}
	}
	return n > 0 && l.Len() > 2
}

// onlyPrincipal returns the principal of a label's one contributor as it was sent.
func onlyPrincipal(c *call) string {
	list, more, _ := rawjson.ReadArray(c.label.Get("contributors"), 1)
	if len(list) == 0 || more || string(c.label.Get("complete")) != "true" {
		return ""
	}
	one, _ := rawjson.ReadObject(list[0])
	name, _ := one.Text("principal")
	return name
}
