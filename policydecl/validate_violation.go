package policydecl

import (
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

const violationHint = `write {"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}`

// The known names of a violation and of an entry in it.
var (
	violationNames = []string{"rejected", memberAcceptFrom}
	rejectedNames  = []string{memberAssurance, memberPrincipal}
)

// ValidateViolation reports every mistake in the JSON text of a violation payload, the
// value of [flowerrors.ViolationKey] in the data of a refusal (X2), or nil if there is
// none. It is stricter than [flowerrors.ReadViolation], which reads whatever has the
// right shape. Both lists may be empty, for a recipient that keeps the detail to
// itself (X4). At most [MaxFaults] are reported. raw is not kept.
func ValidateViolation(raw []byte) []Fault {
	v, r := readStrictly(raw, flowerrors.MaxViolationBytes, declarationDepth)
	if len(r.faults) > 0 {
		return r.faults
	}
	obj, ok := v.(map[string]any)
	if !ok {
		r.wrong(nil, "X2", v, "a violation is an object", violationHint)
		return r.faults
	}
	var root *place.Place
	seen := make(map[contributorKey]int)
	for i, e := range r.list(root, obj, "rejected") {
		r.rejected(root.Member("rejected").Element(i), e, i, seen)
	}
	if list := r.list(root, obj, memberAcceptFrom); list != nil {
		_, faults := parseTokens(list)
		r.policyFaults(root, faults.join())
	}
	r.strange(root, obj, violationNames)
	return r.faults
}

// list returns the array that obj holds under name, or reports that it does not.
func (r *report) list(p *place.Place, obj map[string]any, name string) []any {
	v, ok := obj[name]
	if !ok {
		r.add(p.Member(name), "X2", flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "the list is missing", Hint: violationHint})
		return nil
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		r.wrong(p.Member(name), "X2", v, "it is an array", violationHint)
		return nil
	case len(list) > flowerrors.MaxViolationItems:
		r.limit(p.Member(name), "X2", strconv.Itoa(len(list)), flowerrors.MaxViolationItems, "the list is too long", "list equal entries once")
		return nil
	}
	return list
}

// rejected reports the mistakes of the i-th entry of rejected, which is a set (P7).
func (r *report) rejected(p *place.Place, v any, i int, seen map[contributorKey]int) {
	obj, ok := v.(map[string]any)
	if !ok {
		r.wrong(p, "X2", v, "an entry is an object", violationHint)
		return
	}
	before := len(r.faults)
	r.strange(p, obj, rejectedNames)
	r.assurance(p.Member(memberAssurance), obj, "X2")
	r.principal(p, obj, memberPrincipal, "X2", flowerrors.MaxViolationString)
	if len(r.faults) > before {
		return
	}
	var key contributorKey
	s, _ := obj[memberAssurance].(string)
	key.assurance, _ = ParseAssurance(s)
	if uri, ok := obj[memberPrincipal].(string); ok {
		key.principal, _ = resourcematch.Canonical(uri) // just found usable
	}
	if j, twice := seen[key]; twice {
		r.add(p, "P7", flowerrors.ConfigError{
			Reason: flowerrors.ReasonDuplicate, Detail: "the same as rejected[" + strconv.Itoa(j) + "]", Hint: "list equal entries once",
		})
		return
	}
	seen[key] = i
}
