package decisiontest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// idPrefix is what the ids of all records but the zero one begin with.
const idPrefix = "decisiontest-"

// id is the JSON text of a request's id.
func id(n int) string { return `"` + idPrefix + strconv.Itoa(n) + `"` }

func zero() []decision.Record { return []decision.Record{{}} }

func empty() []decision.Record {
	list := []decision.Record{
		{Policy: "sha256:1"}, {Policy: "sha256:1", AcceptFrom: []string{}}, {Rejected: []decision.Contributor{}}, {AcceptFrom: []string{}},
		{Rejected: []decision.Contributor{{}}, AcceptFrom: []string{""}, Policy: "sha256:1"}, {More: 3},
	}
	return numbered(list)
}

func numbered(list []decision.Record) []decision.Record {
	for i := range list {
		list[i].RequestID = id(i)
	}
	return list
}

// whole has something in every field.
func whole() decision.Record {
	return decision.Record{
		Time: time.Date(2026, 3, 1, 9, 30, 0, 123456789, time.FixedZone("", 3600)), Server: "https://records.example/mcp",
		Method: "tools/call", Target: "export_records", Registered: true,
		Verdict: decision.Refused, Mode: policydecl.DangerouslyReport, Reason: decision.ReasonContributor, Detail: "what was wrong",
		Judged: true, Class: policydecl.ClassOK, FlowOrigin: "declared",
		Rejected: []decision.Contributor{
			{Assurance: "unverified", Principal: "https://z.example/mcp"}, {Assurance: "tofu"}, {Assurance: "verified", Unusable: `"a\nb"`},
			{Assurance: "host", Principal: "https://a.example/mcp"},
		},
		More: 2, AcceptFrom: []string{"user", "self", "com.example.tier:gold"}, Policy: "sha256:1", Settings: "sha256:2",
		Session: "sha256:3", Protocol: "2025-11-25", Client: "desk", Took: 1234, Suppressed: 5, Lost: 6,
	}
}

// full has every verdict, mode and class with every reason.
func full() []decision.Record {
	var list []decision.Record
	reasons := []decision.Reason{
		decision.ReasonNone, decision.ReasonContributor, decision.ReasonIncomplete, decision.ReasonMalformed, decision.ReasonAbsent, decision.ReasonMatcher,
		decision.ReasonAmbiguous, decision.ReasonID, decision.ReasonMeta, decision.ReasonURI, decision.ReasonTooMany, decision.ReasonCancelled,
		decision.ReasonSeams, decision.ReasonPolicy, decision.ReasonPanic, "a-reason-of-tomorrow",
	}
	for v := decision.Refused; v <= decision.Accepted; v++ {
		for m := policydecl.ModeUnset; m <= policydecl.DangerouslyOff; m++ {
			r := whole()
			r.Verdict, r.Mode, r.Reason, r.Class = v, m, reasons[len(list)%len(reasons)], policydecl.Class(len(list)%4)
			list = append(list, r)
		}
	}
	return numbered(list)
}

func extreme() []decision.Record {
	var list []decision.Record
	for _, when := range []time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 999_999_999), time.Unix(-1<<40, 0), time.Now(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", -12345))} {
		r := whole()
		r.Time, r.Suppressed, r.Lost, r.More, r.Took = when, math.MaxUint64, math.MaxUint64, math.MaxInt, math.MaxInt64
		list = append(list, r)
		r.More, r.Took, r.Verdict, r.Mode, r.Class = -1, -1, math.MaxUint8, math.MaxUint8, math.MaxUint8
		list = append(list, r)
	}
	r := whole()
	for range 10_000 {
		r.AcceptFrom = append(r.AcceptFrom, "https://a.example/"+strings.Repeat("x", 100))
		r.Rejected = append(r.Rejected, decision.Contributor{Assurance: "tofu"})
	}
	return numbered(append(list, r))
}

// texts are what a peer sends to whoever is careless with quotation, markup, formats or
// queries, and to a terminal.
var texts = []string{
	`"`, `\`, `\"`, `'`, "`", `","target":"x`, `"}`, `]}`, "{{.}}", "${HOME}", "$(id)", "%s%n%d", "a,b;c\td", "=1+1", "'; DROP TABLE records; --",
	`</script><img src=x onerror=alert(1)>`, "<!--", "&lt;", "javascript:alert(1)", "../../etc/passwd", "a\nb", "\r\n\r\n", "\x00", "\x1b[2J\x1b]0;x\a", "\u202eevil\u2066",
	"\u2028\u2029\u0085", "\xff\xfe\xc0\x80", "\xed\xa0\x80", "\U0001f600", "e\u0301", " ", "null", "true", "1e999", strings.Repeat("x", decision.MaxText), strings.Repeat("\u202e", decision.MaxText),
}

// hostile are texts as a gate hands them over.
func hostile() []decision.Record { return with(decision.Text) }

// raw are the same as a peer sends them, and one that is long.
func raw() []decision.Record {
	list := with(func(s string) string { return s })
	r := whole()
	r.Target, r.Client = strings.Repeat("\x1b", 1<<20), strings.Repeat("\xff", 1<<20)
	return numbered(append(list, r))
}

// with makes a record for each text that has it in all fields.
func with(escape func(string) string) []decision.Record {
	var list []decision.Record
	for _, text := range texts {
		s := escape(text)
		r := whole()
		for _, field := range []*string{&r.Server, &r.Method, &r.Target, &r.Detail, &r.FlowOrigin, &r.Policy, &r.Settings, &r.Session, &r.Protocol, &r.Client} {
			*field = s
		}
		r.Reason, r.AcceptFrom = decision.Reason(s), []string{s, s}
		r.Rejected = []decision.Contributor{{Assurance: s, Principal: s, Unusable: s}}
		list = append(list, r)
	}
	return numbered(list)
}

func alike() []decision.Record {
	return numbered([]decision.Record{whole(), whole(), whole(), whole()})
}

func many() []decision.Record {
	list := make([]decision.Record, 1000)
	for i := range list {
		list[i] = whole()
		list[i].Target = "concurrent"
	}
	return numbered(list)
}
