package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/bench"
	"github.com/flowgate-mcp/flowgate/bench/internal/paired"
)

// invented returns results with figures for every Op: all cost what cost says.
func invented(t *testing.T, cost func(section bench.Section, op string) float64) *results {
	t.Helper()
	r := &results{machine: []string{"a machine"}, groups: map[key]measured{}}
	add := func(s bench.Section, group, op string) {
		ns := cost(s, op)
		m := r.groups[key{s, group}]
		m.names = append(m.names, op)
		m.series = append(m.series, paired.Series{NS: []float64{ns, ns, ns}})
		r.groups[key{s, group}] = m
	}
	for _, from := range bench.Forms() {
		for _, c := range bench.Cases() {
			for _, e := range bench.Engines() {
				add(bench.Decide, "from="+string(from)+"/case="+c.Name, "engine="+e.Name)
			}
		}
	}
	for _, via := range []string{bench.ViaHandle, bench.ViaHTTP} {
		for _, size := range []int{bench.Small, bench.Large} {
			for _, accept := range []bool{true, false} {
				for _, g := range bench.Guards() {
					add(bench.Gate, bench.GateName(via, size, accept), "mw="+string(g))
				}
			}
		}
	}
	for _, part := range []string{bench.PartMessage, bench.PartLabel, bench.PartDecision} {
		add(bench.Gate, bench.PartsName, part)
	}
	for _, c := range bench.Curves() {
		for _, n := range c.Sizes {
			for _, side := range c.Sides {
				add(bench.Growth, c.GroupName(), c.OpName(side, n))
			}
		}
	}
	for _, g := range bench.Groups() {
		if len(r.groups[key{g.Section, g.Name}].names) == 0 {
			t.Errorf("the report knows nothing of %s/%s", g.Section, g.Name)
		}
	}
	return r
}

func even(bench.Section, string) float64 { return 100 }

// Every figure has its place: with figures for everything nothing is unknown.
func TestReportIsWhole(t *testing.T) {
	r := invented(t, even)
	for name, text := range map[string]string{"markdown": r.markdown(), "svg": r.svg()} {
		for _, bad := range []string{"NaN", "Inf", "?", "%!"} {
			if strings.Contains(text, bad) {
				t.Errorf("the %s contains %q", name, bad)
			}
		}
	}
}

func TestAims(t *testing.T) {
	verdicts := func(cost func(bench.Section, string) float64) (met, missed int) {
		for _, a := range invented(t, cost).aims() {
			if a.met {
				met++
			} else {
				missed++
			}
		}
		return met, missed
	}
	good := func(_ bench.Section, op string) float64 {
		if strings.HasPrefix(op, "engine=") && op != engineFlowgate {
			return 100_000
		}
		return 100
	}
	if met, missed := verdicts(good); missed > 0 {
		t.Errorf("%d met, %d missed", met, missed)
	}
	slow := func(s bench.Section, op string) float64 {
		if s == bench.Gate && op == gateFlowgate {
			return 200
		}
		return 100
	}
	if met, missed := verdicts(slow); missed != 8 {
		t.Errorf("%d met, %d missed", met, missed)
	}
	growing := func(s bench.Section, op string) float64 {
		switch tools := curveOf("tools"); op {
		case tools.OpName(gateFlowgate, 10):
			return 110
		case tools.OpName(gateFlowgate, 10_000):
			return 113 // of the whole call that is little, of the gate's part a third
		}
		return good(s, op)
	}
	if met, missed := verdicts(growing); missed != 1 {
		t.Errorf("%d met, %d missed", met, missed)
	}
	if list := invented(t, slow).losses(); len(list) != 16 {
		t.Errorf("losses: %q", list)
	}
	if list := invented(t, even).losses(); len(list) != 0 {
		t.Errorf("losses: %q", list)
	}
}

func TestSVGIsXML(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(invented(t, even).svg()))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{duration(9.994), "9.99 ns"}, {duration(48.12), "48.1 ns"}, {duration(999.9), "1.00 µs"}, {duration(54_321), "54.3 µs"},
		{duration(3.9e6), "3.90 ms"}, {duration(2e9), "2.00 s"}, {times(123.4), "123 ×"}, {times(1234.4), "1234 ×"},
		{percent(1.0312), "+3.1 %"}, {percent(0.99), "−1.0 %"}, {percent(0.9999), "+0.0 %"}, {count(0.2), "0"}, {count(21.6), "22"}, {axis(1e4), "10 µs"}, {axis(100), "100 ns"}, {sizeName(400), "400 B"}, {sizeName(64 << 10), "64 KiB"},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}
