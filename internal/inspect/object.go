package inspect

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Duplicates reports each name that occurs more than once (L8).
func Duplicates(o rawjson.Object) []policydecl.Fault {
	var faults []policydecl.Fault
	seen := make(map[string]int, len(o))
	for _, m := range o {
		if seen[m.Name]++; seen[m.Name] == 2 {
			faults = append(faults, fault(pointer(m.Name), "L8", &flowerrors.ConfigError{
				Value: m.Name, Reason: flowerrors.ReasonDuplicate,
				Detail: "the member occurs twice, and two readers can see different ones", Hint: "send it once",
			}))
		}
	}
	return faults
}

// pointer returns the JSON Pointer (RFC 6901) to a member, by the names that lead to it.
func pointer(names ...string) string {
	var p jsontext.Pointer
	for _, name := range names {
		p = p.AppendToken(name)
	}
	return string(p)
}

// fault puts a mistake at a place.
func fault(at string, rule policydecl.Rule, e *flowerrors.ConfigError) policydecl.Fault {
	return policydecl.Fault{Pointer: at, Rule: rule, ConfigError: e}
}

// Under returns the faults of a part of a text as faults of the whole.
func Under(prefix string, faults []policydecl.Fault) []policydecl.Fault {
	faults = slices.Clone(faults) // they stay the caller's
	for i := range faults {
		faults[i].Pointer = prefix + faults[i].Pointer
	}
	return faults
}
