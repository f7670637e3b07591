package overrides

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The tags that the parser finds for scalars without quotes.
const (
	nullTag  = "!!null"
	boolTag  = "!!bool"
	intTag   = "!!int"
	floatTag = "!!float"
	strTag   = "!!str"
	mergeTag = "!!merge"
)

// scalar reads a scalar in that line. YAML 1.2 takes off, yes and no for strings, and so do we, which
// makes mode: off what it looks like; where a boolean belongs, yes is a mistake. A date
// is a string too, because JSON has no other.
func scalar(n *yaml.Node, line int) *node {
	out := &node{kind: text, text: n.Value, line: line}
	if n.Style != 0 {
		return out
	}
	switch n.Tag {
	case nullTag:
		out.kind = null
	case boolTag:
		out.kind, out.text = boolean, strings.ToLower(n.Value)
	case intTag, floatTag:
		out.kind = number
	}
	return out
}

// isUnsure reports whether some reader of YAML takes a name without quotes for something
// else than a string: a number, a boolean, a date or nothing.
func isUnsure(n *yaml.Node) bool {
	return n.Style == 0 && (n.Tag != strTag || oldBoolean.MatchString(n.Value) || oldNumber.MatchString(n.Value))
}

// What YAML 1.1 takes for booleans, for the default of a mapping, and for numbers, where
// version 1.2 has strings.
var (
	oldBoolean = regexp.MustCompile(`^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|=)$`)
	oldNumber  = regexp.MustCompile(`^[-+]?(?:[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[0-9][0-9_,]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|0[xXbBoO][0-9a-fA-F_]+|\.[0-9_]+(?:[eE][-+]?[0-9]+)?)$`)
)
