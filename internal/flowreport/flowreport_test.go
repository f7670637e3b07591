package flowreport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/flowreport"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// refusal is a record of a request that ran although its policy refuses it.
func refusal(minute int, who ...decision.Contributor) decision.Record {
	return decision.Record{
		Time: noon.Add(time.Duration(minute) * time.Minute), Server: "https://s.example/mcp", Method: "tools/call", Target: "export", Registered: true,
		Mode: policydecl.DangerouslyReport, Reason: decision.ReasonContributor, Judged: true, Class: policydecl.ClassOK, FlowOrigin: "declared",
		Rejected: who, AcceptFrom: []string{"user"}, Policy: "p1", Settings: "s1", Client: "desk",
	}
}

var (
	stranger = decision.Contributor{Assurance: "unverified", Principal: "https://fetch.example/mcp"}
	tofu     = decision.Contributor{Assurance: "tofu", Principal: "https://notes.example/mcp"}
)

// report counts records.
func report(records ...decision.Record) *flowreport.Report {
	c := flowreport.NewCollector(time.Time{}, time.Time{})
	for i := range records {
		c.Add(&records[i])
	}
	return c.Report()
}

func with(r decision.Record, change func(*decision.Record)) decision.Record {
	change(&r)
	return r
}

func accepted(minute int) decision.Record {
	return with(refusal(minute), func(r *decision.Record) { r.Verdict, r.Reason = decision.Accepted, decision.ReasonNone })
}

func TestAnswers(t *testing.T) {
	off := func(r *decision.Record) { r.Verdict, r.Mode = decision.Unjudged, policydecl.DangerouslyOff }
	for name, tt := range map[string]struct {
		records  []decision.Record
		answer   flowreport.Answer
		headline string
		because  string
	}{
		"nothing":    {[]decision.Record{accepted(1), accepted(2)}, flowreport.Nothing, "Enforcing today would stop nothing of 2 requests.", ""},
		"one":        {[]decision.Record{accepted(1), refusal(2, stranger)}, flowreport.Breaks, "Enforcing today would stop 1 of 2 requests: 1 target, 1 host.", ""},
		"sampled":    {[]decision.Record{with(refusal(1, tofu), func(r *decision.Record) { r.Suppressed = 1999 })}, flowreport.Breaks, "would stop 2,000 of 2,000 requests", ""},
		"enforced":   {[]decision.Record{with(refusal(1, tofu), func(r *decision.Record) { r.Mode = policydecl.Enforce })}, flowreport.Nothing, "would stop nothing of 1 request.", ""},
		"off":        {[]decision.Record{accepted(1), with(accepted(2), off)}, flowreport.Uncertain, "would stop nothing of 2 requests.", "1 request ran with the mode off"},
		"many off":   {[]decision.Record{with(accepted(1), off), with(accepted(2), off)}, flowreport.Uncertain, "nothing of 2 requests", "2 requests ran with the mode off"},
		"lost":       {[]decision.Record{with(accepted(1), func(r *decision.Record) { r.Lost = 5 })}, flowreport.Uncertain, "would stop nothing of 1 request.", "5 requests have no record"},
		"fault":      {[]decision.Record{with(accepted(1), func(r *decision.Record) { r.Verdict, r.Mode, r.Reason = decision.Fault, 0, decision.ReasonPanic })}, flowreport.Uncertain, "nothing of 1 request.", "1 request met a gate or a server that is not in order"},
		"saturated":  {[]decision.Record{with(refusal(1), func(r *decision.Record) { r.Suppressed, r.Lost = math.MaxUint64, math.MaxUint64 }), refusal(2)}, flowreport.Breaks, "18,446,744,073,709,551,615 of 18,446,744,073,709,551,615 requests", "18,446,744,073,709,551,615 requests have no record"},
		"turned off": {[]decision.Record{with(accepted(1), func(r *decision.Record) { r.Verdict = decision.Unjudged })}, flowreport.Nothing, "nothing of 1 request.", ""},
	} {
		r := report(tt.records...)
		if r.Answer != tt.answer || !strings.Contains(r.Headline(), tt.headline) || !strings.Contains(strings.Join(r.Because(), "\n"), tt.because) || tt.because == "" && len(r.Because()) > 0 {
			t.Errorf("%s: %s, %s %q", name, r.Answer, r.Headline(), r.Because())
		}
	}
}

