package overrides

import (
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// judge reports what [Overrides.Check] finds wrong with what was built, at its place in
// the file. What was wrong with the file alone is reported already.
func (b *builder) judge(root *node) {
	var found []*flowerrors.ConfigError
	for e := range flowerrors.All(join(b.o.check())) {
		found = append(found, e)
	}
	if len(found) == 0 {
		return
	}
	reported := make(map[string]bool, len(b.faults))
	for _, f := range b.faults {
		reported[f.Path] = true
	}
	for _, e := range found {
		at, exact := find(root, e.Path)
		// A member that was passed over leaves a gap that is no mistake of its own.
		if exact && at.kind == unreadable || e.Reason == flowerrors.ReasonMissing && reported[e.Path] {
			continue
		}
		pointer := at.Place
		if !exact {
			if rest, ok := strings.CutPrefix(e.Path[at.length:], "."); ok {
				pointer = pointer.Member(rest) // what is missing there
			}
		}
		mistake := *e
		b.put(Fault{at.line, policydecl.Fault{Pointer: pointer.Pointer(), Rule: ruleOf(e), ConfigError: &mistake}})
	}
}

// spot is where a value lies in a file.
type spot struct {
	*place.Place
	length int // of the path
	line   int
	kind   kind
}

// find returns the spot of a path, or else the one around it.
func find(root *node, path string) (at spot, exact bool) {
	at = spot{nil, 0, root.line, root.kind}
	for n := root; at.length < len(path); {
		name, index, length := place.Cut(path[at.length:])
		p, line := at.Place, 0
		switch i := slices.IndexFunc(n.members, func(m member) bool { return m.name == name }); {
		case length == 0:
			return at, false
		case index < 0 && i >= 0:
			p, line, n = p.Member(name), n.members[i].line, n.members[i].value
		case index >= 0 && index < len(n.list):
			p, line, n = p.Element(index), n.list[index].line, n.list[index]
		default:
			return at, false
		}
		at = spot{p, at.length + length, line, n.kind}
	}
	return at, true
}

// ruleOf returns the rule that a mistake in a value breaks.
func ruleOf(e *flowerrors.ConfigError) policydecl.Rule {
	inPolicy := strings.Contains(e.Path, memberAcceptFrom)
	switch {
	case strings.HasSuffix(e.Path, "."+memberMode) || e.Path == memberMode:
		return "M1"
	case e.Reason == flowerrors.ReasonUnknownToken:
		return "P1"
	case e.Path == memberURI && e.Reason == flowerrors.ReasonReserved:
		return "P2"
	case e.Reason == flowerrors.ReasonURI && (inPolicy || e.Path == memberURI):
		return "U2"
	case e.Reason == flowerrors.ReasonURI:
		return "R2"
	}
	return "P6"
}
