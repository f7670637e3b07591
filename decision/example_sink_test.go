package decision_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A sink can be a function. This one counts what enforcing would stop, and for how many
// requests each record stands.
func ExampleSinkFunc() {
	wouldStop := map[decision.Reason]uint64{}
	var sink decision.Sink = decision.SinkFunc(func(_ context.Context, r decision.Record) error {
		if r.WouldStop() {
			wouldStop[r.Reason] += r.Requests()
		}
		return nil
	})
	for _, r := range []decision.Record{
		{Verdict: decision.Refused, Mode: policydecl.DangerouslyReport, Reason: decision.ReasonAbsent, Suppressed: 4},
		{Verdict: decision.Refused, Mode: policydecl.Enforce, Reason: decision.ReasonContributor},
		{Verdict: decision.Accepted, Mode: policydecl.DangerouslyReport},
	} {
		if err := sink.Record(context.Background(), r); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(wouldStop)
	// Output:
	// map[label-absent:5]
}

// The attributes of a record, in the order in which every line has them, are fit for any
// handler of log/slog.
func ExampleRecord_Attrs() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r := decision.Record{
		Method: "tools/call", Target: "export_records", Reason: decision.ReasonContributor, Judged: true, Class: policydecl.ClassOK,
		Rejected: []decision.Contributor{{Assurance: "unverified", Principal: "https://fetch.example/mcp"}},
	}
	log.LogAttrs(context.Background(), r.Level(), r.Message(), r.Attrs(nil)...)
	// Output:
	// level=INFO msg="request refused by flow policy" method=tools/call target=export_records verdict=refused mode=enforce reason=contributor label=ok rejected="[unverified https://fetch.example/mcp]"
}
