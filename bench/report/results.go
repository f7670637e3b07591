package main

import (
	"slices"

	"github.com/flowgate-mcp/flowgate/bench"
	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

// key names a group.
type key struct {
	section bench.Section
	name    string
}

// measured is what was measured of one group.
type measured struct {
	names  []string
	series []paired.Series
}

// of returns what was measured of one Op; nothing, if there is none of that name.
func (m measured) of(name string) paired.Series {
	if i := slices.Index(m.names, name); i >= 0 {
		return m.series[i]
	}
	return paired.Series{}
}

// results is what was measured.
type results struct {
	machine []string
	groups  map[key]measured
}

func (r *results) decide(from bench.Form, c bench.Case) measured {
	return r.groups[key{bench.Decide, "from=" + string(from) + "/case=" + c.Name}]
}

func (r *results) gate(via string, size int, accept bool) measured {
	return r.groups[key{bench.Gate, bench.GateName(via, size, accept)}]
}

// part returns the median time of one part of the gate's work for a small call.
func (r *results) part(name string) float64 {
	return r.groups[key{bench.Gate, bench.PartsName}].of(name).Quartiles().Median
}

// curve returns the median times of one side of a curve, by size.
func (r *results) curve(c bench.Curve, side string) []float64 {
	var list []float64
	for _, n := range c.Sizes {
		list = append(list, r.at(c, side, n).Quartiles().Median)
	}
	return list
}

func (r *results) at(c bench.Curve, side string, n int) paired.Series {
	return r.groups[key{bench.Growth, c.GroupName()}].of(c.OpName(side, n))
}

// growth returns how much longer the largest size of a curve takes than the smallest.
func (r *results) growth(c bench.Curve, side string) paired.Quartiles {
	return r.at(c, side, c.Sizes[len(c.Sizes)-1]).Over(r.at(c, side, c.Sizes[0]))
}

// flowgate's names as a side.
const (
	engineFlowgate = "engine=flowgate"
	gateFlowgate   = "mw=" + string(bench.Flowgate)
	gateBare       = "mw=" + string(bench.Bare)
)

// added returns how much longer a request takes with the gate, at one size of a curve.
func (r *results) added(c bench.Curve, n int) float64 {
	return r.at(c, gateFlowgate, n).Less(r.at(c, gateBare, n)).Median
}

// faster returns how many times faster flowgate takes the decisions than an engine
// does: the median of each.
func (r *results) faster(engine string, from bench.Form) []float64 {
	var list []float64
	for _, c := range bench.Cases() {
		m := r.decide(from, c)
		list = append(list, m.of("engine="+engine).Over(m.of(engineFlowgate)).Median)
	}
	return list
}

// curveOf returns the curve of that name.
func curveOf(name string) bench.Curve {
	for _, c := range bench.Curves() {
		if c.Of == name {
			return c
		}
	}
	return bench.Curve{}
}
