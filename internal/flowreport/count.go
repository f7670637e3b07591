package flowreport

import (
	"math"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Tally is a number of requests. A record counts for itself and for those that sampling
// left out, which are alike to it in method, registered target, verdict, mode, reason and
// label class: sums over these are exact. One with the reason "sampled" stands for requests
// of which only verdict and mode are known. Host, contributors, and a target that is not
// registered are those of the record alone, so that sums over them are estimates.
type Tally struct {
	Records     uint64
	Requests    uint64    // that the records stand for, without those that were lost
	Suppressed  uint64    // those of them that sampling left out
	First, Last time.Time // of the records; zero if none has a time
}

func (t *Tally) add(r *decision.Record) {
	t.Records++
	t.Requests = sum(t.Requests, weight(r))
	t.Suppressed = sum(t.Suppressed, r.Suppressed)
	t.at(r.Time)
}

func (t *Tally) at(when time.Time) {
	if when.IsZero() {
		return
	}
	when = when.UTC()
	if t.First.IsZero() || when.Before(t.First) {
		t.First = when
	}
	if when.After(t.Last) {
		t.Last = when
	}
}

// weight is how many requests a record stands for, without lost ones, which can be of any
// kind.
func weight(r *decision.Record) uint64 { return sum(1, r.Suppressed) }

// sum adds, and stays at the largest number.
func sum(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	WouldStop Outcome = iota // it ran, and would not if the policy were enforced
	Stopped                  // it did not run
	Accepted
	Unjudged // the server turned it away itself, so that no policy was asked (G1)
	Off      // the mode was off, so that no policy was asked (M1)
)

// String names the outcome as JSON does.
func (o Outcome) String() string {
	return [...]string{"would-stop", "stopped", "accepted", "unjudged", "off"}[o]
}

func outcome(r *decision.Record) Outcome {
	switch {
	case r.WouldStop():
		return WouldStop
	case r.Stopped():
		return Stopped
	case r.Verdict == decision.Accepted:
		return Accepted
	case r.Mode == policydecl.DangerouslyOff:
		return Off
	}
	return Unjudged
}

// Who is a contributor that policies do not accept.
type Who struct {
	Assurance string // "" for none
	Principal Name   // empty where it was withheld or unusable
}

// cellKey is what requests that are counted together have in common.
type cellKey struct {
	Server, Method, Target, Client, Reason Name
	Registered                             bool
	Outcome                                Outcome
	Who                                    Who // the least assured of those that are rejected
}

// Host is what is known of the requests of one host, by its name.
type Host struct {
	Name Name
	Tally
	Outcomes                                [Off + 1]uint64
	Labelled, Incomplete, Malformed, Absent uint64 // how its labels were read (L9)
	NotRead                                 uint64 // no label was looked for
	Declared, Undeclared, Unknown           uint64 // whether it says that it labels
}

func (h *Host) add(r *decision.Record, o Outcome) {
	h.Tally.add(r)
	add := func(n *uint64) { *n = sum(*n, weight(r)) }
	add(&h.Outcomes[o])
	switch {
	case !r.Judged:
		add(&h.NotRead)
	case r.Class == policydecl.ClassOK:
		add(&h.Labelled)
	case r.Class == policydecl.ClassIncomplete:
		add(&h.Incomplete)
	case r.Class == policydecl.ClassMalformed:
		add(&h.Malformed)
	default:
		add(&h.Absent)
	}
	switch r.FlowOrigin {
	case "declared":
		add(&h.Declared)
	case "undeclared":
		add(&h.Undeclared)
	default:
		add(&h.Unknown)
	}
}

// Contributor counts the requests that one contributor was rejected in. Several can be in
// one request, so that these numbers do not add up to that of requests.
type Contributor struct {
	Who
	Tally
	WouldStop, Stopped uint64
	Alone              uint64 // requests in which nobody else was rejected
}

// Fault is what gates reported about themselves.
type Fault struct {
	Server, Reason Name
	Tally
	Detail string // of the latest record
}

// Digest is a state of the settings or a policy that was in force.
type Digest struct {
	Server, Digest Name
	Tally
	AcceptFrom []string // of a policy
	Overlaps   bool     // another one of that server was seen before and after records of this one
}
