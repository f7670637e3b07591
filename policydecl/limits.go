package policydecl

import (
	"fmt"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// The budgets of one label (L7). Over any of them the label is malformed as a
// whole; no part of it is used.
const (
	// MaxContributors is how many contributors a label may list.
	MaxContributors = 256
	// MaxLabelBytes is how large a label may be, written compactly.
	MaxLabelBytes = 64 << 10
	// MaxString is how many bytes any one string or member name in a label may have.
	MaxString = 2 << 10
	// MaxDepth is how deep objects and arrays may nest; the label itself is level 1.
	MaxDepth = 8

	// The ceiling for Limits.Depth: the depth Go's own JSON decoder stops at.
	ceilingDepth = 10_000
)

// Limits raises the budgets of a label. A zero field means the default, which is
// the constant of the same meaning. Budgets can only be raised (L7): a server
// that lowered them would call labels malformed that every other peer reads.
type Limits struct {
	Contributors int // default MaxContributors
	Bytes        int // default MaxLabelBytes
	String       int // default MaxString
	Depth        int // default MaxDepth
}

// Validate reports every field that is neither zero nor at least its default, each
// as a [flowerrors.ConfigError].
func (l Limits) Validate() error {
	var faults faultList
	check := func(path string, got, least, most int) {
		if got != 0 && got < least {
			faults.add(&flowerrors.ConfigError{
				Path: path, Value: fmt.Sprint(got), Reason: flowerrors.ReasonLimit, Limit: least,
				Detail: "a label budget can only be raised", Hint: "leave the field zero for the default",
			})
		}
		if most != 0 && got > most {
			faults.add(&flowerrors.ConfigError{
				Path: path, Value: fmt.Sprint(got), Reason: flowerrors.ReasonLimit, Limit: most,
				Detail: "no JSON decoder of the standard library nests deeper", Hint: "choose a smaller value",
			})
		}
	}
	check("contributors", l.Contributors, MaxContributors, 0)
	check("bytes", l.Bytes, MaxLabelBytes, 0)
	check("string", l.String, MaxString, 0)
	check("depth", l.Depth, MaxDepth, ceilingDepth)
	return faults.join()
}

// effective returns the budgets to use: never below the defaults, and never a depth
// that a recursive reader could not bear. It is total, so that limits nobody
// validated cannot make a reader refuse less or fail.
func (l Limits) effective() Limits {
	return Limits{
		Contributors: max(l.Contributors, MaxContributors),
		Bytes:        max(l.Bytes, MaxLabelBytes),
		String:       max(l.String, MaxString),
		Depth:        min(max(l.Depth, MaxDepth), ceilingDepth),
	}
}
