package flowreport

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
)

// Answer says what would become of requests if policies were enforced today.
type Answer uint8

// The answers.
const (
	Breaks    Answer = iota // requests that run today would be stopped
	Uncertain               // none that is known of, but not all is known
	Nothing                 // none
)

// String names the answer as JSON does.
func (a Answer) String() string { return [...]string{"breaks", "uncertain", "nothing"}[a] }

// Row is a number of requests that have all of this in common.
type Row struct {
	Server, Method, Target, Client, Reason Name
	Registered                             bool // Target is the server's own word, not the peer's
	Outcome                                Outcome
	Who                                    Who // the least assured contributor that was rejected
	Tally
}

// Report is what records amount to. All lists are sorted: the most requests first.
type Report struct {
	Answer       Answer
	Since, Until time.Time // what was asked for
	Lines        Lines
	Total        Tally
	Outcomes     [Off + 1]uint64 // requests, by Outcome
	Lost         uint64          // requests of unknown kind that no record stands for; not in Total
	Sampled      Tally           // those of Total of which only verdict and mode are known
	Above        uint64          // sources that hold objections alone
	FaultCount   uint64
	Rows         []Row
	Hosts        []Host
	Contributors []Contributor
	Faults       []Fault
	Settings     []Digest
	Policies     []Digest
	Capped       []string // kinds of names of which there were too many to tell apart
}

// Report says what was counted so far.
func (c *Collector) Report() *Report {
	r := &Report{Since: c.since, Until: c.until, Lines: c.lines, Total: c.total, Outcomes: c.outcome, Lost: c.lost, Sampled: c.sampled, Above: c.above}
	for key, tally := range c.cells {
		r.Rows = append(r.Rows, Row{
			key.Server, key.Method, key.Target, key.Client, key.Reason, key.Registered, key.Outcome, key.Who, *tally,
		})
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Requests, a.Requests), compareNames(a.Server, b.Server), compareNames(a.Method, b.Method), compareNames(a.Target, b.Target),
			compareNames(a.Client, b.Client), compareNames(a.Reason, b.Reason), compareWho(a.Who, b.Who), cmp.Compare(a.Outcome, b.Outcome), compareBool(a.Registered, b.Registered),
		)
	})
	r.Hosts = sorted(c.hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), compareNames(a.Name, b.Name))
	})
	r.Contributors = sorted(c.contributors, func(a, b Contributor) int {
		return cmp.Or(cmp.Compare(b.WouldStop, a.WouldStop), cmp.Compare(b.Stopped, a.Stopped), compareWho(a.Who, b.Who))
	})
	r.Faults = sorted(c.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), compareNames(a.Server, b.Server), compareNames(a.Reason, b.Reason))
	})
	for _, f := range r.Faults {
		r.FaultCount = sum(r.FaultCount, f.Requests)
	}
	byRequests := func(a, b Digest) int {
		return cmp.Or(compareNames(a.Server, b.Server), cmp.Compare(b.Requests, a.Requests), compareNames(a.Digest, b.Digest))
	}
	r.Settings, r.Policies = sorted(c.settings, byRequests), sorted(c.policies, byRequests)
	overlaps(r.Settings)
	for _, n := range []*names{c.servers, c.methods, c.targets, c.unregistered, c.clients, c.principals, c.reasons, c.digests} {
		if n.full {
			r.Capped = append(r.Capped, n.kind)
		}
	}
	if c.cellsFull {
		r.Capped = append(r.Capped, "combinations of these")
	}
	switch {
	case r.Outcomes[WouldStop] > 0:
		r.Answer = Breaks
	case len(r.Because()) > 0:
		r.Answer = Uncertain
	default:
		r.Answer = Nothing
	}
	return r
}

func sorted[K comparable, V any](m map[K]*V, compare func(a, b V) int) []V {
	list := make([]V, 0, len(m))
	for v := range maps.Values(m) {
		list = append(list, *v)
	}
	slices.SortFunc(list, compare)
	return list
}

func compareWho(a, b Who) int {
	return cmp.Or(cmp.Compare(a.Assurance, b.Assurance), compareNames(a.Principal, b.Principal))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// overlaps marks the settings of one server that were in force at one time: its replicas
// differ, or did while they were changed.
func overlaps(list []Digest) {
	for i := range list {
		for j := range list {
			a, b := &list[i], &list[j]
			if i != j && a.Server == b.Server && !a.Digest.Others && !b.Digest.Others && !a.First.IsZero() && !b.First.IsZero() &&
				a.First.Before(b.Last) && b.First.Before(a.Last) {
				a.Overlaps = true
			}
		}
	}
}

// Class is the class of contributor, or else the reason, that speaks against a request.
func (r *Row) Class() string {
	switch r.Outcome {
	case Accepted:
		return "accepted"
	case Unjudged:
		return "turned away by the server"
	case Off:
		return "mode off"
	}
	if r.Who.Assurance != "" {
		return r.Who.String()
	}
	if text, ok := reasonTexts[decision.Reason(r.Reason.Text)]; ok && !r.Reason.Others {
		return text
	}
	return "reason " + r.Reason.String()
}

// reasonTexts says in words what a reason means where no contributor does.
var reasonTexts = map[decision.Reason]string{
	decision.ReasonNone: "no reason given", decision.ReasonContributor: "somebody on the label",
	decision.ReasonAbsent: "no label", decision.ReasonMalformed: "unreadable label", decision.ReasonIncomplete: "incomplete label",
	decision.ReasonAmbiguous: "cannot be judged: ambiguous", decision.ReasonID: "cannot be judged: bad id", decision.ReasonMeta: "cannot be judged: bad _meta",
	decision.ReasonURI: "cannot be judged: bad URI", decision.ReasonTooMany: "cannot be judged: too many URIs", decision.ReasonCancelled: "cancelled before it was judged",
	decision.ReasonSampled: "too many kinds to tell apart",
	decision.ReasonMatcher: "failed matcher", decision.ReasonSeams: "gate fault: seams", decision.ReasonPolicy: "gate fault: bad policy", decision.ReasonPanic: "gate fault: panic",
}

// String describes the contributor.
func (w Who) String() string {
	if w.Principal.Others || w.Principal.Text != "" {
		return w.Assurance + " " + w.Principal.String()
	}
	return w.Assurance
}

// Grouped writes a number with a comma before each three digits.
func Grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func count(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + one + "s"
}
