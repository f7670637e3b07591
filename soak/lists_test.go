package soak_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// listed are the things in one kind of list that are always there, by the name of the target:
// with the policy that the code gives them, nil for none (D1).
type listed struct {
	member, name string // of the list, and of an entry's name
	kind         string // of targets
	code         map[string]policy
	comes        string // the name of what comes and goes
}

var lists = map[string]listed{
	"tools/list": {"tools", "name", "tools", map[string]policy{
		"search": nil, "export": bySelfUser, "hexport": bySelfUser, "ticks": nil, "hold": nil, "big": nil, "texport": bySelfUser,
	}, "come"},
	"prompts/list":             {"prompts", "name", "prompts", map[string]policy{"brief": byUser}, ""},
	"resources/list":           {"resources", "uri", "resources", map[string]policy{"records://customers": bySelfUser}, "come://r"},
	"resources/templates/list": {"resourceTemplates", "uriTemplate", "templates", map[string]policy{"notes://item/{id}": nil, "file:///{+path}": nil}, ""},
}

// checkList asserts that a list is what some state says: everything that is there, with the
// policy that holds in this state and no other (D1, D4).
func checkList(method string, s span, result json.RawMessage) error {
	l, ok := lists[method]
	if !ok {
		return nil
	}
	got, err := l.read(result)
	if err != nil {
		return err
	}
	var wanted []string
	for _, o := range s.overrides {
		for _, c := range s.comings() {
			want := l.in(&variants[o], c)
			if slices.Equal(got, want) {
				return nil
			}
			wanted = append(wanted, strings.Join(want, " "))
		}
	}
	return fmt.Errorf("%s in states %v, want one of %q", got, s, wanted)
}

// comings are the states of what may come and go, absence alone where nothing does.
func (s span) comings() []int {
	if s.coming == nil {
		return []int{0}
	}
	return s.coming
}

// in is what the list says in one state of the overrides and of what comes, in order.
func (l listed) in(v *variant, c int) (entries []string) {
	add := func(name string, p policy) {
		if w := v.words[l.kind+" "+name].accept; w != nil {
			p = w
		}
		if v.mode == modeOff {
			p = nil // it publishes nothing
		}
		entries = append(entries, entry(name, p))
	}
	for name, p := range l.code {
		add(name, p)
	}
	if l.comes != "" && c > 0 {
		add(l.comes, coming[c])
	}
	slices.Sort(entries)
	return entries
}

func entry(name string, p policy) string {
	if p == nil {
		return name
	}
	return name + p.json()
}

// read reads a list in the same form. The policy has to be in both of its places, or in
// neither.
func (l listed) read(result json.RawMessage) (entries []string, err error) {
	var whole map[string]json.RawMessage
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(result, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole[l.member], &list); err != nil {
		return nil, fmt.Errorf("%s: %w", l.member, err)
	}
	for _, e := range list {
		var name string
		var p struct{ AcceptFrom policy }
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(e[l.name], &name); err != nil {
			return nil, err
		}
		if text := e["flowPolicy"]; text != nil {
			if err := json.Unmarshal(text, &p); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(e["_meta"], &meta); err != nil || string(meta[keyPolicy]) != string(text) {
				return nil, fmt.Errorf("%s has %s beside its name and %s in _meta", name, text, e["_meta"])
			}
		}
		entries = append(entries, entry(name, p.AcceptFrom))
	}
	slices.Sort(entries)
	return entries, nil
}
