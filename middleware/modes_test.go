package middleware_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestReportAndOffChangeNothing sends every kind of request with every kind of label, and
// messages that a gate which enforces would not even read, to a server whose gate only
// reports or is off, and to one that has none: the answers are the same, byte for byte (M1,
// G5).
func TestReportAndOffChangeNothing(t *testing.T) {
	for _, mode := range []middleware.Mode{middleware.DangerouslyReport, middleware.DangerouslyOff} {
		t.Run(mode.String(), func(t *testing.T) {
			r, book := newRecipient(), newRecordBook()
			cfg := book.config()
			cfg.Mode = mode
			_, lines := everywhere(t, r, cfg)
			control := ungatedLines(t)
			for i, l := range lines {
				for _, e := range eras {
					for _, rt := range routes {
						if slices.Contains(rt.effects, "task:created") || rt.endless {
							continue // a random id, the time; an acknowledgement that may be dropped
						}
						for _, lb := range labels {
							sameAsControl(t, mode, l, control[i], e, rt.request.with(lb.label))
						}
					}
					for _, name := range slices.Sorted(maps.Keys(ungatedRequests)) {
						sameAsControl(t, mode, l, control[i], e, ungatedRequests[name].with(labelX))
					}
					for _, req := range doubtful() {
						sameAsControl(t, mode, l, control[i], e, req)
					}
				}
			}
		})
	}
}

// doubtful are requests with two readings, and others that the door objects to (L8).
func doubtful() []request {
	return []request{
		{method: "tools/call", params: `"name":"search","Name":"export","arguments":{}`, name: "export"},
		{method: "tools/call", params: `"name":"search","name":"export","arguments":{}`, name: "export"},
		{method: "tools/call", params: `"name":"export","arguments":{}`, label: labelU, meta: `"` + keyFlowOrigin + `":` + labelX, name: "export"},
		{method: "resources/read", params: `"uri":"notes://item/1","URI":"records://customers"`, name: "records://customers"},
		{method: "resources/read", params: `"uri":"notes://item/` + strings.Repeat("a", 9<<10) + `"`, name: "x"},
		{method: "ping", params: `"A":1,"a":2`},
	}
}

func sameAsControl(t *testing.T, mode middleware.Mode, l, control namedLine, e era, req request) {
	t.Helper()
	req.id = `"an id"`
	got, want := l.line.exchange(t, e, req), control.line.exchange(t, e, req)
	if mode == middleware.DangerouslyOff {
		sameWire(t, got, want)
	} else {
		sameAnswer(t, got, want)
	}
	if a, b := l.line.took(t), control.line.took(t); !maps.Equal(a, b) {
		t.Errorf("%s %s: did %v, the control %v", l.name, req.method, a, b)
	}
	if t.Failed() {
		t.Fatalf("on %s in %s: %.300s", l.name, e, req.body(e))
	}
}

// TestReportRecordsDoubtfulMessages: what the door would have turned away runs in mode
// report and has one record, which says so (M1, M2).
func TestReportRecordsDoubtfulMessages(t *testing.T) {
	want := []decision.Reason{
		decision.ReasonAmbiguous, decision.ReasonAmbiguous, decision.ReasonAmbiguous, decision.ReasonAmbiguous, decision.ReasonURI,
	}
	r, book := newRecipient(), newRecordBook()
	cfg := book.config()
	cfg.Mode = middleware.DangerouslyReport
	_, lines := everywhere(t, r, cfg)
	for _, l := range lines {
		if l.name == "in process" {
			continue // its client writes no such messages
		}
		for i, reason := range want {
			l.line.exchange(t, legacy, doubtful()[i])
			rec := book.one(t)
			if rec.Verdict != decision.Invalid || rec.Reason != reason || !rec.WouldStop() {
				t.Errorf("%s, %d: %v", l.name, i, rec)
			}
		}
	}
	if n := len(r.ran.take()); n == 0 {
		t.Error("nothing has run")
	}
}
