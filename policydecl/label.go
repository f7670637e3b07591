package policydecl

import (
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Class says what a reader saw (L9). An operator needs it to tell "no label
// arrives", as when a gateway strips _meta, from "labels arrive and are refused".
// It describes; it decides nothing beyond what the contributors decide.
type Class uint8

// The classes. The zero value is ClassAbsent.
const (
	// ClassAbsent: there was no label, or it was null (L1).
	ClassAbsent Class = iota
	// ClassMalformed: something was there that cannot be read as a label (L1, L2, L7).
	ClassMalformed
	// ClassIncomplete: a label that does not say complete:true (L6).
	ClassIncomplete
	// ClassOK: a label that lists all its contributors.
	ClassOK
)

// String returns "absent", "malformed", "incomplete" or "ok".
func (c Class) String() string {
	switch c {
	case ClassOK:
		return "ok"
	case ClassIncomplete:
		return "incomplete"
	case ClassMalformed:
		return "malformed"
	}
	return "absent"
}

// Label is what a reader made of an origin label. It is immutable and safe for
// concurrent use.
//
// The zero value is the absent label: one unverified contributor, not complete
// (L1). A policy that does not accept "unverified" refuses it.
type Label struct {
	stated []Contributor // without the synthetic contributor
	class  Class
}

// malformed is the label of something that is there and cannot be read.
var malformed = Label{class: ClassMalformed}

// Class returns what the reader saw (L9).
func (l Label) Class() Class { return l.class }

// Complete reports whether the sender listed every contributor (L6).
func (l Label) Complete() bool { return l.class == ClassOK }

// Len returns how many contributors are evaluated. That includes the synthetic
// unverified one of a label that is not complete (L6), so Len is at least 1. An
// absent or malformed label has just that one: the contributor of L1 and the
// synthetic one are equal, and evaluation takes a label as a set (P7).
func (l Label) Len() int {
	if l.Complete() {
		return len(l.stated)
	}
	return len(l.stated) + 1
}

// At returns contributor i in label order; a synthetic one comes last. For an i
// outside [0, Len) it returns the zero Contributor, which is unverified.
func (l Label) At(i int) Contributor {
	if i < 0 || i >= len(l.stated) {
		return Contributor{}
	}
	return l.stated[i]
}

// Contributors iterates over what [Label.At] returns for 0 to Len-1.
func (l Label) Contributors() iter.Seq2[int, Contributor] {
	return func(yield func(int, Contributor) bool) {
		for i := range l.Len() {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}

// Equal reports whether two labels say the same to everybody who reads them: the
// same class, and the same contributors in the same order. Unusable values kept for
// the record do not count.
func (l Label) Equal(other Label) bool {
	return l.class == other.class && slices.EqualFunc(l.stated, other.stated, Contributor.same)
}

// BuildLabel returns the label a host sends for the contributors it has counted,
// in the given order. It is built as a reader with default [Limits] would read it:
// without contributors, or over a budget, it is malformed, which every
// strict policy refuses. A host should look at [Label.Class] and may
// then list equal contributors once, which changes no verdict (P8).
//
// Where a host may have missed somebody, complete has to be false (L6).
func BuildLabel(complete bool, cs ...Contributor) Label {
	if len(cs) == 0 || len(cs) > MaxContributors {
		return malformed
	}
	l := Label{stated: slices.Clone(cs), class: ClassIncomplete}
	if complete {
		l.class = ClassOK
	}
	if len(l.AppendJSON(nil)) > MaxLabelBytes {
		return malformed
	}
	return l
}

// AppendJSON appends the label in its wire form and returns the extended buffer.
// Unusable principals and publishers are left out. Reading the result gives an
// equal label (P8): an absent label is written as null, a malformed one with an
// empty list of contributors, so neither gains anything by being passed on.
func (l Label) AppendJSON(dst []byte) []byte {
	if l.class == ClassAbsent {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"contributors":[`...)
	for i, c := range l.stated {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendJSON(dst)
	}
	if l.Complete() {
		return append(dst, `],"complete":true}`...)
	}
	return append(dst, `],"complete":false}`...)
}

// appendJSON appends the contributor's wire form.
func (c Contributor) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if p := c.Principal(); p != "" {
		dst = append(dst, `"principal":`...)
		dst = append(appendString(dst, p), ',')
	}
	dst = append(dst, `"assurance":"`...)
	dst = append(append(dst, c.assurance.String()...), '"')
	if p := c.Publisher(); p != "" {
		dst = append(dst, `,"publisher":`...)
		dst = appendString(dst, p)
	}
	return append(dst, '}')
}

// MarshalJSON returns what [Label.AppendJSON] appends. The error is always nil.
func (l Label) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// appendString appends s as a JSON string. Text that is not UTF-8 is repaired,
// which only a token of a policy with mistakes can need.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
