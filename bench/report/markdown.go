package main

import (
	"fmt"
	"strings"

	"github.com/flowgate-mcp/flowgate/bench"
)

// page is a text in Markdown.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table writes a table. Of each column but the first the figures stand on the right.
func (p *page) table(head []string, rows [][]string) {
	p.line("| %s |", strings.Join(head, " | "))
	p.line("|---|%s", strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		p.line("| %s |", strings.Join(row, " | "))
	}
	p.line("")
}

// markdown returns the report.
func (r *results) markdown() string {
	p := &page{}
	p.line("# Benchmarks\n")
	p.line("This page is written by a program: `go run -C bench ./report`, from the root of the repository, or `go run ./report`")
	p.line("inside bench. It takes less than ten minutes; the machine had better have nothing else to do. What is compared, and how, is in")
	p.line("[bench](../bench/doc.go).\n")
	for _, line := range r.machine {
		p.line("- %s", line)
	}
	p.line("")
	p.line("%s\n", method)
	p.line("![Charts of the figures below](benchmarks.svg)\n")
	p.line("## Aims\n")
	var rows [][]string
	for _, a := range r.aims() {
		rows = append(rows, []string{a.what, a.measured, a.verdict()})
	}
	p.table([]string{"aim", "measured", "met or missed"}, rows)
	p.line("Not growing means: at most %.2f times the time over the whole range.\n", flat)
	r.decisions(p)
	r.gates(p)
	r.breakdown(p)
	r.curves(p)
	r.lost(p)
	p.line("## What is unfair, and to whom\n")
	p.line("%s", unfair)
	return p.String()
}

const method = `All sides of a comparison take turns within one run, in short batches and in an order that changes each round. Times are
medians. Ratios are taken round by round, of batches that ran within milliseconds of each other, and the median of these is shown; so
a ratio need not be that of the two times beside it. Where two ratios stand in brackets they are the quartiles. Collecting garbage is
in a median only as far as most batches have it. The columns of allocations and bytes say what there is to collect, and *in total* has
all rounds added up, with that and with whatever else the machine did.`

func (r *results) decisions(p *page) {
	p.line("## One decision\n")
	p.line("Whether a policy accepts a label. All four give the same twelve verdicts, which a test checks. *prototype* is a plain Go version of")
	p.line("what the prototype beside the draft does. In brackets: how many times the time of flowgate.\n")
	for _, from := range bench.Forms() {
		p.line("### From %s\n", formText(from))
		head := []string{"decision"}
		for _, e := range bench.Engines() {
			head = append(head, e.Name)
		}
		var rows [][]string
		for _, c := range bench.Cases() {
			m := r.decide(from, c)
			row := []string{"`" + c.Name + "`", duration(m.of(engineFlowgate).Quartiles().Median)}
			for _, e := range bench.Engines()[1:] {
				s := m.of("engine=" + e.Name)
				row = append(row, fmt.Sprintf("%s (%s)", duration(s.Quartiles().Median), times(s.Over(m.of(engineFlowgate)).Median)))
			}
			rows = append(rows, row)
		}
		p.table(head, rows)
	}
	for _, from := range bench.Forms() {
		r.allocations(p, from)
	}
	p.line("### What the others cannot say\n")
	for _, d := range bench.Differences() {
		flowgate, others := "refuses", "accept"
		if d.Accept {
			flowgate, others = "accepts", "refuse"
		}
		p.line("- `%s`: flowgate %s, the others %s, because %s.", d.Name, flowgate, others, d.Why)
	}
	p.line("- Vendor tokens, which a function of the server decides, are left out: only OPA can call Go, as a built-in function.\n")
}

