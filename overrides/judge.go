package overrides

import (
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
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
	spots := make(map[string]spot)
	locate(spots, nil, "", root, root.line)
	reported := make(map[string]bool, len(b.faults))
	for _, f := range b.faults {
		reported[f.Path] = true
	}
	for _, e := range found {
		at, exact := lookUp(spots, e.Path)
		// A member that was passed over leaves a gap that is no mistake of its own.
		if exact && at.kind == unreadable || e.Reason == flowerrors.ReasonMissing && reported[e.Path] {
			continue
		}
		pointer := at.place
		if !exact {
			if rest, ok := strings.CutPrefix(e.Path[at.length:], "."); ok {
				pointer = pointer.member(rest) // what is missing there
			}
		}
		mistake := *e
		b.put(Fault{at.line, policydecl.Fault{Pointer: pointer.pointer(), Rule: ruleOf(e), ConfigError: &mistake}})
	}
}

// spot is where a value lies in a file.
type spot struct {
	*place
	length int // of the path
	line   int
	kind   kind
}

// locate enters n, which is said in that line, and all that is in it.
func locate(spots map[string]spot, p *place, path string, n *node, line int) {
	spots[path] = spot{p, len(path), line, n.kind}
	for _, m := range n.members {
		at := p.member(m.name)
		locate(spots, at, at.path(), m.value, m.line)
	}
	for i, e := range n.list {
		at := p.element(i)
		locate(spots, at, at.path(), e, e.line)
	}
}

// lookUp returns the spot of a path, or else the one around it.
func lookUp(spots map[string]spot, path string) (at spot, exact bool) {
	if at, exact = spots[path]; exact {
		return at, true
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' || i == 0 {
			if at, ok := spots[path[:i]]; ok {
				return at, false
			}
		}
	}
	return spots[""], false
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
