package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const validateUsage = `Usage: flowgate validate [FLAGS] FILE|-
       flowgate validate [FLAGS] -url URL
       flowgate validate [FLAGS] -stdio -- COMMAND ARGS...

Checks declarations and flow policies, and reports every mistake with where it is,
why it cannot stand and what to write instead.

A FILE, or standard input (-), holds one declaration, the result of tools/list or
another list, an array of declarations, the result of initialize or
server/discover, the capability flow, or a flow policy, an origin label, or a
violation (an error object or its data). What is around it is taken off: a JSON-RPC
response, {"flowPolicy":...}, a request or its _meta around a label. What it is
shows by its members; -kind says so where it does not.

A FILE can hold overrides of a server too, in JSON with the member flowgate, or in
YAML. What depends on the server, such as whether it has the tools that are named
and whether something loosens what its code says, only the server can judge.

Of a running server, in any language, everything is listed and checked: what it
announces, its tools, resources, templates and prompts.

Exit status: 0 no findings, 1 findings, 2 the file or the server cannot be read: a
file that is empty, is not JSON or does not show what it is, such as {"hello":1}.

Flags:
`

// validateJSON is what validate -json prints.
type validateJSON struct {
	Command  string       `json:"command"`          // validate
	File     string       `json:"file,omitempty"`   // - for standard input
	Kind     string       `json:"kind,omitempty"`   // of a file: tool, tools, policy, label, ...
	Target   *targetJSON  `json:"target,omitempty"` // of a server
	Server   *serverJSON  `json:"server,omitempty"`
	Entries  []entryJSON  `json:"entries"`
	Findings []placedJSON `json:"findings"`       // those about no entry
	More     int          `json:"more,omitempty"` // findings about no entry left out
	Summary  summaryJSON  `json:"summary"`
	Notes    []string     `json:"notes,omitempty"` // for people; the wording may change
	Error    string       `json:"error,omitempty"` // why the run ended early

	lines []int // of the findings, in a file of overrides
}

// placedJSON is a finding and, in a file of overrides, its line.
type placedJSON struct {
	findingJSON
	Line int `json:"line,omitempty"` // counted from 1
}

// entryJSON is one declaration.
type entryJSON struct {
	Kind     string        `json:"kind"` // tool, resource, template or prompt
	Index    int           `json:"index"`
	Name     string        `json:"name"` // or URI, or template
	Policy   policyJSON    `json:"policy"`
	Findings []findingJSON `json:"findings"`
	More     int           `json:"more,omitempty"` // findings left out
}

// summaryJSON counts.
type summaryJSON struct {
	Entries  int `json:"entries"`
	Own      int `json:"own"` // with a policy of their own
	Findings int `json:"findings"`
}

func (a *app) validate(ctx context.Context, args []string) (int, error) {
	fs := a.flags("validate", validateUsage)
	var at target
	at.register(fs)
	kind := fs.String("kind", "", "`kind` of what the file holds: "+kindNames)
	asJSON := fs.Bool("json", false, "print JSON for machines")
	if err := a.parse(fs, args); err != nil {
		return statusMisuse, err
	}
	if mistake := at.check(fs.Args()); mistake != "" {
		return statusMisuse, a.misuse(fs, "%s", mistake)
	}
	_, declaration := inspect.KindOf(*kind)
	switch {
	case *kind != "" && !declaration && !slices.Contains([]string{kindPolicy, kindLabel, kindViolation, kindOverrides}, *kind):
		return statusMisuse, a.misuse(fs, "-kind: %s is none of %s", quoted(*kind, 40), kindNames)
	case at.given() && *kind != "":
		return statusMisuse, a.misuse(fs, "-kind is for a file: a server's answers are known")
	case at.given():
		return a.validateServer(ctx, &at, *asJSON)
	case fs.NArg() == 0:
		return statusMisuse, a.misuse(fs, "nothing to validate; name a file, or a server with -url or -stdio")
	case fs.NArg() > 1:
		return statusMisuse, a.misuse(fs, "one file at a time, and flags before it: unexpected argument %s", given(fs.Arg(1)))
	case strings.HasPrefix(fs.Arg(0), "http://") || strings.HasPrefix(fs.Arg(0), "https://"):
		return statusMisuse, a.misuse(fs, "%s is no file; for a server write -url before it", given(fs.Arg(0)))
	}
	return a.validateFile(ctx, fs.Arg(0), *kind, *asJSON)
}

