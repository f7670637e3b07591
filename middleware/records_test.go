package middleware_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// wantedRecord is what the record of one request must say.
type wantedRecord struct {
	cell    string
	method  string
	target  string
	verdict decision.Verdict
	mode    middleware.Mode
	reason  decision.Reason
	class   policydecl.Class
	accept  string // acceptFrom, comma separated; "" for whatever
}

// targets are what the records of the routes say they are about: names, and patterns in
// place of URIs.
var targets = map[string]string{
	"tool": "search", "strict tool": "export", "optional task tool, at once": "hexport",
	"optional task tool, as a task": "hexport", "task tool": "texport",
	"static resource": "records://customers", "template": "notes://item/{id}", "query template": "notes://export{?data}",
	"catch-all": "file:///{+path}", "prefix": "file:///secret/", "subscribe": "records://customers",
	"prompt": "brief", "prompt completion": "brief", "template completion": "notes://item/{id}",
	"strict template completion": "notes://export{?data}", "resource completion": "records://customers",
}

// reasons are why labels are refused.
var reasons = map[string]decision.Reason{
	"none": decision.ReasonAbsent, "verified": decision.ReasonContributor, "unverified": decision.ReasonContributor,
	"incomplete": decision.ReasonIncomplete, "malformed": decision.ReasonMalformed,
}

var classes = map[string]policydecl.Class{
	"none": policydecl.ClassAbsent, "user": policydecl.ClassOK, "verified": policydecl.ClassOK, "unverified": policydecl.ClassOK,
	"incomplete": policydecl.ClassIncomplete, "malformed": policydecl.ClassMalformed,
}

// wanted is the record of a request that is not turned away otherwise.
func (rt route) wanted(lb labelRow, mode middleware.Mode) wantedRecord {
	w := wantedRecord{method: rt.request.method, target: targets[rt.name], mode: mode, class: classes[lb.name], accept: rt.policy}
	w.verdict = decision.Accepted
	if lb.refusalFor(rt.firstPolicy(lb)) != "" {
		w.verdict, w.reason, w.accept = decision.Refused, reasons[lb.name], rt.firstPolicy(lb)
	}
	if rt.endless {
		w.target = "notes://item/{id}"
		if w.verdict == decision.Refused && w.accept == bySelfUser {
			w.target = "records://customers"
		}
		if w.verdict == decision.Accepted {
			w.accept = byDefault
		}
	}
	if mode == middleware.DangerouslyOff {
		w.verdict, w.reason, w.class, w.accept = decision.Unjudged, "", 0, ""
		if rt.endless {
			w.target = "notes://item/{id}"
		}
	}
	return w
}

// check compares a record.
func (w wantedRecord) check(t *testing.T, all []decision.Record) {
	t.Helper()
	if len(all) != 1 {
		t.Errorf("%s: %d records: %v", w.cell, len(all), all)
		return
	}
	if w.method == "" {
		return
	}
	r := all[0]
	got := fmt.Sprintf("%s %q %v %v %q %v", r.Method, r.Target, r.Verdict, r.Mode, r.Reason, r.Class)
	want := fmt.Sprintf("%s %q %v %v %q %v", w.method, w.target, w.verdict, w.mode, w.reason, w.class)
	if got != want {
		t.Errorf("%s: %s\n  want %s", w.cell, got, want)
	}
	if w.accept != "" && strings.Join(r.AcceptFrom, ",") != strings.ReplaceAll(w.accept, `"`, "") {
		t.Errorf("%s: accepts from %q, want %s", w.cell, r.AcceptFrom, w.accept)
	}
	if r.Time.IsZero() || r.Server != ownURI || r.Settings == "" || r.Suppressed+r.Lost != 0 {
		t.Errorf("%s: %+v", w.cell, r)
	}
	if r.Verdict.Objects() && r.Verdict != decision.Invalid && r.Verdict != decision.Fault && (len(r.Rejected) == 0 || r.Policy == "") {
		t.Errorf("%s: whom does it refuse? %+v", w.cell, r)
	}
}

// TestOneRecordForEachRequest sends every kind of gated request by every route, in both
// eras and with every kind of label, in every mode, and finds one record of each (M2).
func TestOneRecordForEachRequest(t *testing.T) {
	for _, mode := range []middleware.Mode{middleware.Enforce, middleware.DangerouslyReport, middleware.DangerouslyOff} {
		t.Run(mode.String(), func(t *testing.T) {
			r, book := newRecipient(), newRecordBook()
			cfg := book.config()
			cfg.Mode = mode
			_, lines := everywhere(t, r, cfg)
			lines = append(lines, bareLines(t, r)...)
			want := make(map[string]wantedRecord)
			next := 9007199254740993 // beyond what a float64 holds
			for _, l := range lines {
				for _, e := range eras {
					for _, rt := range routes {
						for _, lb := range labels {
							if rt.endless && strings.HasPrefix(l.name, "bare") {
								continue
							}
							next++
							req := rt.request.with(lb.label)
							req.id = `"` + strconv.Itoa(next) + `"`
							l.line.exchange(t, e, req)
							w := rt.wanted(lb, mode)
							if rt.only != "" && rt.only != e && (w.verdict != decision.Refused || mode != middleware.Enforce) {
								w = wantedRecord{} // mcp-go does not know the method in that era
							}
							w.cell = l.name + "/" + string(e) + "/" + rt.name + "/" + lb.name
							want[req.id] = w
						}
					}
					r.ran.take()
				}
			}
			got := byID(book.take(t, len(want)))
			for _, id := range slices.Sorted(maps.Keys(want)) {
				want[id].check(t, got[id])
			}
		})
	}
}

// bareLines serves a gated server past its gate.
func bareLines(t testing.TB, r *recipient) []namedLine {
	t.Helper()
	return []namedLine{{"bare HTTP", listenHTTP(t, server.NewStreamableHTTPServer(r.server), r.ran)}}
}

// M2, L8: which of two names an ambiguous message meant nobody knows, so its record names
// neither.
func TestAmbiguousRecordNamesNoTarget(t *testing.T) {
	book := newRecordBook()
	f := bxNew(t, func(_ *bxFix, cfg *middleware.Config) { cfg.Sinks = book.config().Sinks })
	for name, send := range f.ways(t) {
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export","name":"search","arguments":{}}}`)
		if rec := book.one(t); rec.Reason != decision.ReasonAmbiguous || rec.Target != "" || rec.Registered {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// The log names overrides only where there are some.
func TestStartNamesNoOverrides(t *testing.T) {
	var log bytes.Buffer
	bxNew(t, func(_ *bxFix, cfg *middleware.Config) {
		cfg.Mode, cfg.Logger = middleware.DangerouslyReport, slog.New(slog.NewTextHandler(&log, nil))
	})
	if text := log.String(); !strings.Contains(text, "does not enforce everything") || strings.Contains(text, "overrides=") {
		t.Error(text)
	}
}