func TestRowsAndContributors(t *testing.T) {
	both := refusal(3, tofu, stranger, stranger)
	absent := with(refusal(0, decision.Contributor{Assurance: "unverified"}), func(r *decision.Record) {
		r.Reason, r.Class, r.Client = decision.ReasonAbsent, policydecl.ClassAbsent, ""
	})
	r := report(refusal(5, stranger), both, with(refusal(9, tofu), func(r *decision.Record) { r.Mode, r.Suppressed = policydecl.Enforce, 4 }), absent)
	var got []string
	for _, row := range r.Rows {
		got = append(got, fmt.Sprint(row.Outcome, " ", row.Client, " ", row.Class(), " ", row.Requests, row.Records, row.Suppressed, " ", row.First.Format("15:04"), " ", row.Last.Format("15:04")))
	}
	want := []string{
		"stopped desk tofu https://notes.example/mcp 5 1 4 12:09 12:09", "would-stop desk unverified https://fetch.example/mcp 2 2 0 12:03 12:05",
		"would-stop  no label 1 1 0 12:00 12:00",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got = nil
	for _, c := range r.Contributors {
		got = append(got, fmt.Sprint(c.Who, " ", c.WouldStop, c.Stopped, c.Alone))
	}
	want = []string{"unverified https://fetch.example/mcp 2 0 1", "tofu https://notes.example/mcp 1 5 5", "unverified 1 0 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestHostsFaultsAndDigests(t *testing.T) {
	class := func(c policydecl.Class, origin string) decision.Record {
		return with(accepted(1), func(r *decision.Record) { r.Class, r.FlowOrigin = c, origin })
	}
	r := report(class(policydecl.ClassOK, "declared"), class(policydecl.ClassIncomplete, "undeclared"), class(policydecl.ClassMalformed, "unknown"),
		with(class(policydecl.ClassAbsent, "??"), func(r *decision.Record) { r.Suppressed = 6 }), with(accepted(1), func(r *decision.Record) { r.Judged = false }))
	h := r.Hosts[0]
	if got := fmt.Sprint(h.Name, h.Requests, h.Labelled, h.Incomplete, h.Malformed, h.Absent, h.NotRead, h.Declared, h.Undeclared, h.Unknown, h.Outcomes); len(r.Hosts) != 1 || got != "desk 11 1 1 1 7 1 2 1 8 [0 0 11 0 0]" {
		t.Error(got)
	}
	fault := func(minute int, detail string) decision.Record {
		return with(accepted(minute), func(r *decision.Record) { r.Verdict, r.Reason, r.Detail = decision.Fault, decision.ReasonSeams, detail })
	}
	settings := func(minute int, digest string) decision.Record {
		return with(accepted(minute), func(r *decision.Record) { r.Settings, r.AcceptFrom = digest, nil })
	}
	r = report(fault(2, "later"), fault(1, "earlier"), settings(0, "a"), settings(10, "a"), settings(5, "b"), settings(11, "b"), settings(12, "c"), with(settings(5, "c"), func(r *decision.Record) { r.Server = "other" }))
	if f := r.Faults; len(f) != 1 || f[0].Detail != "later" || f[0].Requests != 2 || r.FaultCount != 2 {
		t.Errorf("%+v", f)
	}
	var overlap []string
	for _, d := range r.Settings {
		overlap = append(overlap, fmt.Sprint(d.Server, " ", d.Digest, " ", d.Overlaps))
	}
	if want := []string{"https://s.example/mcp a true", "https://s.example/mcp b true", "https://s.example/mcp s1 true", "https://s.example/mcp c false", "other c false"}; !slices.Equal(overlap, want) || !r.Overlap() || r.Servers() != 2 {
		t.Errorf("%q", overlap)
	}
	if p := r.Policies; len(p) != 2 || !slices.Equal(p[0].AcceptFrom, []string{"user"}) {
		t.Errorf("%+v", p)
	}
}

// The order of records changes nothing but which names a limit leaves out.
func TestOrderDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var records []decision.Record
	for i := range 500 {
		r := []decision.Record{refusal(i, stranger), refusal(i, tofu, stranger), accepted(i)}[rng.IntN(3)]
		r.Client, r.Target, r.Mode, r.Suppressed = fmt.Sprint("c", rng.IntN(9)), fmt.Sprint("t", rng.IntN(30)), policydecl.Mode(rng.IntN(4)), rng.Uint64N(3)
		records = append(records, r)
	}
	want := report(records...)
	rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	got := report(records...)
	if !reflect.DeepEqual(got, want) {
		t.Error("differs")
	}
	total := uint64(0)
	for _, row := range got.Rows {
		total += row.Requests
	}
	if total != got.Total.Requests || got.Total.Requests != got.Outcomes[0]+got.Outcomes[1]+got.Outcomes[2]+got.Outcomes[3]+got.Outcomes[4] {
		t.Error("the rows do not add up")
	}
	var a, b bytes.Buffer
	if err := errors.Join(got.WritePage(&a), want.WritePage(&b)); err != nil || a.String() != b.String() {
		t.Errorf("the pages differ, %v", err)
	}
}

// Memory is bounded, and totals are exact, whatever peers call themselves.
func TestManyNames(t *testing.T) {
	c := flowreport.NewCollector(time.Time{}, time.Time{})
	const n = 60_000
	for i := range n {
		name := fmt.Sprint(i)
		c.Add(&decision.Record{
			Server: name, Method: name, Target: name, Client: name, Settings: name, Policy: name, Registered: i%2 == 0, Reason: []decision.Reason{decision.ReasonContributor, decision.Reason(name)}[i%2],
			Rejected: []decision.Contributor{{Assurance: "tofu", Principal: name}}, Mode: policydecl.DangerouslyReport, Verdict: []decision.Verdict{decision.Refused, decision.Fault}[i%2],
		})
		c.Add(&decision.Record{Client: fmt.Sprint(i % 199), Target: fmt.Sprint(i % 997), Registered: true, Reason: decision.Reason(fmt.Sprint(i % 7))})
	}
	r := c.Report()
	if got := len(r.Rows) + len(r.Hosts) + len(r.Contributors) + len(r.Faults) + len(r.Settings) + len(r.Policies); got > 50_000 || got < 20_000 {
		t.Errorf("%d rows of all kinds", got)
	}
	total := uint64(0)
	for _, row := range r.Rows {
		total += row.Requests
	}
	if total != 2*n || r.Total.Requests != 2*n || r.Outcomes[flowreport.WouldStop] != n {
		t.Errorf("%d requests in the rows, %+v", total, r.Total)
	}
	if want := []string{"servers", "methods", "targets", "targets that no server knows", "hosts", "principals", "reasons", "digests", "combinations of these"}; !slices.Equal(r.Capped, want) {
		t.Errorf("%q", r.Capped)
	}
	if last := r.Hosts[0]; !last.Name.Others || !strings.Contains(strings.Join(r.Notes(), "\n"), "too many hosts to tell all apart") {
		t.Errorf("%+v, %q", last, r.Notes())
	}
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil || b.Len() > 1<<20 || !strings.Contains(b.String(), "more</p>") || !strings.Contains(b.String(), "(others)") {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

func TestRead(t *testing.T) {
	var log bytes.Buffer
	w := decision.NewWriter(&log)
	for i := range 5 {
		if err := w.Record(t.Context(), refusal(i, tofu)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Record(t.Context(), decision.Record{Mode: policydecl.DangerouslyReport}); err != nil {
		t.Fatal(err)
	}
	text := "hello\n" + log.String() + "{\"half\n{\"unfinished"
	c := flowreport.NewCollector(noon.Add(time.Minute), noon.Add(3*time.Minute))
	if err := c.Read(t.Context(), iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	r := c.Report()
	if want := (flowreport.Lines{Records: 2, Outside: 3, Undated: 1, Others: 1, Malformed: 1, Unfinished: 1}); r.Lines != want {
		t.Errorf("%+v", r.Lines)
	}
	for _, want := range []string{"1 line is no decision record", "3 records are of another time", "1 record has no time", "1 last line has no end yet"} {
		if !strings.Contains(strings.Join(r.Notes(), "\n"), want) {
			t.Errorf("no %q in %q", want, r.Notes())
		}
	}
	c = flowreport.NewCollector(time.Time{}, time.Time{})
	if err := c.Read(t.Context(), iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text)))); !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Read(ctx, io.MultiReader()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestShare(t *testing.T) {
	for want, of := range map[string][2]uint64{"-": {0, 5}, "1%": {1, 100000}, "99%": {99999, 100000}, "100%": {5, 5}, "50%": {1, 2}} {
		if got := flowreport.Share(of[0], of[1]); got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
	for want, n := range map[string]uint64{"0": 0, "999": 999, "1,000": 1000, "1,234,567": 1234567} {
		if got := flowreport.Grouped(n); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
