package flowreport_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/flowreport"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A log at level Info holds objections alone, so that it cannot show that nothing would be
// stopped: what ran with the mode off is not in it.
func TestObjectionsAlone(t *testing.T) {
	enforced := with(refusal(1, tofu), func(r *decision.Record) { r.Mode = policydecl.Enforce })
	for name, tt := range map[string]struct {
		sources [][]decision.Record
		since   time.Time
		answer  flowreport.Answer
		above   uint64
	}{
		"info":       {[][]decision.Record{{enforced}}, time.Time{}, flowreport.Uncertain, 1},
		"debug":      {[][]decision.Record{{enforced, accepted(2)}}, time.Time{}, flowreport.Nothing, 0},
		"one each":   {[][]decision.Record{{enforced}, {accepted(2)}, {enforced}}, time.Time{}, flowreport.Uncertain, 2},
		"no record":  {[][]decision.Record{{}, {accepted(2)}}, time.Time{}, flowreport.Nothing, 0},
		"before":     {[][]decision.Record{{accepted(0), enforced}}, noon.Add(time.Minute), flowreport.Nothing, 0},
		"would stop": {[][]decision.Record{{refusal(1, tofu)}}, time.Time{}, flowreport.Breaks, 1},
	} {
		c := flowreport.NewCollector(tt.since, time.Time{})
		for _, source := range tt.sources {
			var log bytes.Buffer
			w := decision.NewWriter(&log)
			for _, r := range source {
				if err := w.Record(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Read(t.Context(), &log); err != nil {
				t.Fatal(err)
			}
		}
		r := c.Report()
		said := strings.Contains(strings.Join(r.Because(), "\n"), "a log at level Info holds objections alone")
		if r.Answer != tt.answer || r.Above != tt.above || said != (tt.above > 0) {
			t.Errorf("%s: %s, %d, %q", name, r.Answer, r.Above, r.Because())
		}
	}
}

// One name can be that of several targets: of two servers, or of a tool and a prompt.
func TestTargetsOfOneName(t *testing.T) {
	at := func(server, method, target string) decision.Record {
		return with(refusal(1, tofu), func(r *decision.Record) { r.Server, r.Method, r.Target = server, method, target })
	}
	r := report(
		at("a", "tools/call", "x"), at("b", "tools/call", "x"), at("a", "prompts/get", "x"), at("a", "completion/complete", "x"),
		at("a", "resources/read", "x://x"), at("a", "resources/subscribe", "x://x"), at("a", "subscriptions/listen", "x://x"), at("a", "completion/complete", "x://x"),
	)
	if want := "Enforcing today would stop 8 of 8 requests: 4 targets, 1 host."; r.Headline() != want {
		t.Errorf("%s", r.Headline())
	}
}

// Of what the gate did not count apart only verdict and mode are known.
func TestSampledKinds(t *testing.T) {
	sampled := func(v decision.Verdict, m policydecl.Mode, more uint64) decision.Record {
		return decision.Record{
			Time: noon, Server: "https://s.example/mcp", Settings: "s1", Verdict: v, Mode: m, Reason: decision.ReasonSampled, Suppressed: more,
		}
	}
	r := report(refusal(1, tofu), sampled(decision.Refused, policydecl.DangerouslyReport, 9), sampled(decision.Refused, policydecl.Enforce, 4),
		sampled(decision.Accepted, policydecl.Enforce, 99), sampled(decision.Unjudged, policydecl.DangerouslyOff, 1))
	if got := fmt.Sprint(r.Total.Requests, r.Sampled.Requests, r.Outcomes); got != "118 117 [11 5 100 0 2]" {
		t.Error(got)
	}
	if want := "Enforcing today would stop 11 of 118 requests: 1 target, 1 host, and what is not known."; r.Headline() != want {
		t.Errorf("%s", r.Headline())
	}
	if len(r.Hosts) != 1 || r.Hosts[0].Requests != 1 || len(r.Contributors) != 1 || len(r.Capped) != 0 || len(r.Notes()) != 1 {
		t.Errorf("%+v %+v %q", r.Hosts, r.Contributors, r.Capped)
	}
	var rows []string
	for _, row := range r.Rows {
		if row.Reason.Text == "sampled" {
			rows = append(rows, fmt.Sprint(row.Outcome, " ", row.Method, row.Target, row.Client, row.Registered, " ", row.Requests, " ", row.Class()))
		}
	}
	want := []string{
		"accepted (others) (others) (others) false 100 accepted", "would-stop (others) (others) (others) false 10 too many kinds to tell apart",
		"stopped (others) (others) (others) false 5 too many kinds to tell apart", "off (others) (others) (others) false 2 mode off",
	}
	if !slices.Equal(rows, want) || !strings.Contains(strings.Join(r.Notes(), "\n"), "117 requests are of kinds that the gate did not count apart") {
		t.Errorf("%q\n%q", rows, r.Notes())
	}
	var page bytes.Buffer
	if err := r.WritePage(&page); err != nil || !strings.Contains(page.String(), "too many kinds to tell apart") {
		t.Error(err)
	}
}
