package middleware

import (
	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// finding is one thing that the gate has found out about a request. Several seams may
// each find something; the weightiest is what the operator's record says.
type finding struct {
	verdict  decision.Verdict
	mode     Mode
	reason   decision.Reason
	detail   string
	target   key    // whose policy it was
	asked    string // what the request named, where it names several things
	decision policydecl.Decision
}

// inForce returns what becomes of the request because of the finding (M1).
func (f finding) inForce() verdict {
	if f.mode.Or(Enforce) != Enforce || !f.verdict.Objects() {
		return accepted
	}
	switch f.verdict {
	case decision.Invalid:
		return invalid
	case decision.Fault:
		return broken
	}
	return refused
}

// weight orders findings: what stops a request, what would have, what does not.
func (f finding) weight() int {
	w := 0
	switch f.verdict {
	case decision.Unjudged:
		return 0
	case decision.Accepted:
		return 1
	case decision.Refused:
		w = 2
	case decision.Invalid:
		if w = 3; f.reason == decision.ReasonCancelled {
			w = 2 // it says nothing against what was found before
		}
	case decision.Fault:
		w = 4
	}
	if f.inForce() != accepted {
		w += 4
	}
	return w
}

// whyRefused classifies a refusal for the record. detail is what failed, if anything did.
func whyRefused(class policydecl.Class, d policydecl.Decision) (reason decision.Reason, detail string) {
	if cause := d.Cause(); cause != nil {
		detail = cause.Error()
		if d.Policy().Err() != nil {
			return decision.ReasonPolicy, detail
		}
		return decision.ReasonMatcher, detail
	}
	switch class {
	case policydecl.ClassOK:
		return decision.ReasonContributor, ""
	case policydecl.ClassIncomplete:
		return decision.ReasonIncomplete, ""
	case policydecl.ClassMalformed:
		return decision.ReasonMalformed, ""
	}
	return decision.ReasonAbsent, ""
}
