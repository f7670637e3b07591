package overrides

import (
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// builder makes overrides of the value that a file holds.
type builder struct {
	*report
	o Overrides

	mistaken int // mistakes in the policies so far
	paths    int // bytes of their paths, at most
}

// wrong reports a value of the wrong type, unless something is reported of it already.
func (b *builder) wrong(p *place.Place, n *node, rule policydecl.Rule, detail, hint string) {
	if n.kind != unreadable {
		b.add(p, n.line, rule, flowerrors.ConfigError{Value: n.shown(), Reason: flowerrors.ReasonType, Detail: detail, Hint: hint})
	}
}

// unknown reports a member that means nothing where it is.
func (b *builder) unknown(p *place.Place, m member, known []string) {
	if b.full() { // looking for what was meant takes its time
		return
	}
	b.add(p.Member(m.name), m.line, "P6", flowerrors.ConfigError{
		Value: m.name, Reason: flowerrors.ReasonUnknownMember, Detail: "no such member", Hint: nearest(m.name, known),
	})
}

// The members of the root, of the server's default, and of a target that may be lacking
// or not.
var (
	rootMembers = []string{
		memberVersion, memberURI, memberDefault, memberMode, memberUndeclared, memberLoosen,
		"tools", "prompts", "resources", "templates", "prefixes",
	}
	policyMembers  = []string{memberAcceptFrom}
	patternMembers = []string{memberAcceptFrom, memberMode}
	targetMembers  = []string{memberAcceptFrom, memberMode, memberOptional}
)

// root reads the whole value.
func (b *builder) root(n *node) {
	const shape = "begin with flowgate: " + version
	if n.kind != object {
		b.wrong(nil, n, "P6", "overrides are an object", shape)
		return
	}
	stated := false
	for _, m := range n.members {
		p := (*place.Place)(nil).Member(m.name)
		switch m.name {
		case memberVersion:
			stated = true
			b.version(p, m.value)
		case memberURI:
			if m.value.kind == text && m.value.text != "" {
				b.o.URI = m.value.text
			} else {
				b.wrong(p, m.value, "P2", "a URI is a string that is not empty", "write the URI that clients connect to")
			}
		case memberDefault:
			b.policy(p, m.value)
		case memberMode:
			b.o.Mode = b.mode(p, m.value)
		case memberUndeclared:
			b.o.DangerouslyReportUndeclared = b.boolean(p, m.value, "M1")
		case memberLoosen:
			b.o.DangerouslyLoosen = b.boolean(p, m.value, "M1")
		default:
			if k := sectionOf(m.name); k != 0 {
				b.section(k, p, m.value)
			} else {
				b.unknown(nil, m, rootMembers)
			}
		}
	}
	if !stated && !b.dropped(memberVersion) {
		b.add((*place.Place)(nil).Member(memberVersion), n.line, "P6", flowerrors.ConfigError{
			Reason: flowerrors.ReasonMissing, Detail: "the version of the format is missing", Hint: shape,
		})
	}
	b.o.Targets = sorted(b.o.Targets)
}

// dropped reports whether a member of the root is there but could not be read.
func (b *builder) dropped(name string) bool {
	pointer := (*place.Place)(nil).Member(name).Pointer()
	return slices.ContainsFunc(b.faults, func(f Fault) bool { return f.Pointer == pointer })
}

// version reads the version of the format.
func (b *builder) version(p *place.Place, n *node) {
	const hint = "write the number " + version
	switch {
	case n.kind != number:
		b.wrong(p, n, "P6", "the version of the format is a number", hint)
	case n.text != version:
		b.add(p, n.line, "P6", flowerrors.ConfigError{
			Value: n.text, Reason: flowerrors.ReasonUnsupported, Detail: "this version of the format is not known here", Hint: hint,
		})
	}
}

// boolean reads a switch.
func (b *builder) boolean(p *place.Place, n *node, rule policydecl.Rule) bool {
	if n.kind != boolean {
		b.wrong(p, n, rule, "it is a boolean", "write true or false")
		return false
	}
	return n.text == "true"
}

// mode reads a mode (M1).
func (b *builder) mode(p *place.Place, n *node) policydecl.Mode {
	const hint = `write "enforce", "report" or "off"`
	switch n.kind {
	case text:
		mode, err := policydecl.ParseMode(n.text)
		for e := range flowerrors.All(err) {
			b.add(p, n.line, "M1", *e)
		}
		return mode
	case boolean:
		b.wrong(p, n, "M1", "a mode is a string", hint+"; some writers of YAML make a boolean of off")
	default:
		b.wrong(p, n, "M1", "a mode is a string", hint)
	}
	return policydecl.Enforce // something was said
}

// policy reads the server's default (P4).
func (b *builder) policy(p *place.Place, n *node) {
	if n.kind != object {
		b.wrong(p, n, "P4", "a flow policy is an object", `write {"acceptFrom":["self","user"]}, or leave the member out to keep the code's default`)
		return
	}
	found := false
	for _, m := range n.members {
		if m.name != memberAcceptFrom {
			b.unknown(p, m, policyMembers)
			continue
		}
		found = true
		b.o.Default = b.acceptFrom(p, m.value)
	}
	if !found {
		b.o.Default, _ = policydecl.PolicyOf(map[string]any{}) // with its mistake
	}
}

// section reads the targets of one kind.
func (b *builder) section(k policydecl.TargetKind, p *place.Place, n *node) {
	if n.kind != object {
		b.wrong(p, n, "P6", "it is an object with a member for each of the "+k.String(), "write a name, a colon and what is said about it, or leave the member out")
		return
	}
	for _, m := range n.members {
		b.target(k, p.Member(m.name), m)
	}
}

// target reads what is said about one target.
func (b *builder) target(k policydecl.TargetKind, p *place.Place, m member) {
	if m.value.kind != object {
		b.wrong(p, m.value, "P6", "what is said about a target is an object", `write {"acceptFrom":["user"]} or {"mode":"report"}`)
		return
	}
	known := patternMembers
	if mayLack(k) {
		known = targetMembers
	}
	t := Target{Kind: k, Name: m.name}
	says := false
	for _, e := range m.value.members {
		at := p.Member(e.name)
		switch {
		case e.name == memberAcceptFrom:
			says, t.Policy = true, b.acceptFrom(p, e.value)
		case e.name == memberMode:
			says, t.Mode = true, b.mode(at, e.value)
		case e.name == memberOptional && mayLack(k):
			t.Optional = b.boolean(at, e.value, "P6")
		case e.name == memberOptional:
			b.add(at, e.line, "P6", *notOptional())
		default:
			says = true // whatever it was to be
			b.unknown(p, e, known)
		}
	}
	if says && t.Policy.IsZero() && t.Mode == policydecl.ModeUnset {
		t.Mode = policydecl.Enforce // so that it is not told a second time
	}
	if !says {
		b.add(p, m.line, "P6", *saysNothing())
	}
	b.o.Targets = append(b.o.Targets, t)
}

// saysNothing is the mistake of a target without a policy and a mode.
func saysNothing() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Reason: flowerrors.ReasonMissing, Detail: "nothing is said about the target", Hint: "give it acceptFrom or a mode, or remove it",
	}
}

// notOptional is the mistake of an optional target that cannot be lacking.
func notOptional() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Reason: flowerrors.ReasonUnsupported,
		Detail: "only a tool or a prompt can be optional; a pattern governs what it matches, whatever is registered", Hint: "remove it",
	}
}
