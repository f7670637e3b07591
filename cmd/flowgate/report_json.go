package main

import (
	"time"

	"github.com/flowgate-mcp/flowgate/internal/flowreport"
)

// reportJSON is what report -json prints.
type reportJSON struct {
	Command      string            `json:"command"` // report
	Answer       string            `json:"answer"`  // breaks, uncertain or nothing
	Text         string            `json:"text"`    // for people; the wording may change
	Because      []string          `json:"because"` // so is that
	Period       periodJSON        `json:"period"`
	Lines        linesJSON         `json:"lines"`
	Requests     requestsJSON      `json:"requests"`
	Rows         []rowJSON         `json:"rows"`
	Contributors []contributedJSON `json:"contributors"`
	Hosts        []hostJSON        `json:"hosts"`
	Faults       []gateFaultJSON   `json:"faults"`
	Settings     []digestJSON      `json:"settings"`
	Policies     []digestJSON      `json:"policies"`
	Notes        []string          `json:"notes"` // for people; the wording may change
}

type periodJSON struct {
	Since string `json:"since,omitempty"` // what was asked for
	Until string `json:"until,omitempty"`
	First string `json:"first,omitempty"` // what there is
	Last  string `json:"last,omitempty"`
}

type linesJSON struct {
	Records    uint64 `json:"records"`
	Outside    uint64 `json:"outside"`
	Undated    uint64 `json:"undated"`
	Others     uint64 `json:"others"`
	Malformed  uint64 `json:"malformed"`
	Unfinished uint64 `json:"unfinished"`
}

type requestsJSON struct {
	All        uint64 `json:"all"`
	WouldStop  uint64 `json:"wouldStop"`
	Stopped    uint64 `json:"stopped"`
	Accepted   uint64 `json:"accepted"`
	Unjudged   uint64 `json:"unjudged"`
	Off        uint64 `json:"off"`
	Suppressed uint64 `json:"suppressed"` // those of all that have no record of their own
	Lost       uint64 `json:"lost"`       // not in all
}

// tallyJSON is in whatever counts requests.
type tallyJSON struct {
	Requests   uint64 `json:"requests"`
	Records    uint64 `json:"records"`
	Suppressed uint64 `json:"suppressed"`
	First      string `json:"first,omitempty"` // RFC 3339
	Last       string `json:"last,omitempty"`
}

type rowJSON struct {
	Outcome    string  `json:"outcome"` // would-stop, stopped, accepted, unjudged or off
	Server     *string `json:"server"`  // as every name: null for all those that are not told apart
	Method     *string `json:"method"`
	Target     *string `json:"target"`
	Registered bool    `json:"registered"`
	Host       *string `json:"host"`
	Reason     *string `json:"reason"`
	Assurance  string  `json:"assurance,omitempty"` // of the least assured contributor that was rejected
	Principal  *string `json:"principal"`
	tallyJSON
}

type contributedJSON struct {
	Assurance string  `json:"assurance"`
	Principal *string `json:"principal"`
	WouldStop uint64  `json:"wouldStop"`
	Stopped   uint64  `json:"stopped"`
	Alone     uint64  `json:"alone"`
	tallyJSON
}

type hostJSON struct {
	Name       *string `json:"name"`
	WouldStop  uint64  `json:"wouldStop"`
	Stopped    uint64  `json:"stopped"`
	Labelled   uint64  `json:"labelled"`
	Incomplete uint64  `json:"incomplete"`
	Malformed  uint64  `json:"malformed"`
	Absent     uint64  `json:"absent"`
	NotRead    uint64  `json:"notRead"`
	Declared   uint64  `json:"declared"`
	Undeclared uint64  `json:"undeclared"`
	Unknown    uint64  `json:"unknown"`
	tallyJSON
}

type gateFaultJSON struct {
	Server *string `json:"server"`
	Reason *string `json:"reason"`
	Detail string  `json:"detail,omitempty"`
	tallyJSON
}

type digestJSON struct {
	Server     *string  `json:"server"`
	Digest     *string  `json:"digest"`
	AcceptFrom []string `json:"acceptFrom,omitzero"`
	Overlaps   bool     `json:"overlaps,omitempty"`
	tallyJSON
}

func nameJSON(n flowreport.Name) *string {
	if n.Others {
		return nil
	}
	return &n.Text
}

func toTally(t flowreport.Tally) tallyJSON {
	return tallyJSON{t.Requests, t.Records, t.Suppressed, timeJSON(t.First), timeJSON(t.Last)}
}

func timeJSON(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func reportToJSON(r *flowreport.Report) reportJSON {
	l, o := r.Lines, r.Outcomes
	out := reportJSON{
		Command: "report", Answer: r.Answer.String(), Text: r.Headline(), Because: append([]string{}, r.Because()...), Notes: append([]string{}, r.Notes()...),
		Period: periodJSON{timeJSON(r.Since), timeJSON(r.Until), timeJSON(r.Total.First), timeJSON(r.Total.Last)},
		Lines:  linesJSON{l.Records, l.Outside, l.Undated, l.Others, l.Malformed, l.Unfinished},
		Requests: requestsJSON{
			r.Total.Requests, o[flowreport.WouldStop], o[flowreport.Stopped], o[flowreport.Accepted], o[flowreport.Unjudged], o[flowreport.Off], r.Total.Suppressed, r.Lost,
		},
		Rows: []rowJSON{}, Contributors: []contributedJSON{}, Hosts: []hostJSON{}, Faults: []gateFaultJSON{},
		Settings: digestsJSON(r.Settings), Policies: digestsJSON(r.Policies),
	}
	for _, x := range r.Rows {
		out.Rows = append(out.Rows, rowJSON{
			x.Outcome.String(), nameJSON(x.Server), nameJSON(x.Method), nameJSON(x.Target), x.Registered, nameJSON(x.Client), nameJSON(x.Reason),
			x.Who.Assurance, nameJSON(x.Who.Principal), toTally(x.Tally),
		})
	}
	for _, x := range r.Contributors {
		out.Contributors = append(out.Contributors, contributedJSON{x.Assurance, nameJSON(x.Principal), x.WouldStop, x.Stopped, x.Alone, toTally(x.Tally)})
	}
	for _, x := range r.Hosts {
		out.Hosts = append(out.Hosts, hostJSON{
			nameJSON(x.Name), x.Outcomes[flowreport.WouldStop], x.Outcomes[flowreport.Stopped], x.Labelled, x.Incomplete, x.Malformed, x.Absent, x.NotRead,
			x.Declared, x.Undeclared, x.Unknown, toTally(x.Tally),
		})
	}
	for _, x := range r.Faults {
		out.Faults = append(out.Faults, gateFaultJSON{nameJSON(x.Server), nameJSON(x.Reason), x.Detail, toTally(x.Tally)})
	}
	return out
}

func digestsJSON(list []flowreport.Digest) []digestJSON {
	out := []digestJSON{}
	for _, x := range list {
		out = append(out, digestJSON{nameJSON(x.Server), nameJSON(x.Digest), x.AcceptFrom, x.Overlaps, toTally(x.Tally)})
	}
	return out
}
