package conformance

import (
	"slices"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// Status says how a check ended.
type Status string

// The statuses. A check of a finished run has one of them; the text is what the command
// prints, and stays.
const (
	// Passed means that at least one answer was judged, and none was wrong.
	Passed Status = "passed"
	// Failed means that at least one answer was wrong, or that the check lost the server.
	Failed Status = "failed"
	// NotApplicable means that the server offers nothing to try the rule on.
	NotApplicable Status = "not-applicable"
	// NotRun means that the rule could not be tried, or that no answer proved anything.
	NotRun Status = "not-run"
)

// Bounds on a report.
const (
	// MaxFailures is how many failures of one check are kept; see Check.More.
	MaxFailures = 10
	// MaxText is how many bytes of what was sent or came back are shown.
	MaxText = 1200
)

// Report is what a run found out. Its texts are printable ASCII and bounded.
type Report struct {
	// Server is the server's name and version, as it says in the last era that was run, with a
	// space between; empty if it says neither.
	Server string
	// Eras are both eras in the order of their age, also one that was not run.
	Eras []Era
	// Checks are all checks of each era that was run, in the order of the package
	// documentation, era by era, and last the one that compares the eras. None is left out: one
	// that was not made says why.
	Checks []Check
	// Unchecked are the rules that no check looks at, with the reasons; the same in every report.
	Unchecked []Unchecked
	// Notices say what of the server as a whole keeps it from being tested, or bounds what was
	// tried, such as that it announces no flow policy. Empty if nothing does.
	Notices []string
	// Lost says which check lost the server half-way, the last one if it was lost in both eras,
	// and why; empty if it was not lost, or the run was only ended.
	Lost string

	judged bool // a policy was seen to refuse, or not to where it must
}

// Era is one protocol era of a run.
type Era struct {
	// Name is [EraHandshake] or [EraStateless].
	Name string
	// Version is the protocol version in use; empty if the era was not run.
	Version string
	// Reason says why the era was not run: nobody asked for it, or the server could not be
	// reached in it. Empty if it was run.
	Reason string
}

// Check is one rule, tried in one era.
type Check struct {
	// ID names the rule, as the package documentation lists them.
	ID string
	// Era is [EraHandshake] or [EraStateless]; empty for the check that compares them.
	Era string
	// Title says in a few words what the server has to do. It is never empty.
	Title string
	// Status says how the check ended.
	Status Status
	// Reason says why the check was not made or does not apply. Of one that passed or failed it
	// says what was left out or proved nothing; empty if nothing was.
	Reason string
	// Requests is how many answers were judged, where eras are compared how many pairs of them,
	// and where it is about what is published how many declarations.
	Requests int
	// Failures are what was wrong, in the order found, at most [MaxFailures]; empty unless the
	// check failed.
	Failures []Failure
	// More is how many failures were left out of Failures.
	More int
}

// Failure is a request that was not answered as the rule wants, or a declaration that is not
// as it must be.
type Failure struct {
	// About says what was tried: a request and its label in words, or the name of what is
	// published.
	About string
	// Sent is the beginning of the request, or of what is published.
	Sent string
	// Got is the beginning of what came back, and what is wrong with it.
	Got string
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
