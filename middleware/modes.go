package middleware

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/near"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Mode says what the gate does with a request that the policy refuses (M1). It is
// policydecl.Mode under the name by which this package's users write it.
type Mode = policydecl.Mode

// The modes (M1).
const (
	// ModeUnset is the zero value: the next wider mode counts, and Enforce if there is none.
	ModeUnset = policydecl.ModeUnset
	// Enforce refuses the request.
	Enforce = policydecl.Enforce
	// DangerouslyReport lets every request run untouched and only records what Enforce
	// would have refused: also messages that can be read in two ways, and requests that a
	// gate which is not in order cannot judge.
	DangerouslyReport = policydecl.DangerouslyReport
	// DangerouslyOff judges nothing and publishes nothing but what stands in _meta. Policies
	// are still validated at start-up.
	DangerouslyOff = policydecl.DangerouslyOff
)

// TargetMode gives one target a mode of its own (M1), in place of the server's.
//
// The mode counts for the policy of that target. A URI can match several resources,
// templates and prefixes; each of their policies is applied in the mode of its own
// target, and one that refuses in mode Enforce refuses the request.
type TargetMode struct {
	Kind policydecl.TargetKind // what Name is the name of
	Name string                // as in policydecl.Declaration
	Mode Mode                  // required: ModeUnset is a mistake
}

// codeModes checks the modes of targets that the code sets, and returns them by target.
func (g *Gate) codeModes(list []TargetMode) (map[key]Mode, error) {
	modes := make(map[key]Mode, len(list))
	var errs []error
	fault := func(t TargetMode, e *flowerrors.ConfigError) {
		e.Path = "modes." + targetPath(t.Kind, t.Name)
		errs = append(errs, e)
	}
	for _, t := range list {
		k := key{t.Kind, t.Name}
		if err := checkTarget(t.Kind, t.Name); err != nil {
			errs = append(errs, flowerrors.Under("modes."+targetPath(t.Kind, t.Name), err))
			continue
		}
		switch _, twice := modes[k]; {
		case twice:
			fault(t, &flowerrors.ConfigError{
				Reason: flowerrors.ReasonDuplicate, Detail: "it has two modes", Hint: "remove one of the two",
			})
		case t.Mode == ModeUnset || !t.Mode.Known():
			fault(t, &flowerrors.ConfigError{
				Value: t.Mode.String(), Reason: flowerrors.ReasonType,
				Detail: "no such mode", Hint: "use Enforce, or leave the target out",
			})
		case !g.has(k):
			fault(t, g.unknownTarget(k))
		}
		modes[k] = t.Mode
	}
	return modes, errors.Join(errs...)
}

// has reports whether the server has a tool or prompt of that name, or may have a
// resource that the pattern is about.
func (g *Gate) has(k key) bool {
	if byURI(k.kind) {
		return true
	}
	if _, known := g.reg.known.Load(k); known {
		return true
	}
	if k.kind == policydecl.Tool {
		return g.server.GetTool(k.name) != nil
	}
	return g.server.ListPrompts()[k.name] != nil
}

// learn notes what the server has when the gate is built, for what mcp-go shows later
// only at a price or not at all.
func (g *Gate) learn() error {
	note := func(kind policydecl.TargetKind, name string) { g.reg.know(key{kind, name}) }
	for name := range g.server.ListTools() {
		note(policydecl.Tool, name)
	}
	for name := range g.server.ListPrompts() {
		note(policydecl.Prompt, name)
	}
	for uri := range g.server.ListResources() {
		note(policydecl.Resource, uri)
	}
	for _, hidden := range []struct {
		field string
		kind  policydecl.TargetKind
	}{{fieldTaskTools, policydecl.Tool}, {fieldTemplates, policydecl.Template}} {
		names, err := keysOf(g.server, hidden.field)
		if err != nil {
			return err
		}
		for _, name := range names {
			note(hidden.kind, name)
		}
	}
	return nil
}

// unknownTarget says that the server has nothing of that name, and what comes close.
func (g *Gate) unknownTarget(k key) *flowerrors.ConfigError {
	var names []string
	g.reg.known.Range(func(v, _ any) bool {
		if have := v.(key); have.kind == k.kind {
			names = append(names, have.name)
		}
		return true
	})
	hint := "correct the name"
	if meant := near.Name(k.name, names); meant != "" {
		hint = "write " + strconv.QuoteToASCII(meant)
	} else if len(names) > 0 {
		hint += "; it has " + someOf(names)
	}
	return &flowerrors.ConfigError{
		Value: k.name, Reason: flowerrors.ReasonUnknownTarget,
		Detail: "the server has none of that name, so it would change nothing", Hint: hint,
	}
}

// someOf lists the first names in alphabetical order.
func someOf(names []string) string {
	const most = 8
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i == most {
			b.WriteString(" and others")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.QuoteToASCII(name))
	}
	return b.String()
}

// describeModes is the text of the code's modes for a digest.
func describeModes(server Mode, undeclared bool, list []TargetMode) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b TargetMode) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	b.WriteString(server.Or(Enforce).String())
	if undeclared {
		b.WriteString(" undeclared")
	}
	for _, t := range list {
		b.WriteString(" " + targetPath(t.Kind, t.Name) + "=" + t.Mode.String())
	}
	return b.String()
}
