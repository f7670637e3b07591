package policydecl

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

const (
	labelHint     = `list whoever contributed, as in {"contributors":[{"assurance":"user"}],"complete":true} for a request from the user alone`
	whoHint       = `list whoever contributed; of a request from the user alone that is {"assurance":"user"}`
	assuranceHint = `use "user", "host", "verified", "tofu" or "unverified"; letter case matters`
)

// ValidateLabel reports every mistake in the JSON text of an origin label, or nil if
// there is none. It is stricter than [ParseLabel], which reads what it can and counts the rest
// as unverified: here whatever would count as less than it was meant is a mistake. Of a
// text without mistakes ParseLabel makes a label of class ok or incomplete, in
// which every principal and publisher is usable. At most [MaxFaults] are reported. raw is
// not kept.
func ValidateLabel(raw []byte, lim Limits) []Fault {
	lim = lim.effective()
	v, r := readStrictly(raw, lim.Bytes, lim.Depth)
	for i := range r.faults {
		if r.faults[i].Reason == flowerrors.ReasonLimit {
			r.faults[i].Rule = "L7"
		}
	}
	if len(r.faults) > 0 {
		return r.faults
	}
	r.label(v, lim)
	if len(r.faults) == 0 && LabelOf(v, true, lim).Class() == ClassMalformed {
		r.limit(nil, "L7", "", lim.Bytes, "the label is over its budget when it is written again", "list fewer contributors")
	}
	return r.faults
}

// label reports the mistakes of a label (L1, L2, L6).
func (r *report) label(v any, lim Limits) {
	obj, ok := v.(map[string]any)
	if !ok {
		r.wrong(nil, "L1", v, "a label is an object", labelHint)
		return
	}
	list, listed := obj[memberContributors]
	entries, ok := list.([]any)
	at := (*place.Place)(nil).Member(memberContributors)
	switch {
	case !listed:
		r.add(at, "L2", flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "the label lists no contributors", Hint: whoHint})
	case !ok:
		r.wrong(at, "L2", list, "contributors is an array", whoHint)
	case len(entries) == 0:
		r.add(at, "L2", flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "the list of contributors is empty", Hint: whoHint})
	case len(entries) > lim.Contributors:
		r.limit(at, "L7", strconv.Itoa(len(entries)), lim.Contributors, "too many contributors", "list equal contributors once")
	}
	for i, e := range entries {
		r.contributor(at.Element(i), e, lim)
	}
	if complete, ok := obj[memberComplete]; ok {
		if _, isBool := complete.(bool); !isBool {
			r.wrong((*place.Place)(nil).Member(memberComplete), "L6", complete, "complete is true or false", "only the literal true says that the list is complete")
		}
	}
	r.others(nil, obj, labelNames, lim)
}

// contributor reports the mistakes of one contributor (L3, L4, L5).
func (r *report) contributor(p *place.Place, v any, lim Limits) {
	obj, ok := v.(map[string]any)
	if !ok {
		r.wrong(p, "L3", v, "a contributor is an object", labelHint)
		return
	}
	r.assurance(p.Member(memberAssurance), obj, "L4")
	r.principal(p, obj, memberPrincipal, "L5", lim.String)
	r.principal(p, obj, memberPublisher, "L5", lim.String)
	r.others(p, obj, contributorNames, lim)
}

// assurance reports an assurance state that is none of the five.
func (r *report) assurance(p *place.Place, obj map[string]any, rule Rule) {
	v, ok := obj[memberAssurance]
	s, isString := v.(string)
	if _, known := ParseAssurance(s); isString && known {
		return
	}
	e := flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "no assurance, so it counts as unverified", Hint: assuranceHint}
	if ok {
		e.Reason, e.Value, e.Detail = flowerrors.ReasonUnknownToken, describe(v), "none of the assurance states, so it counts as unverified"
		if !isString {
			e.Reason = flowerrors.ReasonType
		}
	}
	r.add(p, rule, e)
}

// principal reports a principal or publisher, if there is one, that cannot be used (U2).
func (r *report) principal(p *place.Place, obj map[string]any, name string, rule Rule, longest int) {
	v, ok := obj[name]
	if !ok {
		return
	}
	p = p.Member(name)
	s, ok := v.(string)
	if !ok {
		r.wrong(p, rule, v, "it is a string", "write an absolute URI, or leave the member out to withhold it")
		return
	}
	if len(s) > longest {
		r.limit(p, "L7", strconv.Itoa(len(s)), longest, "the string has too many bytes", "withhold it")
		return
	}
	_, err := resourcematch.Canonical(s)
	for e := range flowerrors.All(err) {
		r.add(p, "U2", *e)
	}
}

// others reports what is wrong with the members that are not known (L7, L8). Whatever else
// they hold is somebody's extension.
func (r *report) others(p *place.Place, obj map[string]any, known []string, lim Limits) {
	names := r.strange(p, obj, known)
	r.folded(p, names)
	for _, name := range names {
		r.extension(p.Member(name), name, obj[name], lim)
	}
}

// strange returns the names of the members that are not known, sorted, and reports those
// that some readers take for a known one (L8).
func (r *report) strange(p *place.Place, obj map[string]any, known []string) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(obj)), func(name string) bool { return slices.Contains(known, name) })
	for _, name := range names {
		if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
			r.add(p.Member(name), "L8", flowerrors.ConfigError{
				Value: name, Reason: flowerrors.ReasonUnknownMember, Detail: "some readers take it for " + known[i], Hint: "write " + known[i],
			})
		}
	}
	return names
}

// folded reports names that differ only by letter case (L8).
func (r *report) folded(p *place.Place, names []string) {
	first := make(map[string]string, len(names))
	for _, name := range names {
		key := fold(name)
		if other, twice := first[key]; twice {
			r.add(p.Member(name), "L8", flowerrors.ConfigError{
				Value: name, Reason: flowerrors.ReasonDuplicate,
				Detail: "some readers take it for the same as " + strconv.QuoteToASCII(other), Hint: "remove one of the two",
			})
			continue
		}
		first[key] = name
	}
}

// extension reports an unknown member that is over a budget (L7), or ambiguous (L8).
func (r *report) extension(p *place.Place, name string, v any, lim Limits) {
	r.long(p, name, lim)
	switch v := v.(type) {
	case string:
		r.long(p, v, lim)
	case []any:
		for i, e := range v {
			r.extension(p.Element(i), "", e, lim)
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		r.folded(p, names)
		for _, name := range names {
			r.extension(p.Member(name), name, v[name], lim)
		}
	}
}

// long reports a string that is over its budget (L7).
func (r *report) long(p *place.Place, s string, lim Limits) {
	if len(s) > lim.String {
		r.limit(p, "L7", strconv.Itoa(len(s)), lim.String, "the string or name has too many bytes", "shorten it")
	}
}
