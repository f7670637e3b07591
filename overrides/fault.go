package overrides

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// MaxFaults is how many mistakes of one file or value are reported. Where there are
// more, the last one says so. There are fewer if names are so long that a report would
// become larger than a file may be.
const MaxFaults = policydecl.MaxFaults

// maxReport is after how many bytes of text a report ends.
const maxReport = MaxBytes

// RuleYAML is YAML 1.2, without what has no counterpart in JSON or what readers of
// different versions take differently. It stands beside [policydecl.RuleJSON].
const RuleYAML policydecl.Rule = "YAML"

// Fault is one mistake in an overrides file. The Detail of its ConfigError names the
// line too, so that it is not lost where only that error is kept.
type Fault struct {
	// Line is the line of the file, counted from 1, or 0 if it is not known.
	Line int
	// Fault is the mistake as policies and labels have them.
	policydecl.Fault
}

// join returns the mistakes as one error of [*flowerrors.ConfigError], or nil.
func join(faults []Fault) error {
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		errs = append(errs, f.ConfigError)
	}
	return errors.Join(errs...)
}

// report gathers what is wrong with one file.
type report struct {
	faults []Fault
	bytes  int  // of their texts
	more   bool // something was left out
}

// full reports whether nothing is added any more, and notes that something was to be.
func (r *report) full() bool {
	if len(r.faults) < MaxFaults && r.bytes < maxReport {
		return false
	}
	r.more = true
	return true
}

// add reports a mistake at p.
func (r *report) add(p *place.Place, line int, rule policydecl.Rule, e flowerrors.ConfigError) {
	if r.full() {
		return
	}
	e.Path = p.PathUnder(isSection)
	r.put(Fault{line, policydecl.Fault{Pointer: p.Pointer(), Rule: rule, ConfigError: &e}})
}

// put reports a mistake whose path and pointer are known.
func (r *report) put(f Fault) {
	if r.full() {
		return
	}
	if f.Line > 0 {
		f.Detail += " (line " + strconv.Itoa(f.Line) + ")"
	}
	r.bytes += len(f.Path) + len(f.Pointer) + len(f.Value) + len(f.Detail) + len(f.Hint)
	r.faults = append(r.faults, f)
}

// done returns the mistakes in the order of the file.
func (r *report) done() []Fault {
	slices.SortStableFunc(r.faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	if r.more {
		r.faults = append(r.faults[:min(len(r.faults), MaxFaults-1)], Fault{0, policydecl.Fault{Rule: "P6", ConfigError: manyMore()}})
	}
	return r.faults
}

// manyMore says that not all mistakes are reported.
func manyMore() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Reason: flowerrors.ReasonLimit, Limit: MaxFaults, Detail: "there are more mistakes than are reported", Hint: "mend these first",
	}
}
