package decision_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A log of records and other lines is read one record at a time.
func ExampleReader() {
	var log bytes.Buffer
	fmt.Fprintln(&log, "listening on 127.0.0.1:8080")
	sink := decision.NewWriter(&log)
	err := sink.Record(context.Background(), decision.Record{
		Method: "tools/call", Target: "export_records", Registered: true, Mode: policydecl.DangerouslyReport, Reason: decision.ReasonContributor,
		Rejected: []decision.Contributor{{Assurance: "unverified", Principal: "https://fetch.example/mcp"}}, Suppressed: 9,
	})
	if err != nil {
		fmt.Println(err)
	}

	lines := decision.NewReader(&log)
	for {
		r, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.Is(err, decision.ErrNotDecision):
			fmt.Printf("line %d is something else\n", lines.Line())
		case errors.Is(err, decision.ErrMalformed):
			fmt.Printf("line %d is damaged\n", lines.Line())
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Printf("line %d: %s, %d requests, because of %v\n", lines.Line(), r.Target, r.Requests(), r.Rejected)
		}
	}
	// Output:
	// line 1 is something else
	// line 2: export_records, 10 requests, because of [unverified https://fetch.example/mcp]
}
