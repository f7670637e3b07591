package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/flowgate-mcp/flowgate/conformance"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
)

const conformanceUsage = `Usage: flowgate conformance [FLAGS] -url URL
       flowgate conformance [FLAGS] -stdio -- COMMAND ARGS...

Tries whether a server, in any language, keeps the rules for whoever receives origin
labels. It reads what the server lists, chooses what has a policy that refuses somebody,
sends requests which that policy must refuse, in both protocol eras, and judges what
comes back, rule by rule. docs/rules.md says what the rules are. The report ends with those
that nobody can check from outside, and why.

WARNING: a server that keeps the rules runs nothing of it. One that does not runs what it
should have refused; that target is then left alone. A request that the policy accepts is
sent only to tools that say that they only read and need no arguments, and to tools that
-run names. Where nobody can tell whether a policy accepts a request, because it has a
token of a vendor, the same tools alone are asked.

The policies must not change meanwhile. A server that wants to know who asks is told with
-header.

Exit status: 0 no check failed, 1 a check failed or the server was lost half-way, 2 the
server cannot be reached or does not answer, lists nothing that could be tried, refuses
nothing by policy, or the flags are wrong.

Flags:
`

// conformanceFlags are the flags of conformance.
type conformanceFlags struct {
	target
	self   string
	run    map[string]json.RawMessage
	asJSON bool
}

func (f *conformanceFlags) register(fs *flag.FlagSet) {
	f.many = true
	f.target.register(fs)
	f.run = map[string]json.RawMessage{}
	fs.StringVar(&f.self, "self", "", "the server's own `URI`, to try what the token self accepts")
	fs.Func("run", "`TOOL=ARGS`, a tool that may run for real with these arguments, as JSON; may be repeated", func(s string) error {
		name, args, ok := strings.Cut(s, "=")
		if !ok || name == "" || !rawjson.IsObject([]byte(args)) {
			return fmt.Errorf(`must be the name of a tool and a JSON object, as in search={"query":"x"}`)
		}
		f.run[name] = json.RawMessage(args)
		return nil
	})
	fs.BoolVar(&f.asJSON, "json", false, "print JSON for machines")
}

func (a *app) conformance(ctx context.Context, args []string) (int, error) {
	fs := a.flags("conformance", conformanceUsage)
	var f conformanceFlags
	f.register(fs)
	if err := a.parse(fs, args); err != nil {
		return statusMisuse, err
	}
	if mistake := f.needed(fs.Args(), "the arguments of a tool go into -run TOOL=ARGS"); mistake != "" {
		return statusMisuse, a.misuse(fs, "%s", mistake)
	}
	ctx, cancel := f.bound(ctx)
	defer cancel()
	r, err := conformance.Run(ctx, conformance.Target{URL: f.url, Header: f.header, Command: f.command}, conformance.Options{
		Era: string(f.era), Self: f.self, Run: f.run, Timeout: f.timeout, Grace: a.grace, Name: "flowgate", Version: version(),
	})
	if err != nil {
		return a.fail(f.asJSON, "conformance", f.overdue(ctx, err))
	}
	if f.asJSON {
		err = a.printJSON(f.report(r))
	} else {
		a.showConformance(&f, r)
	}
	switch {
	case r.Count(conformance.Failed) > 0 || r.Lost != "":
		return statusFindings, err
	case err == nil && !r.Tested():
		return statusMisuse, fmt.Errorf("nothing was tested: %s", r.Untested())
	}
	return statusOK, err
}

// showConformance prints a report for people.
func (a *app) showConformance(f *conformanceFlags, r *conformance.Report) {
	fmt.Fprintf(a.stdout, "server  %s at %s\n", r.Server, &f.target)
	var eras []string
	for _, e := range r.Eras {
		if e.Version == "" {
			fmt.Fprintf(a.stdout, "era     %s: not run: %s\n", e.Name, e.Reason)
			continue
		}
		eras = append(eras, e.Name)
		fmt.Fprintf(a.stdout, "era     %s: protocol %s\n", e.Name, e.Version)
	}
	for _, n := range r.Notices {
		fmt.Fprintf(a.stdout, "note    %s\n", n)
	}
	fmt.Fprintln(a.stdout)
	rows := [][]string{append(append([]string{"RULE"}, eras...), "WHAT")}
	var ids []string
	seen := map[string][]string{}
	titles := map[string]string{}
	for i := range r.Checks {
		c := &r.Checks[i]
		if titles[c.ID] == "" {
			ids, titles[c.ID] = append(ids, c.ID), c.Title
		}
		seen[c.ID] = append(seen[c.ID], string(c.Status))
	}
	for _, id := range ids {
		cells := append([]string{id}, seen[id]...)
		for len(cells) <= len(eras) { // a check that compares the eras has one result
			cells = append(cells, "")
		}
		rows = append(rows, append(cells, titles[id]))
	}
	table(a.stdout, rows)
	fmt.Fprintln(a.stdout)
	a.showDetails(r)
}

