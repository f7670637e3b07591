package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/flowreport"
)

// maxReportRows is how many rows of a table are shown to people.
const maxReportRows = 25

// showRecords prints the report for people.
func (a *app) showRecords(r *flowreport.Report) {
	fmt.Fprintln(a.stdout, a.answer(r))
	for _, why := range r.Because() {
		fmt.Fprintf(a.stdout, "Besides: %s.\n", why)
	}
	fmt.Fprintln(a.stdout)
	rows := [][]string{{"records", a.period(r)}}
	for _, line := range r.Numbers() {
		rows = append(rows, []string{line.Name, flowreport.Grouped(line.Value) + line.Note})
	}
	table(a.stdout, rows)
	a.section("What enforcing would stop", "", cells(r, flowreport.WouldStop))
	a.section("Who speaks against it", "Several can be in one request; alone counts those in which nobody else is.", contributors(r))
	a.section("What is stopped now", "", cells(r, flowreport.Stopped))
	a.section("What gates report about themselves", "", faults(r))
	a.section("Hosts and their labels", "A host that declares that it labels and sends requests without is worth a look: something on the way may strip them.", hosts(r))
	a.section("Settings", overlapNote(r), settings(r))
	a.section("Policies", "", policies(r))
	if len(r.Notes()) > 0 {
		fmt.Fprintln(a.stdout)
	}
	for _, note := range r.Notes() {
		fmt.Fprintf(a.stdout, "Note: %s.\n", note)
	}
}

// section prints a table with a heading, unless it has no rows.
func (a *app) section(title, note string, rows [][]string) {
	if len(rows) < 2 { // the first is the head
		return
	}
	fmt.Fprintf(a.stdout, "\n%s\n", a.paint(bold, title))
	shown := rows[:min(len(rows), maxReportRows+1)]
	indented := make([][]string, 0, len(shown))
	for _, row := range shown {
		row[0] = "  " + row[0]
		indented = append(indented, row)
	}
	table(a.stdout, indented)
	if more := len(rows) - len(shown); more > 0 {
		fmt.Fprintf(a.stdout, "  and %d more; -json shows them all\n", more)
	}
	if note != "" {
		fmt.Fprintf(a.stdout, "  %s\n", note)
	}
}

// period says how many records of what time there are.
func (a *app) period(r *flowreport.Report) string {
	s := flowreport.Grouped(r.Lines.Records)
	if !r.Total.First.IsZero() {
		s += ", from " + stamp(r.Total.First) + " to " + stamp(r.Total.Last)
	}
	return s
}

// stamp writes a time, to the minute and in UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// requests writes a tally's number of requests.
func requests(t flowreport.Tally) string { return flowreport.Grouped(t.Requests) }

func cells(r *flowreport.Report, o flowreport.Outcome) [][]string {
	rows := [][]string{{"REQUESTS", "TARGET", "HOST", "BECAUSE OF", "REASON", "SAMPLED", "FIRST", "LAST"}}
	for _, row := range r.Rows {
		if row.Outcome != o {
			continue
		}
		target := dash(row.Target)
		if row.Method.Text != "tools/call" && !(row.Method.Others && row.Target.Others) {
			target = dash(row.Method) + " " + target
		}
		if !row.Registered && !row.Target.Others {
			target += " (not registered)"
		}
		if r.Servers() > 1 {
			target += " at " + dash(row.Server)
		}
		rows = append(rows, []string{
			requests(row.Tally), target, dash(row.Client), brief(row.Class(), 80), dash(row.Reason), sampled(row.Tally), stamp(row.First), stamp(row.Last),
		})
	}
	return rows
}

// sampled says how many of the requests have no record of their own.
func sampled(t flowreport.Tally) string {
	if t.Suppressed == 0 {
		return "-"
	}
	return flowreport.Grouped(t.Suppressed)
}

// brief writes a text of a record, which may have been escaped when it was written and is
// not escaped a second time.
func brief(s string, max int) string {
	if s = decision.Shown(s); len(s) > max {
		s = s[:max] + "..."
	}
	return s
}

// dash writes a name, and a dash for none.
func dash(n flowreport.Name) string {
	if s := n.String(); s != "" {
		return brief(s, 60)
	}
	return "-"
}

func contributors(r *flowreport.Report) [][]string {
	rows := [][]string{{"WOULD STOP", "STOPPED", "ALONE", "ASSURANCE", "PRINCIPAL", "FIRST", "LAST"}}
	for _, c := range r.Contributors {
		rows = append(rows, []string{
			flowreport.Grouped(c.WouldStop), flowreport.Grouped(c.Stopped), flowreport.Grouped(c.Alone), c.Assurance, dash(c.Principal), stamp(c.First), stamp(c.Last),
		})
	}
	return rows
}

func faults(r *flowreport.Report) [][]string {
	rows := [][]string{{"REQUESTS", "REASON", "FIRST", "LAST", "LATEST DETAIL"}}
	for _, f := range r.Faults {
		rows = append(rows, []string{requests(f.Tally), dash(f.Reason), stamp(f.First), stamp(f.Last), brief(f.Detail, 80)})
	}
	return rows
}

func hosts(r *flowreport.Report) [][]string {
	rows := [][]string{{"REQUESTS", "HOST", "LABELLED", "UNLABELLED", "UNREADABLE", "NOT READ", "DECLARED", "UNDECLARED", "UNKNOWN", "WOULD STOP", "STOPPED"}}
	for _, h := range r.Hosts {
		row := []string{requests(h.Tally), dash(h.Name)}
		for _, n := range []uint64{h.Labelled + h.Incomplete, h.Absent, h.Malformed, h.NotRead, h.Declared, h.Undeclared, h.Unknown} {
			row = append(row, flowreport.Share(n, h.Requests))
		}
		rows = append(rows, append(row, flowreport.Grouped(h.Outcomes[flowreport.WouldStop]), flowreport.Grouped(h.Outcomes[flowreport.Stopped])))
	}
	return rows
}

func settings(r *flowreport.Report) [][]string {
	rows := [][]string{{"REQUESTS", "SETTINGS", "SERVER", "FIRST", "LAST", "AT ONE TIME"}}
	for _, d := range r.Settings {
		overlaps := "-"
		if d.Overlaps {
			overlaps = "with another"
		}
		rows = append(rows, []string{requests(d.Tally), dash(d.Digest), dash(d.Server), stamp(d.First), stamp(d.Last), overlaps})
	}
	return rows
}

func overlapNote(r *flowreport.Report) string {
	if r.Overlap() {
		return "Several settings of one server at one time: its replicas differ, or did while they were changed."
	}
	return ""
}

func policies(r *flowreport.Report) [][]string {
	rows := [][]string{{"REQUESTS", "POLICY", "SERVER", "FIRST", "LAST", "ACCEPTS"}}
	for _, d := range r.Policies {
		accepts := brief(strings.Join(d.AcceptFrom, ", "), 80)
		if accepts == "" {
			accepts = "(nobody)"
		}
		if d.Digest.Others {
			accepts = "-"
		}
		rows = append(rows, []string{requests(d.Tally), dash(d.Digest), dash(d.Server), stamp(d.First), stamp(d.Last), accepts})
	}
	return rows
}
