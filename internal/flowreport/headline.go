package flowreport

import (
	"fmt"
	"strings"

	"github.com/flowgate-mcp/flowgate/decision"
)

// targetKey tells targets apart: two servers can have one of the same name, and a server a
// tool and a prompt.
type targetKey struct {
	server Name
	kind   string
	name   Name
}

func (r *Row) target() targetKey {
	kind, _, _ := strings.Cut(r.Method.String(), "/")
	switch {
	case kind == "subscriptions", kind == "completion" && strings.Contains(r.Target.Text, "://"):
		kind = "resources"
	case kind == "completion":
		kind = "prompts"
	}
	return targetKey{r.Server, kind, r.Target}
}

// sampled reports whether nothing but verdict and mode is known of the requests.
func (r *Row) sampled() bool {
	return !r.Reason.Others && r.Reason.Text == string(decision.ReasonSampled)
}

// Headline answers the question in one sentence.
func (r *Report) Headline() string {
	stopped, all := r.Outcomes[WouldStop], Grouped(r.Total.Requests)
	if stopped == 0 {
		return "Enforcing today would stop nothing of " + count(r.Total.Requests, "request") + "."
	}
	targets, hosts, rest := map[targetKey]bool{}, map[Name]bool{}, ""
	for i := range r.Rows {
		switch row := &r.Rows[i]; {
		case row.Outcome != WouldStop:
		case row.sampled():
			rest = ", and what is not known"
		default:
			targets[row.target()], hosts[row.Client] = true, true
		}
	}
	return fmt.Sprintf("Enforcing today would stop %s of %s requests: %s, %s%s.", Grouped(stopped), all, count(uint64(len(targets)), "target"), count(uint64(len(hosts)), "host"), rest)
}

// Because lists, in sentences without a full stop, what keeps the records from showing all
// that enforcing would stop, and what there is to mend besides.
func (r *Report) Because() []string {
	var list sentences
	list.count(r.Outcomes[Off], "request ran with the mode off, so that no policy was asked: what enforcing would do to it is not known", "requests ran with the mode off, so that no policy was asked: what enforcing would do to them is not known")
	list.count(r.Lost, "request has no record, because a sink was too slow: it can be of any kind", "requests have no record, because a sink was too slow: they can be of any kind")
	list.count(r.Above, "source has no record of a request that nothing was said against: a log at level Info holds objections alone", "sources have no record of a request that nothing was said against: a log at level Info holds objections alone")
	list.count(r.Lines.Malformed, "line is a damaged record", "lines are damaged records")
	list.count(r.FaultCount, "request met a gate or a server that is not in order", "requests met a gate or a server that is not in order")
	return list
}