// showDetails prints what failed, and why what was not tried was not.
func (a *app) showDetails(r *conformance.Report) {
	for i := range r.Checks {
		c := &r.Checks[i]
		where := strings.TrimSpace(c.ID + " " + c.Era)
		for _, f := range c.Failures {
			fmt.Fprintf(a.stdout, "%s %s: %s\n  sent %s\n  got  %s\n", a.paint(red, "failed"), where, f.About, f.Sent, f.Got)
		}
		if c.More > 0 {
			fmt.Fprintf(a.stdout, "failed %s: and %d more\n", where, c.More)
		}
		if c.Reason != "" {
			status := string(c.Status)
			if c.Status == conformance.Passed || c.Status == conformance.Failed {
				status = "in part"
			}
			fmt.Fprintf(a.stdout, "%s %s: %s\n", status, where, c.Reason)
		}
	}
	for i := range r.Unchecked {
		fmt.Fprintln(a.stdout, &r.Unchecked[i])
	}
	colour := green
	if r.Count(conformance.Failed) > 0 {
		colour = red
	}
	fmt.Fprintln(a.stdout, a.paint(colour, fmt.Sprintf("%d passed, %d failed, %d not run, %d not applicable",
		r.Count(conformance.Passed), r.Count(conformance.Failed), r.Count(conformance.NotRun), r.Count(conformance.NotApplicable))))
}

// conformanceJSON is what conformance -json prints.
type conformanceJSON struct {
	Command string             `json:"command"` // conformance
	Target  *targetJSON        `json:"target"`
	Server  string             `json:"server"`
	Eras    []eraJSON          `json:"eras"`
	Checks  []conformCheckJSON `json:"checks"`
	// Unchecked are the rules that nobody can check from outside.
	Unchecked []conformUncheckedJSON `json:"unchecked"`
	Summary   conformSummaryJSON     `json:"summary"`
	Notes     []string               `json:"notes"` // for people
}

// eraJSON is one protocol era.
type eraJSON struct {
	Name            string `json:"name"`
	ProtocolVersion string `json:"protocolVersion,omitempty"` // if it was run
	Reason          string `json:"reason,omitempty"`          // if it was not
}

// conformCheckJSON is one check in one era.
type conformCheckJSON struct {
	ID       string               `json:"id"`
	Era      string               `json:"era,omitempty"`
	Title    string               `json:"title"`
	Status   conformance.Status   `json:"status"`
	Reason   string               `json:"reason,omitempty"`
	Requests int                  `json:"requests"`
	Failures []conformFailureJSON `json:"failures"`
	More     int                  `json:"more,omitempty"`
}

type conformFailureJSON struct {
	About string `json:"about"`
	Sent  string `json:"sent"`
	Got   string `json:"got"`
}

// conformUncheckedJSON says why rules are not checked.
type conformUncheckedJSON struct {
	Rules   []string `json:"rules"`
	Because string   `json:"because"`
}

type conformSummaryJSON struct {
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	NotRun        int `json:"notRun"`
	NotApplicable int `json:"notApplicable"`
}

func (f *conformanceFlags) report(r *conformance.Report) conformanceJSON {
	out := conformanceJSON{
		Command: "conformance", Target: f.json(), Server: r.Server, Eras: []eraJSON{}, Checks: []conformCheckJSON{}, Notes: append([]string{}, r.Notices...),
		Summary: conformSummaryJSON{r.Count(conformance.Passed), r.Count(conformance.Failed), r.Count(conformance.NotRun), r.Count(conformance.NotApplicable)},
	}
	for _, u := range r.Unchecked {
		out.Unchecked = append(out.Unchecked, conformUncheckedJSON(u))
	}
	for _, e := range r.Eras {
		out.Eras = append(out.Eras, eraJSON{e.Name, e.Version, e.Reason})
	}
	for _, c := range r.Checks {
		j := conformCheckJSON{ID: c.ID, Era: c.Era, Title: c.Title, Status: c.Status, Reason: c.Reason, Requests: c.Requests, Failures: []conformFailureJSON{}, More: c.More}
		for _, failure := range c.Failures {
			j.Failures = append(j.Failures, conformFailureJSON(failure))
		}
		out.Checks = append(out.Checks, j)
	}
	return out
}
