package otelflow_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/otelflow"
)

func TestTargets(t *testing.T) {
	named := func(name string, registered bool) decision.Record {
		return decision.Record{Method: "tools/call", Verdict: decision.Accepted, Target: name, Registered: registered}
	}
	for name, test := range map[string]struct {
		cap     int
		records []decision.Record
		want    map[string]int64
	}{
		"no cap, no series": {0, []decision.Record{named("a", true)}, map[string]int64{}},
		"registered":        {2, []decision.Record{named("a", true), named("b", true), named("a", true)}, map[string]int64{"a": 2, "b": 1}},
		"over the cap":      {2, []decision.Record{named("a", true), named("b", true), named("c", true), named("d", true), named("a", true)}, map[string]int64{"a": 2, "b": 1, otelflow.Other: 2}},
		"a peer's word":     {2, []decision.Record{named("a", false), named("b", false), named("c", true)}, map[string]int64{otelflow.Unregistered: 2, "c": 1}},
		"known, then not":   {2, []decision.Record{named("a", true), named("a", false)}, map[string]int64{"a": 1, otelflow.Unregistered: 1}},
		"no name":           {2, []decision.Record{named("", true), named("", false)}, map[string]int64{otelflow.Unregistered: 2}},
		"not printable":     {2, []decision.Record{named("a\n\x1b[31m\u202e", true)}, map[string]int64{`a\n\x1b[31m\u202e`: 1}},
		"long":              {2, []decision.Record{named(strings.Repeat("é", 1<<16), true)}, map[string]int64{decision.Text(strings.Repeat("é", 1<<16)): 1}},
	} {
		m := newMeter(t, otelflow.Config{Targets: test.cap})
		m.record(t, test.records...)
		want := make(map[string]int64)
		for target, n := range test.want {
			want["mode=enforce name=tools/call target="+target+" verdict=accepted"] = n
		}
		if got := m.counts(t, otelflow.MetricTargets); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// hostile returns record i of a flood in which every text that a peer, or a dishonest
// producer, can choose is different each time.
func hostile(i int) decision.Record {
	s := "x" + strconv.Itoa(i)
	return decision.Record{
		Server: s, Method: s, Target: s, Registered: i%2 == 0,
		Verdict: decision.Verdict(i % 256), Mode: 0, Reason: decision.Reason(s), Detail: s,
		Judged: i%3 == 0, FlowOrigin: s, Rejected: []decision.Contributor{{Assurance: s, Principal: s, Unusable: s}},
		AcceptFrom: []string{s}, Policy: s, Settings: s, RequestID: s, Session: s, Protocol: s, Client: s,
		Took: 1, Suppressed: uint64(i % 5), Lost: uint64(i % 7),
	}
}

// A flood of hostile names makes no series: what there is after 2,000 records is what there
// is after 20,000 more, and no value of an attribute is a peer's (M3).
func TestFlood(t *testing.T) {
	const targets, warm = 3, 2000 // enough for every combination of what is not text
	m := newMeter(t, otelflow.Config{Targets: targets})
	series := func() map[string]int {
		n := map[string]int{otelflow.MetricDuration: len(m.times(t))}
		for _, name := range []string{otelflow.MetricDecisions, otelflow.MetricTargets, otelflow.MetricSuppressed, otelflow.MetricLost} {
			n[name] = len(m.counts(t, name))
		}
		return n
	}
	for i := range warm {
		m.record(t, hostile(i))
	}
	before := series()
	for i := range 20_000 {
		m.record(t, hostile(warm+i))
	}
	if after := series(); !maps.Equal(before, after) {
		t.Errorf("series grew from %v to %v", before, after)
	}
	registered := map[string]bool{"x0": true, "x2": true, "x4": true}
	for name := range m.metrics(t) {
		for attributes := range m.counts(t, name) {
			for part := range strings.FieldsSeq(attributes) {
				if key, value, _ := strings.Cut(part, "="); strings.HasPrefix(value, "x") && !(key == "target" && registered[value]) {
					t.Errorf("%s{%s} holds a peer's text", name, attributes)
				}
			}
		}
	}
	if got := before[otelflow.MetricTargets]; got < targets+2 {
		t.Errorf("%d series by target: the flood did not reach the buckets", got)
	}
}

// With as many targets as the documentation calls plenty, each with all that an operator will
// see of it, the SDK's limit is not reached.
func TestRoomForTargets(t *testing.T) {
	m := newMeter(t, otelflow.Config{Targets: 100})
	seen := []decision.Record{
		{Verdict: decision.Accepted},
		{Reason: decision.ReasonContributor}, {Reason: decision.ReasonIncomplete}, {Reason: decision.ReasonMalformed},
		{Reason: decision.ReasonAbsent}, {Reason: decision.ReasonMatcher},
		{Verdict: decision.Invalid, Reason: decision.ReasonMeta}, {Verdict: decision.Invalid, Reason: decision.ReasonCancelled},
		{Verdict: decision.Fault, Reason: decision.ReasonSeams}, {Verdict: decision.Fault, Reason: decision.ReasonPolicy},
		{Verdict: decision.Fault, Reason: decision.ReasonPanic}, {Verdict: decision.Unjudged},
	}
	for i := range 120 {
		for _, r := range seen {
			r.Method, r.Target, r.Registered = "tools/call", fmt.Sprint("tool-", i), true
			m.record(t, r)
		}
	}
	counts := m.counts(t, otelflow.MetricTargets)
	if want := 101 * len(seen); len(counts) != want {
		t.Errorf("got %d series, want %d", len(counts), want)
	}
	for attributes := range counts {
		if strings.Contains(attributes, "overflow") {
			t.Errorf("the SDK's limit was reached: %s", attributes)
		}
	}
}

// Every reason that package decision knows is counted as itself: one that was added there
// has to be added here.
func TestEveryReason(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../decision/record.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
				continue
			}
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			m := newMeter(t, otelflow.Config{})
			m.record(t, decision.Record{Reason: decision.Reason(text)})
			want := "mode=enforce name=_other verdict=refused"
			if text != "" {
				want = "mode=enforce name=_other reason=" + text + " verdict=refused"
			}
			if got := m.counts(t, otelflow.MetricDecisions); got[want] != 1 {
				t.Errorf("%s: got %v", spec.Names[0].Name, got)
			}
		}
	}
	if found < 15 {
		t.Fatalf("found %d reasons in the source", found)
	}
}
