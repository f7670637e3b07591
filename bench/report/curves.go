package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/flowgate-mcp/flowgate/bench"
)

// curveTitles say what each curve is, shortly.
var curveTitles = map[string]string{
	"contributors":      "decision, by contributors",
	"contributors-read": "reading and decision, by contributors",
	"tokens":            "decision, by tokens of the policy",
	"tools":             "call, by tools of the server",
	"templates":         "read, by templates of the server",
	"templates-lookup":  "finding policies, by templates",
	"bytes":             "call, by bytes of the message",
	"clients":           "HTTP call, by clients at once",
}

// seriesOf returns the colour and the name of a side of a curve.
func seriesOf(side string) (series int, name string) {
	_, name, _ = strings.Cut(side, "=")
	switch name {
	case "none":
		return 1, "mcp-go alone"
	case "prototype":
		return 1, name
	case "cedar":
		return 2, name
	case "opa":
		return 3, name
	}
	return 0, "flowgate"
}

// drawCurves draws a small chart for each curve.
func (r *results) drawCurves(d *drawing) {
	d.title("Growth", "time of one, by how many there are; both axes are logarithmic")
	top := d.y
	for i, c := range bench.Curves() {
		x := margin + float64(i%columns)*(panelW+20)
		y := top + float64(i/columns)*(panelH+58)
		r.drawCurve(d, c, x, y)
		d.y = y + panelH + 58
	}
	d.y += margin
}

func (r *results) drawCurve(d *drawing, c bench.Curve, left, top float64) {
	var values, sizes []float64
	for _, side := range c.Sides {
		values = append(values, r.curve(c, side)...)
	}
	for _, n := range c.Sizes {
		sizes = append(sizes, float64(n))
	}
	d.text(left, top+14, "p", "start", curveTitles[c.Of])
	legend := left
	for _, side := range c.Sides {
		series, name := seriesOf(side)
		fmt.Fprintf(d, `<rect x="%.1f" y="%.1f" width="9" height="9" class="f%d"/>`+"\n", legend, top+22, series)
		d.text(legend+13, top+31, "n", "start", name)
		legend += 24 + 6.6*float64(len(name))
	}
	xs := scale{math.Log10(sizes[0]), math.Log10(sizes[len(sizes)-1]), left + 48, left + panelW - 14, true}
	ys := decades(values, top+panelH, top+42)
	for e := ys.low; e <= ys.high; e++ {
		y := ys.at(math.Pow(10, e))
		d.segment(left+42, y, left+panelW, y, "g")
		d.text(left+38, y+4, "n", "end", axis(math.Pow(10, e)))
	}
	for _, n := range c.Sizes {
		d.text(xs.at(float64(n)), top+panelH+16, "n", "middle", sizeText(c.Of, n))
	}
	for i := len(c.Sides) - 1; i >= 0; i-- { // the first on top
		series, _ := seriesOf(c.Sides[i])
		var points []string
		for j, ns := range r.curve(c, c.Sides[i]) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", xs.at(sizes[j]), ys.at(ns)))
		}
		fmt.Fprintf(d, `<polyline points="%s" class="l l%d"/>`+"\n", strings.Join(points, " "), series)
		for _, p := range points {
			x, y, _ := strings.Cut(p, ",")
			fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="3" class="f%d"/>`+"\n", x, y, series)
		}
	}
}

// sizeText writes a size below an axis.
func sizeText(of string, n int) string {
	if of == "bytes" {
		return strings.TrimSuffix(strings.Replace(bench.SizeName(n), "iB", "", 1), "B")
	}
	return fmt.Sprint(n)
}