// allocations says how much memory the decisions take from one form of the label.
func (r *results) allocations(p *page, from bench.Form) {
	p.line("### Allocations, from %s\n", formText(from))
	head := []string{"decision"}
	for _, e := range bench.Engines() {
		head = append(head, e.Name)
	}
	var rows [][]string
	for _, c := range bench.Cases() {
		row := []string{"`" + c.Name + "`"}
		for _, e := range bench.Engines() {
			s := r.decide(from, c).of("engine=" + e.Name)
			row = append(row, fmt.Sprintf("%s, %s B", count(s.Allocs), count(s.Bytes)))
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
}

func (r *results) gates(p *page) {
	p.line("## The gate\n")
	p.line("One `tools/call`. *none* is mcp-go alone, which refuses nothing: in the tables of refusals it runs the tool. So does *seams*,")
	p.line("mcp-go with functions that do nothing wherever the gate has one. *hand* is a middleware")
	p.line("for tool handlers that compares what stands in `_meta` and answers with a tool result, as one might write it oneself.")
	p.line("*flowgate* has a logger that wants nothing; *+log* writes every record as JSON to nowhere, *+sink* hands it to a function.")
	p.line("Over HTTP the client is in the figures, and it is the same for all.\n")
	for _, via := range []string{bench.ViaHandle, bench.ViaHTTP} {
		for _, size := range []int{bench.Small, bench.Large} {
			for _, accept := range []bool{true, false} {
				m := r.gate(via, size, accept)
				p.line("### %s\n", "`"+bench.GateName(via, size, accept)+"`")
				var rows [][]string
				for _, g := range bench.Guards() {
					s := m.of("mw=" + string(g))
					q := s.Over(m.of(gateBare))
					ratio, total := "1", "1"
					if g != bench.Bare {
						total = fmt.Sprintf("%.3f", s.TotalOver(m.of(gateBare)))
						ratio = fmt.Sprintf("%.3f (%.3f–%.3f)", q.Median, q.Low, q.High)
					}
					rows = append(rows, []string{string(g), duration(s.Quartiles().Median), ratio, total, count(s.Allocs), count(s.Bytes)})
				}
				p.table([]string{"mw", "time", "to none", "in total", "allocations", "bytes"}, rows)
			}
		}
	}
}

// breakdown says where the gate's time goes in the call whose aim is the tightest.
func (r *results) breakdown(p *page) {
	m := r.gate(bench.ViaHandle, bench.Small, true)
	base := m.of(gateBare).Quartiles().Median
	added := (m.of(gateFlowgate).Over(m.of(gateBare)).Median - 1) * base
	seams := (m.of("mw="+string(bench.Seams)).Over(m.of(gateBare)).Median - 1) * base
	rest := added
	var rows [][]string
	row := func(what string, ns float64) {
		rows = append(rows, []string{what, duration(max(ns, 0)), percent(1 + ns/base)})
	}
	for _, part := range []struct {
		what string
		ns   float64
	}{
		{"mcp-go calls its hooks, filter, middleware and propagator, with nothing in them (*seams*)", seams},
		{"the bytes of the message are read strictly, for what has two readings (L8)", r.part(bench.PartMessage)},
		{"the label is read, each URI in canonical form (L2 to L7)", r.part(bench.PartLabel)},
		{"the decision (P7)", r.part(bench.PartDecision)},
	} {
		row(part.what, part.ns)
		rest -= part.ns
	}
	row("all else: the record of the request and its context, the policies of the tool, the checks that the gate still stands last, memory and what it takes to collect it", rest)
	row("**the gate, all together**", added)
	p.line("### Where the time of a small call goes\n")
	p.line("What the gate adds to `%s`. The parts are timed by themselves in the same run, where nothing else", bench.GateName(bench.ViaHandle, bench.Small, true))
	p.line("empties the caches between two runs, so they are lower bounds, and *all else* an upper one.\n")
	p.table([]string{"part", "time", "of mcp-go alone"}, rows)
	p.line("The aims for small calls allow %s here and %s over HTTP. The first four rows alone come to %s. They are what a gate is for: one",
		duration(0.05*base), duration(0.03*r.gate(bench.ViaHTTP, bench.Small, true).of(gateBare).Quartiles().Median), duration(added-rest))
	p.line("that leaves out any of them does not see a message as mcp-go does, or does not judge it. The cost is about the same for every call,")
	p.line("so its share falls with the size of the message (see *bytes* below) and with the work of the tool, which here does nothing. It takes")
	p.line("%s allocations of %s B more than mcp-go alone.\n", count(m.of(gateFlowgate).Allocs-m.of(gateBare).Allocs), count(m.of(gateFlowgate).Bytes-m.of(gateBare).Bytes))
}

// curveTexts say what each curve is.
var curveTexts = map[string]string{
	"contributors":      "A decision about a label of n contributors, all accepted for their assurance.",
	"contributors-read": "The same, from decoded JSON.",
	"tokens":            "A decision under a policy of n tokens, all URIs, of which the last accepts the one contributor.",
	"tools":             "A call of one of n tools of a server, 400 bytes, without a network.",
	"templates":         "A read of a resource of one of n templates of a server. mcp-go itself tries one template after the other.",
	"templates-lookup":  "Finding the policies of a URI among those of n templates, which is the gate's part of the same.",
	"bytes":             "A call of n bytes, without a network.",
	"clients":           "Calls of 400 bytes over HTTP by n clients at once: the time of all divided by their number.",
}

func (r *results) curves(p *page) {
	p.line("## Growth\n")
	for _, c := range bench.Curves() {
		p.line("### %s\n", c.Of)
		p.line("%s\n", curveTexts[c.Of])
		head := append([]string{"n"}, c.Sides...)
		compared := len(c.Sides) == 2
		if compared {
			head = append(head, "ratio")
		}
		var rows [][]string
		for _, n := range c.Sizes {
			row := []string{fmt.Sprint(n)}
			for _, side := range c.Sides {
				row = append(row, duration(r.at(c, side, n).Quartiles().Median))
			}
			if compared {
				q := r.at(c, c.Sides[1], n).Over(r.at(c, c.Sides[0], n))
				row = append(row, fmt.Sprintf("%.3f (%.3f–%.3f)", q.Median, q.Low, q.High))
			}
			rows = append(rows, row)
		}
		p.table(head, rows)
	}
}

func (r *results) lost(p *page) {
	p.line("## Where flowgate is slower\n")
	p.line("Every row above, but for growth and for loggers and sinks, in which flowgate takes longer than what it is compared with. Under\ngrowth the factors themselves say so.\n")
	for _, l := range r.losses() {
		p.line("- %s", l)
	}
	p.line("")
}

const unfair = `In favour of the others:

- A refusal of flowgate keeps whom it refuses, all of them. cedar-go is asked no further after the first, and OPA says no more than no.
- flowgate compares URIs in canonical form, keeps to budgets and tells apart what is ambiguous. The others compare texts. In the tables
  from decoded JSON and from JSON text this is a part of flowgate's time, and of nobody else's.
- Cedar has no "every", so it is asked once for each contributor, and by Go code that stops at the first refusal. The contributor is the context of the request,
  not an entity, and the tokens are sets of constants. With entities in place of the context every decision takes longer.
- The middleware by hand guards synchronous tool calls and nothing else: no tasks, resources, prompts, completions or subscriptions, no
  message with two readings, no record, and its refusal is a tool result that a model reads.

In favour of flowgate:

- cedar-go and OPA evaluate any policy that their languages can express; flowgate knows one kind. They pay for generality here and do not
  need it.
- OPA is used with partial evaluation, which made eight of the twelve decisions faster and two slower when it was tried. Without it these two would be
  better for OPA.
- The labels are prepared for each in the form it likes best only in the first table; in the others the conversion is in the time.
- The tool answers at once. Whatever a real one does makes the share of the gate smaller.
- The aims for the gate are measured without a log of decisions and without a sink. A server that keeps records pays for them:
  *+log* and *+sink* say how much.
- With a thousand templates mcp-go's own search takes a hundred times as long as the gate, so the gate's part cannot be told from the noise
  there; the curve *templates-lookup* measures it by itself.
`
