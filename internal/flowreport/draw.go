package flowreport

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// outcomeClasses are the classes of colour, and outcomeWords what they stand for.
var (
	outcomeClasses = [...]string{WouldStop: "would", Stopped: "stop", Accepted: "ok", Unjudged: "none", Off: "none"}
	outcomeWords   = [...]string{WouldStop: "would be stopped", Stopped: "stopped", Accepted: "accepted", Unjudged: "not judged", Off: "not judged"}
)

func anchor(column int) string { return [...]string{"start", "middle", "end"}[column] }

func (l layout) textX(column int) float64 { return [...]float64{0, l.width / 2, l.width}[column] }

func (l layout) barX(column int) float64 {
	return [...]float64{0, (l.width - l.bar) / 2, l.width - l.bar}[column]
}

// labelShares is how much of the width the names of a column may take up, and letterWidth
// how wide a letter is, in sizes of the text.
var labelShares = [columns]float64{0.31, 0.38, 0.31}

const letterWidth = 0.57

// node makes a node without its place from top to bottom.
func (l layout) node(column int, name string, flows map[flowKey]uint64, unit float64) node {
	n := node{name: name, Full: name, X: l.barX(column), W: l.bar, TextX: l.textX(column), Anchor: anchor(column)}
	var sides [2]float64
	outcomes := map[Outcome]bool{}
	for key, requests := range flows {
		if key.ends[column] != name {
			continue
		}
		n.requests = sum(n.requests, requests)
		outcomes[key.outcome] = true
	}
	for side, other := range [2]int{column - 1, column + 1} {
		if other < 0 || other >= columns {
			continue
		}
		for _, b := range between(flows, column, other) {
			if b.from == name {
				sides[side] += thick(b.requests, unit)
			}
		}
	}
	n.H = max(leastNode, sides[0], sides[1])
	if column == columnClass && len(outcomes) == 1 {
		for o := range outcomes {
			n.Class = outcomeClasses[o]
		}
	}
	n.Exact, n.Count = Grouped(n.requests), rounded(n.requests)
	n.Label = shorten(strings.Replace(name, " https://", " ", 1), int(l.width*labelShares[column]/(l.font*letterWidth))-len(n.Count)-1)
	return n
}

func thick(requests uint64, unit float64) float64 { return max(leastBand, float64(requests)*unit) }

// link is what flows between two nodes with one outcome.
type link struct {
	from, to string
	outcome  Outcome
	requests uint64
}

// between adds up what flows from one column to another.
func between(flows map[flowKey]uint64, from, to int) map[link]link {
	links := map[link]link{}
	for key, n := range flows {
		id := link{from: key.ends[from], to: key.ends[to], outcome: key.outcome}
		l := id
		l.requests = sum(links[id].requests, n)
		links[id] = l
	}
	return links
}

// connect draws the bands. Where they leave a node they are in the order of the nodes that
// they lead to, so that as few as possible cross.
func (p *picture) connect(flows map[flowKey]uint64, at [columns]map[string]int, unit float64) []band {
	var bands []band
	for column := range columns - 1 {
		links := between(flows, column, column+1)
		place := map[link][2]float64{}
		for side := range 2 {
			for _, id := range sortedLinks(links, at, column, side == 0) {
				name, c := id.from, column
				if side == 1 {
					name, c = id.to, column+1
				}
				n := &p.Nodes[at[c][name]]
				used := &n.used[1-side]
				where := place[id]
				where[side] = n.Y + *used
				place[id] = where
				*used += thick(links[id].requests, unit)
			}
		}
		for _, id := range sortedLinks(links, at, column, true) {
			l := links[id]
			bands = append(bands, band{
				Path:  ribbon(p.Nodes[at[column][l.from]].X+p.bar, place[id][0], p.Nodes[at[column+1][l.to]].X, place[id][1], thick(l.requests, unit)),
				Class: outcomeClasses[l.outcome], Title: fmt.Sprintf("%s to %s: %s %s", l.from, l.to, Grouped(l.requests), outcomeWords[l.outcome]),
			})
		}
	}
	return bands
}

// sortedLinks sorts by the node at one end, then by the one at the other.
func sortedLinks(links map[link]link, at [columns]map[string]int, column int, fromFirst bool) []link {
	key := func(l link) [3]int {
		from, to := at[column][l.from], at[column+1][l.to]
		if !fromFirst {
			from, to = to, from
		}
		return [3]int{from, to, int(l.outcome)}
	}
	list := make([]link, 0, len(links))
	for id := range links {
		list = append(list, id)
	}
	sortBy(list, key)
	return list
}

// ribbon is the path around a band from one side to the other.
func ribbon(x1, y1, x2, y2, h float64) string {
	mid := (x1 + x2) / 2
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fL%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fZ",
		x1, y1, mid, y1, mid, y2, x2, y2, x2, y2+h, mid, y2+h, mid, y1+h, x1, y1+h)
}

// rounded writes a large number with three digits, as there is little room.
func rounded(n uint64) string {
	if n < 100_000 {
		return Grouped(n)
	}
	x, unit := float64(n)/1000, 0
	for ; x >= 999.5; unit++ {
		x /= 1000
	}
	digits := 0
	if x < 9.995 {
		digits = 2
	} else if x < 99.95 {
		digits = 1
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " " + [...]string{"k", "M", "G", "T", "P", "E"}[unit]
}

// shorten takes out the middle of a text that is too long.
func shorten(s string, most int) string {
	most = max(most, 5)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	head := (most - 1) / 2
	return s[:head] + "\u2026" + s[len(s)-(most-1-head):]
}
