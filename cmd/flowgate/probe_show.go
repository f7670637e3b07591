package main

import (
	"encoding/json"
	"fmt"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
)

// probed is everything a probe found out.
type probed struct {
	flags      *probeFlags
	server     *serverJSON // nil if it could not be asked
	plan       *plan       // empty if the tool could not be found
	conclusion *conclusion
}

// probeJSON is what probe -json prints.
type probeJSON struct {
	Command  string      `json:"command"` // probe
	Target   *targetJSON `json:"target"`
	Server   *serverJSON `json:"server"` // null if it could not be asked
	Tool     string      `json:"tool"`
	Policy   *policyJSON `json:"policy"` // null if it is not known
	Requests []shotJSON  `json:"requests"`
	Verdict  verdict     `json:"verdict"`
	Text     string      `json:"text"`  // for people; the wording may change
	Notes    []string    `json:"notes"` // the same
}

// shotJSON is one request and what came back.
type shotJSON struct {
	Name    string          `json:"name"`             // stranger, marked, other, unlabelled, empty, incomplete, accepted or named
	Label   json.RawMessage `json:"label"`            // null if there was none
	Expect  string          `json:"expect"`           // refused or accepted
	Outcome judge.Outcome   `json:"outcome"`          // not-sent, judge.Refused, judge.Result, tool-error, error or http
	Saw     sight           `json:"saw,omitempty"`    // of a labelled one that was refused: whole, states, nothing, other, unclear or hidden
	Code    int64           `json:"code,omitempty"`   // of an error
	Status  int             `json:"status,omitempty"` // of HTTP, if it is not 200
	Text    string          `json:"text,omitempty"`   // of an error, cut
	Times   int             `json:"times,omitempty"`  // how often it was sent, if that is not once
	Mixed   bool            `json:"mixed,omitempty"`  // it was not always answered alike
	Flaws   []string        `json:"flaws,omitempty"`  // what is wrong with a refusal, for people

	Rejected   []flowerrors.Rejected `json:"rejected,omitempty"`
	AcceptFrom []string              `json:"acceptFrom,omitempty"`
}

func (o *probed) json() probeJSON {
	out := probeJSON{
		Command: "probe", Target: o.flags.json(), Server: o.server, Tool: o.flags.tool,
		Requests: []shotJSON{},
		Verdict:  o.conclusion.verdict, Text: o.conclusion.text, Notes: append([]string{}, o.conclusion.notes...),
	}
	if o.plan.Set != nil {
		policy := policyOf(o.plan.Policy, o.plan.source.String())
		out.Policy = &policy
	}
	for _, s := range o.plan.shots {
		j := shotJSON{Name: s.name, Label: json.RawMessage("null"), Expect: "refused", Outcome: s.Outcome, Code: s.Code, Status: s.Status}
		if s.label != "" {
			j.Label = json.RawMessage(s.label)
		}
		if s.accepted {
			j.Expect = "accepted"
		}
		if s.labelled() && s.Outcome == judge.Refused {
			j.Saw = s.sees()
		}
		if s.Outcome == judge.RPCError || s.Outcome == judge.HTTPError {
			j.Text = strings.ToValidUTF8(s.Detail[:min(len(s.Detail), maxJSONValue)], "")
		}
		if s.times > 1 {
			j.Times = s.times
		}
		j.Mixed = s.other != nil
		for _, f := range s.Flaws {
			j.Flaws = append(j.Flaws, f.String())
		}
		if s.Violation != nil {
			j.Rejected, j.AcceptFrom = s.Violation.Rejected, s.Violation.AcceptFrom
		}
		out.Requests = append(out.Requests, j)
	}
	return out
}

// labelled reports whether the request has a label whose contributors a refusal can name.
func (s *shot) labelled() bool {
	return s.name == shotStranger || s.name == shotMarked || s.name == shotOther
}

// showProbe prints a probe for people. finished is false if the server was lost.
func (a *app) showProbe(o *probed, finished bool) {
	if o.flags.asJSON {
		return // a probe that was cut short has no verdict
	}
	p := o.plan
	o.showHead(a)
	rows := [][]string{{"SENT", "EXPECTED", "CAME BACK"}}
	for _, s := range p.shots {
		if s.Outcome == judge.NotSent {
			continue
		}
		want := "refused"
		if s.accepted {
			want = "accepted"
		}
		colour := green
		if (s.Outcome == judge.Refused && !s.GotThrough()) == s.accepted || s.other != nil || s.Outcome == judge.RPCError || s.Outcome == judge.HTTPError {
			colour = red
		}
		rows = append(rows, []string{s.about, want, a.paint(colour, s.cameBack())})
	}
	if len(rows) > 1 {
		table(a.stdout, rows)
		fmt.Fprintln(a.stdout)
	}
	if !finished {
		return
	}
	colour := red
	if o.conclusion.verdict == enforced {
		colour = green
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", a.paint(colour, string(o.conclusion.verdict)), o.conclusion.text)
	for _, n := range o.conclusion.notes {
		fmt.Fprintf(a.stdout, "  %s\n", n)
	}
}

// showHead prints what is known of the server and the tool.
func (o *probed) showHead(a *app) {
	if o.server == nil {
		fmt.Fprintf(a.stdout, "server  %s\n", &o.flags.target)
	} else {
		fmt.Fprintf(a.stdout, "server  %s %s at %s, protocol %s\n",
			clean(o.server.Name, 60), clean(o.server.Version, 30), &o.flags.target, o.server.ProtocolVersion)
	}
	fmt.Fprintf(a.stdout, "tool    %s\n", clean(o.flags.tool, 80))
	if o.plan.Set != nil {
		source := map[string]string{"own": "its own", "server": "the server's default", "draft": "the draft's default"}[o.plan.source.String()]
		fmt.Fprintf(a.stdout, "policy  %s (%s)\n", tokens(o.plan.Policy), source)
	}
	fmt.Fprintln(a.stdout)
}
