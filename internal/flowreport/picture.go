package flowreport

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// The columns of the picture, from left to right: where requests come from, what was made
// of them, and what they ask for. A record lists no contributor that was accepted, so the
// picture shows contributors only where they speak against a request.
const (
	columnHost = iota
	columnClass
	columnTarget
	columns
)

// columnNames are what the columns are called, and maxNodes how many nodes each shows; what
// is beyond becomes one node.
var (
	columnNames = [columns]string{"Host", "Because of", "Target"}
	maxNodes    = [columns]int{6, 8, 10}
)

// layout is the shape of a picture, in its own units, which are pixels where there is room.
type layout struct {
	class  string  // of the picture
	width  float64 // of the whole
	height float64 // that all requests together take up
	bar    float64 // width of a node
	font   float64 // size of the text
}

// Two pictures are drawn: one for a page that is wide enough, and one for a telephone.
var layouts = [...]layout{
	{"wide", 1000, 300, 12, 13},
	{"narrow", 360, 220, 9, 11},
}

// lineRoom is what is above a node for its name, in sizes of the text.
const lineRoom = 1.9

// The least that is drawn of a node and of a band, so that one of a million is seen.
const (
	leastNode = 4
	leastBand = 1.5
)

// flowKey is a band from one end to the other.
type flowKey struct {
	ends    [columns]string
	outcome Outcome
}

// node is one bar.
type node struct {
	Full, Exact  string // what is shown on request
	Label, Count string // what there is room for
	Class        string // of its colour, "" for a plain one
	Anchor       string // of its text
	X, Y, W, H   float64
	TextX, TextY float64

	name     string
	requests uint64
	used     [2]float64 // how much of its left and right side is taken
}

// band is one flow between two nodes that are next to each other.
type band struct {
	Path, Class, Title string
}

// heading is the name of a column.
type heading struct {
	Text, Anchor string
	X, Y         float64
}

// picture is what the page shows of who asks for what.
type picture struct {
	layout
	Class, ViewBox string
	Headings       []heading
	Nodes          []node
	Bands          []band
}

// flows counts requests by their ends, with few ends of each kind.
func (r *Report) flows() map[flowKey]uint64 {
	whole := map[flowKey]uint64{}
	for i := range r.Rows {
		row := &r.Rows[i]
		key := flowKey{[columns]string{nameText(row.Client), row.Class(), row.targetText()}, row.Outcome}
		whole[key] = sum(whole[key], row.Requests)
	}
	for column := range columns {
		totals := map[string]uint64{}
		for key, n := range whole {
			totals[key.ends[column]] = sum(totals[key.ends[column]], n)
		}
		if len(totals) <= maxNodes[column] {
			continue
		}
		kept := byCount(totals)[:maxNodes[column]-1]
		rest := fmt.Sprintf("(%d others)", len(totals)-len(kept))
		fewer := map[flowKey]uint64{}
		for key, n := range whole {
			if !slices.Contains(kept, key.ends[column]) {
				key.ends[column] = rest
			}
			fewer[key] = sum(fewer[key], n)
		}
		whole = fewer
	}
	return whole
}

// nameText is a name for people, who see when there is none.
func nameText(n Name) string {
	if text := n.Text; !n.Others && text != "" && text[0] == '(' {
		return strconv.Quote(text) // it is not to be taken for one of ours
	}
	return cmp.Or(n.String(), "(no name)")
}

// targetText names a target, with the method where that is not the usual one.
func (r *Row) targetText() string {
	s := nameText(r.Target)
	if !r.Registered && r.Target.Text != "" && s == r.Target.Text {
		s = strconv.Quote(s) // the peer's word
	}
	if r.Method.Text != "tools/call" && !r.Method.Others {
		s = r.Method.Text + " " + s
	}
	return s
}

// byCount returns the names, the largest number first and equal ones sorted.
func byCount(totals map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
}

// draw lays the picture out.
func (r *Report) draw(l layout) picture {
	flows := r.flows()
	unit := l.height / max(1, float64(r.Total.Requests))
	p := picture{layout: l, Class: l.class}
	bottom := 0.0
	var at [columns]map[string]int
	for column := range columns {
		at[column] = map[string]int{}
		y := l.font * 1.6
		p.Headings = append(p.Headings, heading{columnNames[column], anchor(column), l.textX(column), l.font})
		for _, name := range order(flows, column) {
			n := l.node(column, name, flows, unit)
			y += l.font * lineRoom
			n.Y, n.TextY = y, y-l.font*0.45
			y += n.H
			at[column][name] = len(p.Nodes)
			p.Nodes = append(p.Nodes, n)
		}
		bottom = max(bottom, y)
	}
	p.Bands = p.connect(flows, at, unit)
	p.ViewBox = fmt.Sprintf("0 0 %g %g", l.width, math.Ceil(bottom+2))
	return p
}

// order is that of the nodes of a column: the largest first, what is several last. In the
// middle what speaks against requests comes before what does not.
func order(flows map[flowKey]uint64, column int) []string {
	totals, first := map[string]uint64{}, map[string]Outcome{}
	for key, n := range flows {
		name := key.ends[column]
		if o, ok := first[name]; !ok || key.outcome < o {
			first[name] = key.outcome
		}
		totals[name] = sum(totals[name], n)
	}
	names := byCount(totals)
	if column == columnClass {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(min(first[a], Accepted), min(first[b], Accepted)) })
	}
	slices.SortStableFunc(names, func(a, b string) int { return -compareBool(isOthers(a), isOthers(b)) })
	return names
}

func isOthers(name string) bool { return name != "" && name[0] == '(' && name != "(no name)" }
