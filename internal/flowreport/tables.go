package flowreport

import (
	"strings"

	"github.com/flowgate-mcp/flowgate/decision"
)

// maxCell is how many characters of a text a cell shows.
const maxCell = 160

// tables are those of the page, without the ones that have no row.
func (r *Report) tables() []tableData {
	all := []tableData{
		r.rowTable("would", "What enforcing would stop", WouldStop), r.contributorTable(), r.rowTable("stopped", "What is stopped now", Stopped),
		r.faultTable(), r.hostTable(), digestTable("settings", "Settings in force", "Settings", r.Settings), digestTable("policies", "Policies in force", "Policy", r.Policies),
	}
	if r.Overlap() {
		all[5].Note = "Several settings of one server were in force at one time: its replicas differ, or did while they were changed."
	}
	var list []tableData
	for _, t := range all {
		if len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// newTable makes a table; a column whose name begins with # has numbers.
func newTable(id, title, note string, head ...string) tableData {
	t := tableData{ID: id, Title: title, Note: note}
	for _, name := range head {
		class := ""
		if strings.HasPrefix(name, "#") {
			class = "num"
		}
		t.Head = append(t.Head, cellData{Text: strings.TrimPrefix(name, "#"), Class: class})
	}
	return t
}

// add adds a row, of which the first cell names it.
func (t *tableData) add(cells ...cellData) {
	if len(t.Rows) >= maxPageRows {
		return
	}
	for i := range cells {
		cells[i].Label = t.Head[i].Text
		if cells[i].Class == "" {
			cells[i].Class = t.Head[i].Class
		} else if t.Head[i].Class != "" {
			cells[i].Class += " " + t.Head[i].Class
		}
		cells[i].Header = i == 0
		cells[i].Text, cells[i].Sub = shorten(cells[i].Text, maxCell), shorten(cells[i].Sub, maxCell)
		if cells[i].Text == "" {
			cells[i].Text = "\u2013"
		}
	}
	t.Rows = append(t.Rows, cells)
}

// cut says how many rows were left out, of so many.
func (t *tableData) cut(rows int) {
	if more := rows - len(t.Rows); more > 0 {
		t.More = "and " + Grouped(uint64(more)) + " more"
	}
}

func text(s string) cellData { return cellData{Text: s} }

func number(n uint64) cellData {
	if n == 0 {
		return cellData{}
	}
	return text(Grouped(n))
}

func (r *Report) rowTable(id, title string, o Outcome) tableData {
	t := newTable(id, title, "", "Target", "Host", "Because of", "#Requests", "#Sampled", "First", "Last")
	rows, several := 0, r.Servers() > 1
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Outcome != o {
			continue
		}
		rows++
		var sub []string
		if row.Method.Text != "tools/call" && !row.sampled() {
			sub = append(sub, row.Method.String())
		}
		if !row.Registered && !row.Target.Others {
			sub = append(sub, "not registered")
		}
		if several {
			sub = append(sub, "at "+nameText(row.Server))
		}
		target := cellData{Text: nameText(row.Target), Sub: strings.Join(sub, ", ")}
		because := cellData{Text: row.Class(), Class: outcomeClasses[o]}
		if reason := row.Reason.String(); reason != string(decision.ReasonContributor) && !strings.HasSuffix(because.Text, reason) {
			because.Sub = reason
		}
		t.add(target, text(nameText(row.Client)), because, number(row.Requests), number(row.Suppressed), text(stamp(row.First)), text(stamp(row.Last)))
	}
	t.cut(rows)
	return t
}

func (r *Report) contributorTable() tableData {
	t := newTable("contributors", "Who speaks against requests",
		"Several contributors can be in one request. Alone counts the requests in which nobody else is rejected.",
		"Principal", "Assurance", "#Would stop", "#Stopped", "#Alone", "First", "Last")
	for _, c := range r.Contributors {
		principal := c.Principal.String()
		if principal == "" {
			principal = "(none given)"
		}
		t.add(text(principal), text(c.Assurance), number(c.WouldStop), number(c.Stopped), number(c.Alone), text(stamp(c.First)), text(stamp(c.Last)))
	}
	t.cut(len(r.Contributors))
	return t
}

func (r *Report) faultTable() tableData {
	t := newTable("faults", "What gates report about themselves", "", "Reason", "Server", "#Requests", "First", "Last", "Latest detail")
	for _, f := range r.Faults {
		t.add(text(f.Reason.String()), text(nameText(f.Server)), number(f.Requests), text(stamp(f.First)), text(stamp(f.Last)), text(f.Detail))
	}
	t.cut(len(r.Faults))
	return t
}

func (r *Report) hostTable() tableData {
	t := newTable("hosts", "Hosts and their labels",
		"Declared is the share of requests from a host that says that it labels. Where it does and requests come without, something on the way may strip labels.",
		"Host", "#Requests", "#Labelled", "#Unlabelled", "#Unreadable", "#Not read", "#Declared", "#Undeclared", "#Unknown", "#Would stop", "#Stopped")
	for _, h := range r.Hosts {
		cells := []cellData{text(nameText(h.Name)), number(h.Requests)}
		for _, n := range []uint64{sum(h.Labelled, h.Incomplete), h.Absent, h.Malformed, h.NotRead, h.Declared, h.Undeclared, h.Unknown} {
			share := Share(n, h.Requests)
			if share == "-" {
				share = ""
			}
			cells = append(cells, text(share))
		}
		t.add(append(cells, number(h.Outcomes[WouldStop]), number(h.Outcomes[Stopped]))...)
	}
	t.cut(len(r.Hosts))
	return t
}

func digestTable(id, title, what string, list []Digest) tableData {
	t := newTable(id, title, "", what, "Server", "#Requests", "First", "Last", "Remark")
	for _, d := range list {
		remark := ""
		switch {
		case d.Overlaps:
			remark = "at one time with another"
		case d.AcceptFrom != nil && len(d.AcceptFrom) == 0:
			remark = "accepts nobody"
		case d.AcceptFrom != nil:
			remark = "accepts " + strings.Join(d.AcceptFrom, ", ")
		}
		t.add(text(d.Digest.String()), text(nameText(d.Server)), number(d.Requests), text(stamp(d.First)), text(stamp(d.Last)), text(remark))
	}
	t.cut(len(list))
	return t
}
