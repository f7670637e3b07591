package inspect

import (
	"iter"
	"slices"
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Report is everything a server publishes, and what is wrong with it.
type Report struct {
	Server  Server
	Entries []Entry   // in the order in which they were listed
	Other   []Finding // what is wrong beside the entries
	More    int       // how many findings were left out of Other

	size int // of the answers so far
	kept int // faults of entries so far
}

// Entry is one declaration of a list.
type Entry struct {
	Kind   policydecl.TargetKind
	Index  int    // in its list, over all pages
	Name   string // the name, URI or template; as sent, or empty if it has none
	Policy policydecl.Policy
	Source Source
	Faults []policydecl.Fault // pointers start at the declaration
	More   int                // how many faults were left out of Faults
	Capped bool               // there are still more, which nobody has counted

	// Raw is the declaration's text. It shares the memory of the answer.
	Raw []byte

	copied bool // it has a policy under _meta alone
}

// Source says where the policy of an [Entry] comes from.
type Source uint8

// The sources of a policy.
const (
	FromDraft  Source = iota // nobody said anything: the draft's own default
	FromServer               // the server's default, as announced (D2)
	FromOwn                  // the declaration itself (D1)
)

// String returns "draft", "server" or "own".
func (s Source) String() string {
	switch s {
	case FromOwn:
		return "own"
	case FromServer:
		return "server"
	}
	return "draft"
}

// Where names the entry for people, as in tools[3]. The name is left out because it is
// the server's.
func (e *Entry) Where() string { return e.Kind.String() + "[" + strconv.Itoa(e.Index) + "]" }

// Finding is something that is wrong outside the declarations.
type Finding struct {
	Where string // the request whose answer it is about, such as tools/list
	policydecl.Fault
}

// All iterates over everything that is wrong, with where it is: the entries first.
func (r *Report) All() iter.Seq2[string, policydecl.Fault] {
	return func(yield func(string, policydecl.Fault) bool) {
		for i := range r.Entries {
			e := &r.Entries[i]
			for _, f := range e.Faults {
				if !yield(place.Keyed(e.Kind.String(), e.Name), f) {
					return
				}
			}
		}
		for _, f := range r.Other {
			if !yield(f.Where, f.Fault) {
				return
			}
		}
	}
}

// Count returns how many faults there are, those that were left out included.
func (r *Report) Count() int {
	n := len(r.Other) + r.More
	for i := range r.Entries {
		n += len(r.Entries[i].Faults) + r.Entries[i].More
	}
	return n
}

// Capped reports whether the validator stopped counting somewhere, so that Count is what
// there is at least.
func (r *Report) Capped() bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Capped })
}

// Capped reports whether a validator's list of faults ends in one that stands for all
// that it has not counted.
func Capped(faults []policydecl.Fault) bool {
	return len(faults) >= policydecl.MaxFaults && isCap(&faults[len(faults)-1])
}

// isCap reports whether a fault stands for all that a validator has not counted. The mistakes
// of a policy come first, so these are about other things or are not the only ones.
func isCap(f *policydecl.Fault) bool {
	return f.Pointer == "" && f.Reason == flowerrors.ReasonLimit && f.Limit == policydecl.MaxFaults
}

// Find returns the entry of that kind and name, the first if there are several.
func (r *Report) Find(target policydecl.TargetKind, name string) *Entry {
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == target && e.Name == name {
			return e
		}
	}
	return nil
}
