package flowreport

import "strconv"

// Number is one of the numbers that come first in a report.
type Number struct {
	Name  string
	Value uint64
	Note  string // begins with a space, unless it is empty
}

// Numbers are the totals, with what each of them counts.
func (r *Report) Numbers() []Number {
	list := []Number{{"requests", r.Total.Requests, ""}}
	if r.Total.Suppressed > 0 {
		list[0].Note = " of which " + Grouped(r.Total.Suppressed) + " are alike ones that sampling left out"
	}
	for _, n := range []Number{
		{"accepted", r.Outcomes[Accepted], ""},
		{"would stop", r.Outcomes[WouldStop], ""},
		{"stopped", r.Outcomes[Stopped], ""},
		{"turned away", r.Outcomes[Unjudged], " by the server itself"},
		{"mode off", r.Outcomes[Off], ""},
		{"lost", r.Lost, " of any kind, in none of the other numbers"},
	} {
		if n.Value > 0 || n.Name == "would stop" || n.Name == "stopped" {
			list = append(list, n)
		}
	}
	return list
}

// sentences is a list of them, without full stops.
type sentences []string

// count adds one that begins with a number, unless that is 0.
func (s *sentences) count(n uint64, one, many string) {
	if n == 1 {
		*s = append(*s, "1 "+one)
	} else if n > 1 {
		*s = append(*s, Grouped(n)+" "+many)
	}
}

// Notes are sentences, without a full stop, about how far the numbers can be relied on.
func (r *Report) Notes() []string {
	var list sentences
	if alike := r.Total.Suppressed - min(r.Total.Suppressed, r.Sampled.Suppressed); alike > 0 {
		list = append(list, "of the "+Grouped(alike)+" requests that sampling left out, outcome, reason, label class and registered target are exact; host, principals and what the host declares are those of a record that stands for them, an estimate")
	}
	list.count(r.Sampled.Requests, "request is of a kind that the gate did not count apart, because there were too many: only verdict and mode are known", "requests are of kinds that the gate did not count apart, because there were too many: only verdict and mode are known")
	list.count(r.Lines.Others, "line is no decision record and was skipped", "lines are no decision records and were skipped")
	list.count(r.Lines.Outside, "record is of another time", "records are of another time")
	list.count(r.Lines.Undated, "record has no time and was left out", "records have no time and were left out")
	list.count(r.Lines.Unfinished, "last line has no end yet and was left out", "last lines have no end yet and were left out")
	for _, kind := range r.Capped {
		list = append(list, "there are too many "+kind+" to tell all apart; those beyond the limit are counted as (others)")
	}
	return list
}

// Servers is how many servers the records are from.
func (r *Report) Servers() int {
	seen := map[Name]bool{}
	for i := range r.Rows {
		seen[r.Rows[i].Server] = true
	}
	return len(seen)
}

// Overlap reports whether different settings of one server were in force at one time.
func (r *Report) Overlap() bool {
	for _, d := range r.Settings {
		if d.Overlaps {
			return true
		}
	}
	return false
}

// Share writes a part of a whole in per cent. Only none is 0% and only all is 100%.
func Share(part, whole uint64) string {
	switch {
	case whole == 0 || part == 0:
		return "-"
	case part >= whole:
		return "100%"
	}
	percent := int(float64(part)/float64(whole)*100 + 0.5)
	return strconv.Itoa(min(max(percent, 1), 99)) + "%"
}
