package inspect

import (
	"slices"
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// finish looks at what only the whole shows: a name that is listed twice (P6), and a
// server that declares policies without announcing that it has any (D2).
func (r *Report) finish() {
	type target struct {
		kind policydecl.TargetKind
		name string
	}
	first := map[target]int{}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Name == "" {
			continue // a fault already
		}
		t := target{e.Kind, e.Name}
		j, twice := first[t]
		if !twice {
			first[t] = e.Index
			continue
		}
		r.keep(e, []policydecl.Fault{fault(pointer(of(e.Kind).name), "P6", &flowerrors.ConfigError{
			Value: e.Name, Reason: flowerrors.ReasonDuplicate,
			Detail: e.Kind.String() + "[" + strconv.Itoa(j) + "] is the same " + Noun(e.Kind), Hint: "list each once",
		})})
	}
	if r.Server.lists != nil && !r.Server.Announced {
		r.unannounced()
	}
}

// unannounced looks at the policies of a server that does not announce that it has any.
func (r *Report) unannounced() {
	at := pointer(memberCapabilities, policydecl.CapabilityMember)
	copies, declares := 0, ""
	for i := range r.Entries {
		switch e := &r.Entries[i]; {
		case e.copied:
			copies++
		case e.Source == FromOwn && declares == "":
			declares = e.Where()
		}
	}
	switch {
	case declares != "":
		r.note("initialize", fault(at, "D2", &flowerrors.ConfigError{
			Reason: flowerrors.ReasonMissing, Detail: declares + " declares a flow policy, but the server does not announce that it has any",
			Hint: `announce {"policy":true} there`,
		}))
	case copies > 0:
		r.dropCopies()
		r.note("initialize", fault(at, "D2", &flowerrors.ConfigError{
			Reason: flowerrors.ReasonMissing,
			Detail: "policies are declared (" + strconv.Itoa(copies) + ", under _meta alone), but the server is not served through its gate, or the gate is off",
			Hint:   "serve it through the gate, which announces and publishes them",
		}))
	}
}

// dropCopies takes back what was said of each policy that is under _meta alone (D1): the
// gate would have published it, so a missing gate is one mistake and not as many as there
// are declarations. What is wrong in such a policy stays.
func (r *Report) dropCopies() {
	at := pointer(memberMeta, policydecl.PolicyKey)
	for i := range r.Entries {
		e := &r.Entries[i]
		before := len(e.Faults)
		if e.copied {
			e.Faults = slices.DeleteFunc(e.Faults, func(f policydecl.Fault) bool {
				return f.Pointer == at && f.Rule == "D1" && f.Reason == flowerrors.ReasonConflict
			})
		}
		r.kept -= before - len(e.Faults)
	}
}
