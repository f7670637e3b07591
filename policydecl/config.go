package policydecl

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/place"
)

// Config is everything [Compile] needs to know about a server's flow policy. It is
// plain data; the zero value is refused for want of a URI.
type Config struct {
	// Non-comparable, and literals must name their fields.
	_ [0]func()

	// URI is the server's own canonical URI (RFC 8707), which the token "self" stands
	// for (P2). It is required: without it "self" could mean nothing.
	URI string

	// Default is the policy of every target without one of its own (P4, P5). Absent, it
	// is [Default].
	Default Policy

	// Matchers decide vendor tokens (P3), by their reverse-DNS prefix, such as
	// "com.example.tier".
	Matchers map[string]Matcher

	// MatcherBudget is how long the matchers may take in one decision, all
	// together; zero means [DefaultMatcherBudget].
	MatcherBudget time.Duration

	// Targets are the declarations with a policy of their own.
	Targets []Declaration
}

// clone returns a copy that shares nothing a caller could change.
func (c Config) clone() Config {
	c.Matchers = maps.Clone(c.Matchers)
	c.Targets = slices.Clone(c.Targets)
	return c
}

// TargetKind says what a [Declaration] is about. The zero value is none of them and is
// refused.
type TargetKind uint8

// The kinds of target.
const (
	// Tool is a tool, by name.
	Tool TargetKind = iota + 1
	// Prompt is a prompt, by name.
	Prompt
	// Resource is a resource, by URI.
	Resource
	// Template is a resource template, by its RFC 6570 text (R2).
	Template
	// Prefix is every resource whose URI begins so, for a stricter corner of a
	// template's space (R3). It ends in a slash.
	Prefix
)

// The member each kind has in the path of a mistake, by number.
var kindPaths = [...]string{Tool: "tools", Prompt: "prompts", Resource: "resources", Template: "templates", Prefix: "prefixes"}

// Declaration gives one target its policy, which replaces the server's default for that
// target; the two are never merged (P5). An absent policy says that the default
// governs the target.
type Declaration struct {
	Kind   TargetKind // what Name is the name of; required
	Name   string     // tool or prompt name, URI, template or prefix
	Policy Policy     // absent, the default governs the target
}

// path returns the path of the declaration, which is the i-th.
func (d Declaration) path(i int) string {
	if !d.Kind.known() {
		return "targets[" + strconv.Itoa(i) + "]"
	}
	return place.Keyed(kindPaths[d.Kind], d.Name)
}

// known reports whether k is one of the kinds.
func (k TargetKind) known() bool { return k >= Tool && k <= Prefix }

// String returns the kind's member in paths, such as "tools".
func (k TargetKind) String() string {
	if k.known() {
		return kindPaths[k]
	}
	return "TargetKind(" + strconv.Itoa(int(k)) + ")"
}
