package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/flowgate-mcp/flowgate/bench"
	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

// drawing is an SVG that grows downwards.
type drawing struct {
	strings.Builder
	y float64 // where the next thing goes
}

// The measures of the drawing, in its own units.
const (
	width     = 960
	margin    = 24
	barLeft   = 270
	barRight  = 850
	rowHeight = 20
	panelW    = 290
	panelH    = 190
	columns   = 3
)

// style has the colours for light and dark. Series 0 is flowgate.
const style = `
text{font:13px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.h{font-size:17px;font-weight:600}.p{font-weight:600}.n{font-size:11px;fill:#59636e}
.bg{fill:#ffffff}.g{stroke:#d1d9e0;stroke-width:1}.a{stroke:#59636e;stroke-width:1.5;stroke-dasharray:3 2}
.f0{fill:#0969da}.f1{fill:#6e7781}.f2{fill:#bc4c00}.f3{fill:#8250df}
.l0{stroke:#0969da}.l1{stroke:#6e7781}.l2{stroke:#bc4c00}.l3{stroke:#8250df}
.l{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.n{fill:#9198a1}.bg{fill:#0d1117}.g{stroke:#3d444d}.a{stroke:#9198a1}
.f0{fill:#4493f8}.f1{fill:#9198a1}.f2{fill:#f0883e}.f3{fill:#ab7df8}
.l0{stroke:#4493f8}.l1{stroke:#9198a1}.l2{stroke:#f0883e}.l3{stroke:#ab7df8}}
`

// svg returns the charts.
func (r *results) svg() string {
	d := &drawing{y: margin}
	r.drawDecisions(d)
	r.drawGate(d)
	r.drawCurves(d)
	height := d.y
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-label="Benchmarks of flowgate"><style>%s</style><rect class="bg" width="100%%" height="100%%"/>`+"\n%s</svg>\n",
		width, height, width, height, style, d.String())
}

// text writes a text; anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (d *drawing) segment(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(d, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

// title begins a part, with a sentence below its heading.
func (d *drawing) title(heading, sentence string) {
	d.y += 22
	d.text(margin, d.y, "h", "start", heading)
	d.y += 20
	d.text(margin, d.y, "n", "start", sentence)
	d.y += 14
}

// scale maps values to a stretch of the drawing.
type scale struct {
	low, high float64 // of the values, logarithms if log
	from, to  float64
	log       bool
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(v)
	}
	v = max(s.low, min(s.high, v))
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// decades returns a logarithmic scale that holds all values, with whole decades.
func decades(values []float64, from, to float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
	}
	return scale{low, max(high, low+1), from, to, true}
}

// drawDecisions draws a bar for each engine and form.
func (r *results) drawDecisions(d *drawing) {
	d.title("One decision", "the middlemost of twelve decisions; each step to the right is ten times as long")
	type bar struct {
		name   string
		series int
		ns     float64
	}
	var bars []bar
	var values []float64
	for _, from := range bench.Forms() {
		for i, e := range bench.Engines() {
			var list []float64
			for _, c := range bench.Cases() {
				list = append(list, r.decide(from, c).of("engine="+e.Name).Quartiles().Median)
			}
			ns := paired.QuartilesOf(list).Median
			bars = append(bars, bar{e.Name + ", from " + formText(from), i, ns})
			values = append(values, ns)
		}
	}
	s := decades(values, barLeft, barRight)
	s.low-- // so that the shortest bar can be seen
	bottom := d.y + float64(len(bars))*rowHeight + float64(len(bench.Forms())-1)*8
	for e := s.low; e <= s.high; e++ {
		x := s.at(math.Pow(10, e))
		d.segment(x, d.y, x, bottom, "g")
		d.text(x, bottom+14, "n", "middle", axis(math.Pow(10, e)))
	}
	for i, b := range bars {
		if i > 0 && i%len(bench.Engines()) == 0 {
			d.y += 8
		}
		d.text(barLeft-8, d.y+14, "", "end", b.name)
		x := s.at(b.ns)
		fmt.Fprintf(d, `<rect x="%d" y="%.1f" width="%.1f" height="13" class="f%d"/>`+"\n", barLeft, d.y+3, x-barLeft, b.series)
		d.text(x+6, d.y+14, "", "start", duration(b.ns))
		d.y += rowHeight
	}
	d.y += 26
}

// drawGate draws what the guards add to a request, with quartiles.
func (r *results) drawGate(d *drawing) {
	d.title("What a guard adds to an accepted call", "median of paired ratios, with quartiles; the broken line is the aim")
	limits := map[string]float64{bench.ViaHTTP + "400B": 3, bench.ViaHandle + "400B": 5, bench.ViaHTTP + "64KiB": 2, bench.ViaHandle + "64KiB": 2}
	type row struct {
		name   string
		series int
		q      paired.Quartiles
		limit  float64
	}
	var rows []row
	low, high := 0.0, 6.0
	for _, via := range []string{bench.ViaHandle, bench.ViaHTTP} {
		for _, size := range []int{bench.Small, bench.Large} {
			m := r.gate(via, size, true)
			for _, g := range []struct {
				guard  bench.Guard
				name   string
				series int
			}{{bench.Hand, "by hand", 2}, {bench.Flowgate, "flowgate", 0}} {
				q := m.of("mw=" + string(g.guard)).Over(m.of(gateBare))
				q = paired.Quartiles{Low: (q.Low - 1) * 100, Median: (q.Median - 1) * 100, High: (q.High - 1) * 100}
				low, high = min(low, q.Low), max(high, q.High)
				rows = append(rows, row{fmt.Sprintf("%s, %s: %s", via, sizeName(size), g.name), g.series, q, limits[via+bench.SizeName(size)]})
			}
		}
	}
	step := 2.0
	for (high-low)/step > 12 {
		step *= 2
	}
	s := scale{math.Floor(low/step) * step, math.Ceil(high/step) * step, barLeft, barRight, false}
	bottom := d.y + float64(len(rows))*rowHeight
	for v := s.low; v <= s.high; v += step {
		d.segment(s.at(v), d.y, s.at(v), bottom, "g")
		d.text(s.at(v), bottom+14, "n", "middle", strings.Replace(percent(1+v/100), ".0", "", 1))
	}
	for _, row := range rows {
		y := d.y + rowHeight/2
		d.text(barLeft-8, y+4, "", "end", row.name)
		d.segment(s.at(row.q.Low), y, s.at(row.q.High), y, fmt.Sprintf("l l%d", row.series))
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="5" class="f%d"/>`+"\n", s.at(row.q.Median), y, row.series)
		if row.series == 0 {
			d.segment(s.at(row.limit), y-8, s.at(row.limit), y+8, "a")
		}
		d.text(barRight+12, y+4, "", "start", percent(1+row.q.Median/100))
		d.y += rowHeight
	}
	d.y += 26
}
