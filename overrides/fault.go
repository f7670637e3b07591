package overrides

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
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

// place is where a value lies in a file: the names and indices that lead to it from the
// root, which is nil.
type place struct {
	parent *place
	name   string
	index  int // of an element of an array
	array  bool
}

func (p *place) member(name string) *place { return &place{parent: p, name: name} }
func (p *place) element(i int) *place      { return &place{parent: p, index: i, array: true} }

// steps returns the places from the root to p, without the root.
func (p *place) steps() []*place {
	var steps []*place
	for q := p; q != nil; q = q.parent {
		steps = append(steps, q)
	}
	slices.Reverse(steps)
	return steps
}

// pointer returns p as a JSON Pointer (RFC 6901).
func (p *place) pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		b.WriteByte('/')
		if s.array {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.name))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// path returns p in the notation of policydecl, as in tools["export"].acceptFrom[1]. The
// names of targets are always quoted, other names only where they are odd.
func (p *place) path() string {
	var b strings.Builder
	steps := p.steps()
	for i, s := range steps {
		target := i == 1 && isSection(steps[0].name)
		switch {
		case s.array:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case target || !isPlain(s.name):
			b.WriteString("[" + strconv.QuoteToASCII(s.name) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// isPlain reports whether a name can stand in a path without quotes.
func isPlain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return name != ""
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
func (r *report) add(p *place, line int, rule policydecl.Rule, e flowerrors.ConfigError) {
	if r.full() {
		return
	}
	e.Path = p.path()
	r.put(Fault{line, policydecl.Fault{Pointer: p.pointer(), Rule: rule, ConfigError: &e}})
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
