package policydecl

import (
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Fault is one mistake in a JSON text that one of the Validate functions read. Beside
// what every [flowerrors.ConfigError] says, it tells where the mistake is as a JSON
// Pointer and which rule it breaks.
//
// Pointer, Rule, Value, Reason and Limit are for programs; the wording is not API. Path says
// the same as Pointer, in the notation of configurations.
type Fault struct {
	// Pointer leads from the root of the text to the mistake (RFC 6901). It is empty
	// if the mistake is the root.
	Pointer string
	// Rule names what the text breaks.
	Rule Rule

	// ConfigError is what every mistake says. It is never nil in a Fault that this package returns.
	*flowerrors.ConfigError
}

// Rule names a rule: one of the project's specification by its number, such as "P6", or
// one of the constants. The values are stable and fit for machines.
type Rule string

// Rules that are not of the project's own specification.
const (
	// RuleJSON is RFC 8259, read as strictly as RFC 7493 asks.
	RuleJSON Rule = "JSON"
	// RuleSchema is JSON Schema 2020-12.
	RuleSchema Rule = "JSON Schema 2020-12"
	// RuleMCP is the schema of the Model Context Protocol.
	RuleMCP Rule = "MCP"
)

// Error describes the fault for people, on one line of printable ASCII (M3).
func (f Fault) Error() string {
	at := f.Pointer
	if at == "" {
		at = "(root)"
	}
	var e flowerrors.ConfigError
	if f.ConfigError != nil {
		e = *f.ConfigError
	}
	e.Path = at
	return e.Error() + " [" + string(f.Rule) + "]"
}

// Unwrap returns the [flowerrors.ConfigError], so that flowerrors.All finds it, or nil if there is none.
func (f Fault) Unwrap() error {
	if f.ConfigError == nil {
		return nil
	}
	return f.ConfigError
}