func (a *app) validateFile(ctx context.Context, name, kind string, asJSON bool) (int, error) {
	raw, err := a.read(ctx, name)
	if err != nil {
		return a.fail(asJSON, "validate", err)
	}
	if holdsOverrides(name, raw, kind) {
		return a.validateOverrides(name, raw, asJSON)
	}
	d, err := recognise(raw, kind)
	if err != nil {
		return a.fail(asJSON, "validate", fmt.Errorf("cannot read %s: %w", shown(name), err))
	}
	r, err := d.report(ctx)
	if err != nil {
		return a.fail(asJSON, "validate", err)
	}
	out := validateJSON{File: name, Kind: d.kind}
	if target, ok := inspect.KindOf(d.kind); ok && d.list {
		out.Kind = inspect.ListMember(target)
	}
	if asJSON {
		return a.validated(r, out)
	}
	fmt.Fprintf(a.stdout, "file    %s\nholds   %s\n\n", clean(name, 200), out.Kind)
	return a.showReport(r)
}

func (a *app) validateServer(ctx context.Context, at *target, asJSON bool) (int, error) {
	ctx, cancel := at.bound(ctx)
	defer cancel()
	conn, err := a.dial(ctx, at, false)
	if err != nil {
		return a.fail(asJSON, "validate", at.overdue(ctx, err))
	}
	defer conn.Close()
	r, lost := inspectAll(ctx, conn)
	lost = at.overdue(ctx, lost)
	if noise := conn.Noise(); noise != "" {
		r.Other = append(r.Other, inspect.Finding{Where: "standard output", Fault: policydecl.Fault{
			Rule: policydecl.RuleMCP, ConfigError: &flowerrors.ConfigError{
				Value: noise, Reason: flowerrors.ReasonType,
				Detail: "a line that is no message, which ends the connection of many clients", Hint: "write logs to standard error",
			},
		}})
	}
	if conn.Twice() {
		r.Other = append(r.Other, inspect.Finding{Where: "standard output", Fault: policydecl.Fault{
			Rule: policydecl.RuleMCP, ConfigError: &flowerrors.ConfigError{
				Reason: flowerrors.ReasonDuplicate, Detail: "a request was answered more than once, and two readers can take different answers", Hint: "answer once",
			},
		}})
	}
	notes := versionNotes(conn)
	if asJSON {
		out := validateJSON{Target: at.json(), Server: describeServer(conn, r.Server), Notes: notes}
		if lost != nil {
			out.Error = lost.Error()
		}
		status, err := a.validated(r, out)
		if lost != nil {
			return statusMisuse, lost
		}
		return status, err
	}
	fmt.Fprintf(a.stdout, "server  %s %s at %s, protocol %s\nflow    %s\n\n",
		clean(r.Server.Name, 60), clean(r.Server.Version, 30), at, conn.Version(), flowLine(r.Server))
	for _, note := range notes {
		fmt.Fprintf(a.stdout, "Note: %s.\n\n", note)
	}
	status, err := a.showReport(r)
	if lost != nil {
		return statusMisuse, lost
	}
	return status, err
}

