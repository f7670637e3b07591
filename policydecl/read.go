package policydecl

// LabelOf reads a label that a JSON decoder has already turned into Go values, as
// encoding/json does for an any: map[string]any, []any, string, float64 or
// json.Number, bool, nil. The argument present says whether the member was there at
// all; of an absent one v is ignored.
//
// It is total (L1–L7): whatever v holds, the answer is a label, and what cannot be
// read counts as unverified. A value of any other Go type makes the label malformed,
// because its size cannot be judged. So do two names of one object that
// differ only by case folding, and a name that is a member of the label only after
// folding (L8). The sizes that [Limits] bounds are those of the compact JSON text
// without escapes; a number may count for more than its digits.
//
// LabelOf keeps no reference to v's maps and slices.
func LabelOf(v any, present bool, lim Limits) Label {
	if !present || v == nil {
		return Label{}
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return malformed
	}
	r := reader{lim: lim.effective()}
	return r.label(obj)
}

// reader reads one label and meters it as it goes.
type reader struct {
	lim   Limits
	bytes int // size so far
}

// The levels at which a label's own containers lie.
const (
	levelLabel = iota + 1
	levelContributors
	levelContributor
)

// The known names of a label and of a contributor, for the check of L8.
var (
	labelNames       = []string{memberContributors, memberComplete}
	contributorNames = []string{memberPrincipal, memberAssurance, memberPublisher}
)

// label reads the label object (L2, L6, L7).
func (r *reader) label(obj map[string]any) Label {
	list, listed := obj[memberContributors]
	complete, stated := obj[memberComplete]
	known := 0
	r.container(len(obj))
	if listed {
		known++
		r.bytes += len(`"contributors":`)
	}
	if stated {
		known++
		r.bytes += len(`"complete":`)
		if !r.value(complete, levelLabel+1) {
			return malformed
		}
	}
	if known != len(obj) && !r.members(obj, labelNames, levelLabel+1) {
		return malformed
	}
	entries, ok := list.([]any)
	if !ok || len(entries) == 0 || len(entries) > r.lim.Contributors {
		return malformed
	}
	r.container(len(entries))
	// A contributor that nobody could read stays the zero one: unverified (L3).
	cs := make([]Contributor, len(entries))
	for i, e := range entries {
		if !r.contributor(&cs[i], e) {
			return malformed
		}
	}
	l := Label{stated: cs, class: ClassIncomplete}
	// Only the JSON literal true counts (L6): not "true", not 1.
	if complete == true {
		l.class = ClassOK
	}
	// What is read must be readable when it is written again (P8), and writing can add:
	// a missing assurance, a missing complete. The sum is never out by more.
	if r.bytes+len(entries)*writtenExtra+writtenExtra > r.lim.Bytes && len(l.AppendJSON(nil)) > r.lim.Bytes {
		return malformed
	}
	return l
}

// writtenExtra bounds what writing adds to a label as a whole, and to a contributor.
const writtenExtra = len(`{"contributors":[],"complete":false}`)

// contributor reads one entry of the list into c, which is zero. It reports false
// if the label is over a budget or ambiguous.
func (r *reader) contributor(c *Contributor, v any) bool {
	obj, ok := v.(map[string]any)
	if !ok {
		return r.value(v, levelContributor)
	}
	known := 0
	r.container(len(obj))
	if a, ok := obj[memberAssurance]; ok {
		known++
		r.bytes += len(`"assurance":`)
		if !r.value(a, levelContributor+1) {
			return false
		}
		if s, ok := a.(string); ok {
			c.assurance, _ = ParseAssurance(s) // L4
		}
	}
	if p, ok := obj[memberPrincipal]; ok {
		known++
		r.bytes += len(`"principal":`)
		if !r.identity(&c.principal, p) {
			return false
		}
	}
	if known == len(obj) { // as a rule there is no publisher to look for
		return r.bytes <= r.lim.Bytes
	}
	if p, ok := obj[memberPublisher]; ok {
		known++
		r.bytes += len(`"publisher":`)
		if !r.identity(&c.publisher, p) {
			return false
		}
	}
	if known != len(obj) && !r.members(obj, contributorNames, levelContributor+1) {
		return false
	}
	return r.bytes <= r.lim.Bytes
}

// identity reads a principal or a publisher (L5).
func (r *reader) identity(id *identity, v any) bool {
	// Metered first: an over-long string must not be canonicalised at all.
	if !r.value(v, levelContributor+1) {
		return false
	}
	switch v := v.(type) {
	case string:
		*id = identify(v)
	case nil:
		id.text = "(null)"
	case bool:
		id.text = "(boolean)"
	case map[string]any:
		id.text = "(object)"
	case []any:
		id.text = "(array)"
	default:
		id.text = "(number)" // value has admitted no other type
	}
	return true
}
