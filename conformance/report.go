package conformance

import (
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// Status says how a check ended.
type Status string

// The statuses.
const (
	Passed        Status = "passed"
	Failed        Status = "failed"
	NotApplicable Status = "not-applicable" // the server offers nothing to try it on
	NotRun        Status = "not-run"        // it could not be tried
)

// Bounds on a report.
const (
	// MaxFailures is how many failures of one check are kept; see Check.More.
	MaxFailures = 10
	// MaxText is how many bytes of what was sent or came back are shown.
	MaxText = 1200
)

// Report is what a run found out.
type Report struct {
	Server  string // its name and version, as it says
	Eras    []Era
	Checks  []Check // in the order of the package documentation, era by era
	Notices []string
	Lost    string // where and why the server was lost half-way; empty if it was not

	judged bool // a policy was seen to refuse, or not to where it must
}

// Era is one protocol era of a run.
type Era struct {
	Name    string // 2025-11-25 or 2026-07-28
	Version string // the protocol version in use; empty if the era was not run
	Reason  string // why it was not run
}

// Check is one rule, tried in one era.
type Check struct {
	ID       string // see the package documentation
	Era      string // empty for a check that compares the eras
	Title    string
	Status   Status
	Reason   string // why it was not run or does not apply, or what of it was left out
	Requests int    // how many answers were judged
	Failures []Failure
	More     int // how many failures were left out
}

// Failure is a request that was not answered as the rule wants.
type Failure struct {
	About string // what was tried
	Sent  string // the beginning of the request
	Got   string // what came back, and what is wrong with it
}

// Failed returns the checks that failed.
func (r *Report) Failed() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Status != Failed })
}

// Count returns how many checks ended so.
func (r *Report) Count(s Status) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].Status == s {
			n++
		}
	}
	return n
}

// Find returns the check with that id in that era, or nil.
func (r *Report) Find(id, era string) *Check {
	for i := range r.Checks {
		if c := &r.Checks[i]; c.ID == id && c.Era == era {
			return c
		}
	}
	return nil
}

// Tested reports whether any request that a policy must refuse was refused by it, or got
// through. Without one a report says nothing about the server.
func (r *Report) Tested() bool { return r.judged }

// Untested says why nothing was tested, or "" if something was.
func (r *Report) Untested() string {
	switch {
	case r.Tested():
		return ""
	case len(r.Notices) > 0:
		return strings.Join(r.Notices, "; ")
	case r.Lost != "":
		return unrefused + ", and the server was lost: " + r.Lost
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; strings.HasPrefix(c.ID, "5/") && c.Status == NotRun {
			return unrefused + ": " + c.Reason
		}
	}
	if len(r.Failed()) > 0 {
		return unrefused
	}
	return noneOf("nothing")
}

const unrefused = "no request was refused by policy"

// fail adds a failure. Its texts come in whatever form.
func (c *Check) fail(about, sent, got string) {
	if len(c.Failures) == MaxFailures {
		c.More++
		return
	}
	c.Failures = append(c.Failures, Failure{plain.Escape(about, 200), plain.Escape(sent, MaxText), plain.Escape(got, MaxText)})
}

// end decides how the check ended, unless that is said already.
func (c *Check) end() {
	switch {
	case len(c.Failures) > 0:
		c.Status = Failed
	case c.Status == "" && c.Requests > 0:
		c.Status = Passed
	case c.Status == "":
		c.Status = NotRun
	}
}
