package overrides

import (
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Overrides is what an operator says about one server. It is plain data; the zero value
// says nothing and changes nothing.
type Overrides struct {
	// Non-comparable, and literals must name their fields.
	_ [0]func()

	// URI is the server's own URI (P2), where it is not the one that the code names. It is
	// no loosening: it says where the server is, and so whom the "self" of its author
	// means.
	URI string

	// Default takes the place of the server's default policy (P4). Absent, the code's stays.
	Default policydecl.Policy

	// Mode is the mode of the server. Unset, the code's stays (M1).
	Mode policydecl.Mode

	// Targets say more about single tools, prompts and resources. Each may be named once.
	Targets []Target

	// DangerouslyReportUndeclared lets requests of peers that have stated their
	// capabilities without flow.origin run as in mode report. A peer of which nothing is
	// known is not one of these.
	DangerouslyReportUndeclared bool

	// DangerouslyLoosen permits policies and modes that let through what the code refuses,
	// and switches such as DangerouslyReportUndeclared. Without it they are mistakes.
	DangerouslyLoosen bool
}

// Target is what the overrides say about one tool, prompt, resource, template or prefix.
type Target struct {
	Kind policydecl.TargetKind // what Name is the name of; required
	Name string                // as in policydecl.Declaration

	// Policy must be accepted besides the policy that the code gives the target; with
	// DangerouslyLoosen it takes its place. Absent, the code's stays.
	Policy policydecl.Policy

	// Mode is the mode of the target. Unset, the code's stays.
	Mode policydecl.Mode

	// Optional says that the server need not have a tool or prompt of that name now.
	// Without it that is a mistake, because a misspelt name would protect nothing.
	Optional bool
}

// IsZero reports whether the overrides say nothing.
func (o Overrides) IsZero() bool {
	return o.URI == "" && o.Default.IsZero() && o.Mode == policydecl.ModeUnset && len(o.Targets) == 0 &&
		!o.DangerouslyReportUndeclared && !o.DangerouslyLoosen
}

// Clone returns a copy that shares nothing a caller could change.
func (o Overrides) Clone() Overrides {
	o.Targets = slices.Clone(o.Targets)
	return o
}
