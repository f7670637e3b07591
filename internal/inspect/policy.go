package inspect

import (
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// AboutPolicy reports whether a mistake in a declaration can change what policy a host
// reads in it, or that it reads any (D1). Such a mistake is in the policy or in its copy, or
// keeps the declaration from being looked at any further: of two members of one name, or of a
// text that is too long, hosts differ in what they take, whichever member it is.
func AboutPolicy(f *policydecl.Fault) bool {
	switch {
	case f.Rule == "D1", f.Rule == "L8", f.Rule == policydecl.RuleJSON:
		return true
	case f.Pointer == "": // nothing in it was looked at, but for these
		return f.Reason != flowerrors.ReasonMissing && !isCap(f)
	}
	return within(f.Pointer, pointer(policydecl.PolicyMember)) || within(f.Pointer, pointer(memberMeta, policydecl.PolicyKey))
}

// within reports whether a JSON Pointer leads to a place or into it.
func within(pointer, place string) bool {
	rest, ok := strings.CutPrefix(pointer, place)
	return ok && (rest == "" || rest[0] == '/')
}
