package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// sampleFile holds the records of [sample].
const sampleFile = "testdata/records.jsonl"

// sampleNow is some time after the sample.
var sampleNow = time.Date(2026, 3, 9, 8, 0, 0, 0, time.UTC)

// sampleHost is a host of the sample: how often it asks, in which protocol, and whether its
// labels arrive.
type sampleHost struct {
	name, protocol, origin string
	weight                 int
	labels                 float64
}

// sampleTool is a tool of the sample with its policy.
type sampleTool struct {
	name, policy string
	acceptFrom   []string
	mode         policydecl.Mode
	weight       int
}

// sample is a week of a server that has begun to report: three hosts, of which one does not
// label, and five tools, of which one is enforced already.
func sample() []decision.Record {
	rng := rand.New(rand.NewPCG(7, 7))
	hosts := []sampleHost{{"desk-assistant", "2025-11-25", "declared", 6, 0.99}, {"code-editor", "2026-07-28", "declared", 3, 0.97}, {"legacy-bridge", "2025-11-25", "unknown", 1, 0}}
	usual := []string{"self", "user", "host", "verified"}
	tools := []sampleTool{
		{"search_records", "sha256:3f1c", usual, policydecl.DangerouslyReport, 10}, {"export_records", "sha256:77ab", []string{"self", "user"}, policydecl.DangerouslyReport, 4},
		{"report_records", "sha256:3f1c", usual, policydecl.DangerouslyReport, 3}, {"delete_record", "sha256:90de", []string{"user"}, policydecl.Enforce, 2},
		{"debug_dump", "sha256:0b44", []string{"host"}, policydecl.DangerouslyReport, 1},
	}
	at := time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC)
	var list []decision.Record
	for i := range 300 {
		at = at.Add(time.Duration(10+rng.IntN(44)) * time.Minute)
		host := pick(rng, hosts, func(h sampleHost) int { return h.weight })
		tool := pick(rng, tools, func(t sampleTool) int { return t.weight })
		r := decision.Record{
			Time: at, Server: "https://records.example/mcp", Method: "tools/call", Target: tool.name, Registered: true,
			Verdict: decision.Accepted, Mode: tool.mode, Judged: true, Class: policydecl.ClassOK, FlowOrigin: host.origin,
			AcceptFrom: tool.acceptFrom, Policy: tool.policy, Settings: "sha256:a1a1",
			RequestID: fmt.Sprint(i + 1), Session: fmt.Sprintf("sha256:%04x", rng.IntN(1<<16)), Protocol: host.protocol, Client: host.name, Took: time.Duration(20+rng.IntN(80)) * time.Microsecond,
		}
		if i > 175 && (i < 190 && i%2 == 0 || i >= 190) { // a change that reaches one replica after the other
			r.Settings = "sha256:b2b2"
		}
		sampleLabel(rng, host, &r)
		sampleOdd(i, &r)
		list = append(list, r)
	}
	return list
}

func pick[T any](rng *rand.Rand, list []T, weight func(T) int) T {
	sum := 0
	for _, x := range list {
		sum += weight(x)
	}
	n := rng.IntN(sum)
	for _, x := range list {
		if n -= weight(x); n < 0 {
			return x
		}
	}
	panic("unreachable")
}

// sampleLabel makes up who contributed, and judges.
func sampleLabel(rng *rand.Rand, host sampleHost, r *decision.Record) {
	if rng.Float64() >= host.labels {
		r.Class, r.Reason = policydecl.ClassAbsent, decision.ReasonAbsent
		r.Verdict, r.Rejected = decision.Refused, []decision.Contributor{{Assurance: "unverified"}}
		if rng.IntN(3) == 0 {
			r.Suppressed = uint64(1 + rng.IntN(40))
		}
		return
	}
	contributors := []decision.Contributor{{Assurance: "user", Principal: "urn:mcp:user"}}
	for _, more := range []struct {
		decision.Contributor
		chance float64
	}{
		{decision.Contributor{Assurance: "host", Principal: "urn:mcp:host"}, 0.1}, {decision.Contributor{Assurance: "verified", Principal: "https://calendar.example/mcp"}, 0.2},
		{decision.Contributor{Assurance: "unverified", Principal: "https://fetch.example/mcp"}, 0.12}, {decision.Contributor{Assurance: "tofu", Principal: "https://notes.example/mcp"}, 0.05},
	} {
		if rng.Float64() < more.chance {
			contributors = append(contributors, more.Contributor)
		}
	}
	for _, c := range contributors {
		if !slices.Contains(r.AcceptFrom, c.Assurance) {
			r.Rejected = append(r.Rejected, c)
		}
	}
	if len(r.Rejected) > 0 {
		r.Verdict, r.Reason = decision.Refused, decision.ReasonContributor
	}
}

// sampleOdd makes some records be about something rare.
func sampleOdd(i int, r *decision.Record) {
	switch i {
	case 47, 48:
		r.Verdict, r.Reason, r.Rejected, r.Detail = decision.Fault, decision.ReasonSeams, nil, "a hook was replaced after the gate was built"
	case 111:
		r.Verdict, r.Reason, r.Rejected, r.Judged, r.Class = decision.Invalid, decision.ReasonAmbiguous, nil, false, policydecl.ClassAbsent
	case 202:
		r.Lost = 3
	case 233:
		r.Verdict, r.Reason, r.Rejected, r.Judged, r.Class = decision.Unjudged, "", nil, false, policydecl.ClassAbsent
		r.Target, r.Registered, r.AcceptFrom, r.Policy = "drop_tables", false, nil, ""
	}
}

// sampleLog is the sample as a log, which has other lines too.
func sampleLog(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := decision.NewWriter(&b)
	for i, r := range sample() {
		if i == 0 {
			b.WriteString("listening on http://127.0.0.1:8080/mcp\n")
		}
		if err := w.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// The file of the repository is what the sample says.
func TestReportSampleFile(t *testing.T) {
	want := sampleLog(t)
	if *update {
		if err := os.WriteFile(sampleFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/records.jsonl differs; -update writes it anew")
	}
}
