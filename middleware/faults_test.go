package middleware_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestRecordsOfATamperedGate: whatever was done to a gate, a request whose answer is the
// gate's doing has exactly one record, which says that the gate is at fault (M2, G6); and
// in mode report every request runs all the same (M1).
func TestRecordsOfATamperedGate(t *testing.T) {
	for _, mode := range []middleware.Mode{middleware.Enforce, middleware.DangerouslyReport} {
		for _, tp := range tamperings {
			t.Run(mode.String()+"/"+tp.name, func(t *testing.T) {
				r, book := newRecipient(), newRecordBook()
				cfg := book.config()
				cfg.Mode = mode
				g, err := middleware.New(r.server, cfg)
				if err != nil {
					t.Fatal(err)
				}
				tp.do(r)
				next := 0
				for _, l := range serve(t, g, r) {
					if l.name == "HTTP SSE" && strings.HasPrefix(tp.name, "hook") {
						continue // the hook that opens the stream may be gone
					}
					for _, e := range eras {
						for _, rt := range routes {
							if rt.only != "" && rt.only != e || rt.endless {
								continue
							}
							next++
							hit := tp.hits(rt) || strings.HasPrefix(tp.name, "propagator")
							tamperedRecord(t, book, l, e, rt, hit, mode, strconv.Itoa(next))
						}
					}
				}
			})
		}
	}
}

func tamperedRecord(t *testing.T, book *recordBook, l namedLine, e era, rt route, hit bool, mode middleware.Mode, id string) {
	t.Helper()
	req := rt.request.with(labelU)
	req.id = id
	a := l.line.exchange(t, e, req)
	l.line.took(t)
	got := a.reply(t)
	if mode == middleware.DangerouslyReport && got.Error != nil && errorCode(t, got.Error) == -32603 {
		t.Errorf("%s on %s in %s: %s", rt.name, l.name, e, a.messages)
	}
	rec := book.one(t)
	if rec.RequestID != id && rec.RequestID != "" {
		t.Fatalf("%s on %s in %s: record of %s, want %s", rt.name, l.name, e, rec.RequestID, id)
	}
	if rec.Mode != mode || hit && (rec.Verdict != decision.Fault || rec.Reason != decision.ReasonSeams) || !hit && rec.Verdict.Objects() && rt.runs != "texport" {
		t.Fatalf("%s on %s in %s, hit %v: %v", rt.name, l.name, e, hit, rec)
	}
}
