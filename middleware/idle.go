package middleware

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A policy or mode for something that the server has not got protects nothing, and a
// misspelt name looks just like that. It cannot be an error: what is governed apart from its
// declaration may be registered later, and completions refer to prompts that are nowhere
// registered. So the log says it, when the gate is made and when overrides change.

// warnIdle logs the targets that match nothing which the server has now.
func (g *Gate) warnIdle(st *state) {
	idle := g.idle(st)
	if len(idle) == 0 {
		return
	}
	if len(idle) > maxLoose {
		idle = append(idle[:maxLoose-1], "and more")
	}
	g.recorder.say(context.Background(), slog.LevelWarn, "flow policies or modes are about something that the server has not got now; are their names right?",
		slog.Any("targets", idle))
}

// idle lists, in order, the targets of Govern, of the modes and of the overrides that match
// nothing that the server has now.
func (g *Gate) idle(st *state) []string {
	said := make(map[key]bool)
	g.reg.byName.Range(func(k, _ any) bool {
		if t := k.(target); t.origin == byGovern {
			said[key{t.kind, t.name}] = true
		}
		return true
	})
	for k := range st.modes {
		said[k] = true
	}
	for _, t := range st.over.Targets {
		if k := (key{t.Kind, t.Name}); t.Optional {
			delete(said, k) // so the operator has said that it may come later
		} else {
			said[k] = true
		}
	}
	var list []key
	var names []key
	for k := range said {
		if byURI(k.kind) && names == nil {
			names = st.named().keys
		}
		if !g.matches(st, k, names) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, compareKeys)
	paths := make([]string, len(list))
	for i, k := range list {
		paths[i] = targetPath(k.kind, k.name)
	}
	return paths
}

// matches reports whether the server has, or may have, something that k is about. names are
// its resources and templates.
func (g *Gate) matches(st *state, k key, names []key) bool {
	if !byURI(k.kind) {
		return g.has(k)
	}
	uri := k.name
	if k.kind == policydecl.Prefix {
		uri += "x" // something below it
	}
	group := st.named().group
	if found, _, err := group.find(nil, uri, k.kind == policydecl.Template); err != nil || len(found) > 0 {
		return true // of what cannot be read there is nothing to say
	}
	return k.kind == policydecl.Prefix && slices.ContainsFunc(names, func(have key) bool {
		head, _, _ := strings.Cut(have.name, "{")
		return strings.HasPrefix(head, k.name) || have.kind == policydecl.Template && strings.HasPrefix(k.name, head)
	})
}
