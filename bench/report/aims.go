package main

import (
	"fmt"
	"slices"

	"github.com/flowgate-mcp/flowgate/bench"
	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

// aim is one thing that was asked for, and what came of it.
type aim struct {
	what, measured string
	met            bool
}

func (a aim) verdict() string {
	if a.met {
		return "met"
	}
	return "missed"
}

// flat is up to which factor a cost counts as not growing over a whole curve.
const flat = 1.25

func (r *results) aims() []aim {
	list := []aim{r.noAllocation()}
	for _, e := range []struct {
		engine, name string
		times        float64
	}{{"cedar", "cedar-go", 20}, {"opa", "OPA", 200}} {
		f := r.faster(e.engine, bench.FromPrepared)
		low, median := slices.Min(f), paired.QuartilesOf(f).Median
		list = append(list,
			aim{fmt.Sprintf("the middlemost of the twelve decisions ≥ %.0f × faster than %s", e.times, e.name), times(median), median >= e.times},
			aim{fmt.Sprintf("every one of the twelve ≥ %.0f × faster than %s", e.times, e.name), fmt.Sprintf("%s at least; %d of 12 are", times(low), atLeast(f, e.times)), low >= e.times})
	}
	for _, g := range []struct {
		via   string
		size  int
		limit float64
	}{{bench.ViaHTTP, bench.Small, 3}, {bench.ViaHandle, bench.Small, 5}, {bench.ViaHTTP, bench.Large, 2}, {bench.ViaHandle, bench.Large, 2}} {
		m := r.gate(g.via, g.size, true)
		q := m.of(gateFlowgate).Over(m.of(gateBare))
		list = append(list, aim{
			fmt.Sprintf("the gate adds ≤ %.0f %% to %s of %s", g.limit, viaText(g.via), sizeName(g.size)),
			fmt.Sprintf("%s (quartiles %s to %s)", percent(q.Median), percent(q.Low), percent(q.High)), (q.Median-1)*100 <= g.limit,
		})
	}
	tools := curveOf("tools")
	few, many := tools.Sizes[0], tools.Sizes[len(tools.Sizes)-1]
	list = append(list, aim{
		"what the gate adds to a call does not grow with the tools of a server",
		fmt.Sprintf("%s with %d, %s with %d", duration(r.added(tools, few)), few, duration(r.added(tools, many)), many),
		r.added(tools, many) <= flat*r.added(tools, few),
	})
	for _, c := range []struct{ of, side, what string }{
		{"tokens", engineFlowgate, "a decision does not grow with the tokens of a policy"},
		{"templates-lookup", "call=Resource", "finding policies does not grow with the templates of a server"},
	} {
		curve := curveOf(c.of)
		q := r.growth(curve, c.side).Median
		list = append(list, aim{c.what, fmt.Sprintf("%s from %d to %d", times(q), curve.Sizes[0], curve.Sizes[len(curve.Sizes)-1]), q <= flat})
	}
	return list
}

func (r *results) noAllocation() aim {
	var most float64
	for _, c := range bench.Cases() {
		if c.Accept {
			most = max(most, r.decide(bench.FromPrepared, c).of(engineFlowgate).Allocs)
		}
	}
	return aim{"Decide allocates nothing when it accepts", fmt.Sprintf("%.0f allocations", most), most < 0.5}
}

func atLeast(list []float64, limit float64) int {
	n := 0
	for _, v := range list {
		if v >= limit {
			n++
		}
	}
	return n
}

func viaText(via string) string {
	if via == bench.ViaHTTP {
		return "an HTTP round trip"
	}
	return "HandleMessage"
}

// losses lists where flowgate is slower than what it is compared with, for its readers to see.
func (r *results) losses() []string {
	var list []string
	for _, from := range bench.Forms() {
		for _, c := range bench.Cases() {
			m := r.decide(from, c)
			for _, e := range bench.Engines()[1:] {
				if q := m.of(engineFlowgate).Over(m.of("engine=" + e.Name)).Median; q > 1 {
					list = append(list, fmt.Sprintf("`%s` from %s: %s the time of %s", c.Name, formText(from), times(q), e.Name))
				}
			}
		}
	}
	for _, via := range []string{bench.ViaHandle, bench.ViaHTTP} {
		for _, size := range []int{bench.Small, bench.Large} {
			for _, accept := range []bool{true, false} {
				m := r.gate(via, size, accept)
				for _, base := range []bench.Guard{bench.Bare, bench.Hand} {
					if q := m.of(gateFlowgate).Over(m.of("mw=" + string(base))).Median; q > 1 {
						list = append(list, fmt.Sprintf("`%s`: %s the time of %s", bench.GateName(via, size, accept), times(q), guardText(base)))
					}
				}
			}
		}
	}
	return list
}

func formText(f bench.Form) string {
	switch f {
	case bench.FromDecoded:
		return "decoded JSON"
	case bench.FromJSON:
		return "JSON text"
	}
	return "a label that is read"
}

func guardText(g bench.Guard) string {
	switch g {
	case bench.Bare:
		return "mcp-go alone"
	case bench.Seams:
		return "seams with nothing in them"
	case bench.Hand:
		return "the middleware by hand"
	case bench.Flowgate:
		return "the gate"
	case bench.FlowgateLog:
		return "the gate, logging every record"
	}
	return "the gate, with a sink"
}