// validated prints a report for machines.
func (a *app) validated(r *inspect.Report, out validateJSON) (int, error) {
	out.Command, out.Entries, out.Findings = "validate", []entryJSON{}, []placedJSON{}
	for i := range r.Entries {
		e := &r.Entries[i]
		out.Entries = append(out.Entries, entryJSON{
			Kind: inspect.Noun(e.Kind), Index: e.Index, Name: e.Name,
			Policy: policyOf(e.Policy, e.Source.String()), Findings: faultsJSON(e.Faults), More: e.More,
		})
	}
	for i, f := range r.Other {
		placed := placedJSON{findingJSON: toJSON(f.Where, f.Fault)}
		if i < len(out.lines) {
			placed.Line = out.lines[i]
		}
		out.Findings = append(out.Findings, placed)
	}
	out.More = r.More
	out.Summary = summaryJSON{len(r.Entries), own(r), r.Count()}
	return statusOf(r), a.printJSON(out)
}

func statusOf(r *inspect.Report) int {
	if r.Count() > 0 {
		return statusFindings
	}
	return statusOK
}

// own counts the declarations with a policy of their own.
func own(r *inspect.Report) (n int) {
	for i := range r.Entries {
		if r.Entries[i].Source == inspect.FromOwn {
			n++
		}
	}
	return n
}

// maxShown is how many findings of one place are shown to people.
const maxShown = 20

// showReport prints a report for people.
func (a *app) showReport(r *inspect.Report) (int, error) {
	if len(r.Entries) > 0 {
		rows := [][]string{{"WHAT", "NAME", "POLICY", "FINDINGS"}}
		for i := range r.Entries {
			e := &r.Entries[i]
			n := len(e.Faults) + e.More
			found := a.paint(green, "ok")
			if n > 0 {
				found = a.paint(red, strconv.Itoa(n))
			}
			rows = append(rows, []string{inspect.Noun(e.Kind), shownName(e.Name), shownPolicy(e), found})
		}
		table(a.stdout, rows)
		fmt.Fprintln(a.stdout)
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		a.showFaults(e.Where()+" "+shownName(e.Name), e.Faults, e.More)
	}
	a.showOther(r.Other)
	if r.More > 0 {
		fmt.Fprintf(a.stdout, "And %d more outside the declarations.\n\n", r.More)
	}
	n := r.Count()
	verdict := a.paint(green, "no findings")
	if n > 0 {
		verdict = plural(n, "finding", "findings")
		if r.Capped() {
			verdict = "at least " + verdict
		}
		verdict = a.paint(red, verdict)
	}
	if len(r.Entries) > 0 {
		fmt.Fprintf(a.stdout, "%s, %d with their own policy: ", plural(len(r.Entries), "declaration", "declarations"), own(r))
	}
	fmt.Fprintln(a.stdout, verdict)
	return statusOf(r), nil
}

// showOther prints the findings about no entry, those of one request together.
func (a *app) showOther(other []inspect.Finding) {
	for len(other) > 0 {
		where := other[0].Where
		n := slices.IndexFunc(other, func(f inspect.Finding) bool { return f.Where != where })
		if n < 0 {
			n = len(other)
		}
		faults := make([]policydecl.Fault, 0, n)
		for _, f := range other[:n] {
			faults = append(faults, f.Fault)
		}
		a.showFaults(where, faults, 0)
		other = other[n:]
	}
}

// showFaults prints the findings of one place.
func (a *app) showFaults(where string, faults []policydecl.Fault, more int) {
	if len(faults) == 0 {
		return
	}
	if where != "" {
		fmt.Fprintln(a.stdout, a.paint(bold, where))
	}
	for _, f := range faults[:min(len(faults), maxShown)] {
		fmt.Fprintln(a.stdout, "  "+f.Error())
	}
	if more += max(0, len(faults)-maxShown); more > 0 {
		least := ""
		if inspect.Capped(faults) {
			least = "at least "
		}
		fmt.Fprintf(a.stdout, "  and %s%d more\n", least, more)
	}
	fmt.Fprintln(a.stdout)
}

func shownName(name string) string {
	if name == "" {
		return "(no name)"
	}
	return clean(name, 60)
}

func shownPolicy(e *inspect.Entry) string {
	switch e.Source {
	case inspect.FromOwn:
		return tokens(e.Policy)
	case inspect.FromServer:
		return "(the server's default)"
	}
	return "(the draft's default)"
}
