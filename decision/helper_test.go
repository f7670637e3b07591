package decision_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// full is a record with something in every field.
func full() decision.Record {
	return decision.Record{
		Time: time.Date(2026, 3, 1, 9, 30, 0, 123456789, time.FixedZone("", 3600)), Server: "https://records.example/mcp",
		Method: "tools/call", Target: "export_records", Registered: true,
		Verdict: decision.Refused, Mode: policydecl.DangerouslyReport, Reason: decision.ReasonContributor, Detail: `it is "so"`,
		Judged: true, Class: policydecl.ClassOK, FlowOrigin: "declared", More: 2,
		Rejected: []decision.Contributor{
			{Assurance: "unverified", Principal: "https://fetch.example/mcp"}, {Assurance: "tofu"}, {Assurance: "verified", Unusable: `"no\nuri"`},
			{Assurance: "host", Principal: "urn:mcp:host", Unusable: "(number)"},
		},
		AcceptFrom: []string{"self", "user"}, Policy: "sha256:abc", Settings: "sha256:def",
		RequestID: `"a\nb"`, Session: "s1", Protocol: "2025-11-25", Client: "desk", Took: 1500, Suppressed: math.MaxUint64, Lost: 3,
	}
}

// hostile are texts that a peer might send.
var hostile = []string{
	"", " ", "x", "a b", "\x00\x1b[2J\r\n", "\u202eevil\u2066\u061c", "\xff\xfe", `</script><img onerror="x">`, `\`, `\\`, `\n`, `"`, `a "b"`, `("`,
	`{"verdict":"accepted"}`, strings.Repeat("é", 200), strings.Repeat("\xff", 1000), strings.Repeat("x", decision.MaxShown),
	strings.Repeat("x", decision.MaxShown+1), strings.Repeat(`"`, decision.MaxShown), "javascript:alert(1)", "\U0001f600", "%s%n", "(", " (",
	"\x00\x01\x02\x03\x04\x05\x06\a\b\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\" \x7f",
}

// random makes a record of hostile parts.
func random(rng *rand.Rand) decision.Record {
	text := func() string { return hostile[rng.IntN(len(hostile))] + hostile[rng.IntN(len(hostile))] }
	number := func() uint64 { return rng.Uint64() >> rng.IntN(65) }
	r := decision.Record{
		Time: time.Unix(rng.Int64N(1<<38)-1<<37, rng.Int64N(1e9)).In(time.FixedZone("", rng.IntN(250000)-125000)), Server: text(),
		Method: text(), Target: text(), Registered: rng.IntN(2) == 0, Verdict: decision.Verdict(rng.IntN(7)), Mode: policydecl.Mode(rng.IntN(6)),
		Reason: decision.Reason(text()), Detail: text(), Judged: rng.IntN(2) == 0, Class: policydecl.Class(rng.IntN(6)), FlowOrigin: text(),
		More: int(number()), Policy: text(), Settings: text(), RequestID: text(), Session: text(), Protocol: text(), Client: text(),
		Took: time.Duration(number()), Suppressed: number(), Lost: number(),
	}
	for range rng.IntN(12) {
		r.Rejected = append(r.Rejected, decision.Contributor{
			Assurance: []string{"user", "host", "verified", "tofu", "unverified", "User", text()}[rng.IntN(7)], Principal: text(), Unusable: text(),
		})
	}
	if rng.IntN(3) > 0 {
		r.AcceptFrom = []string{}
	}
	for range rng.IntN(3) * rng.IntN(40) {
		r.AcceptFrom = append(r.AcceptFrom, text())
	}
	return r
}

// line is a record as a Writer writes it.
func line(t testing.TB, r decision.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := decision.NewWriter(&b).Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// logged is a record as a gate logs it with the JSON handler.
func logged(t testing.TB, r decision.Record) string {
	t.Helper()
	var b bytes.Buffer
	record := slog.NewRecord(r.Time, r.Level(), r.Message(), 0)
	record.AddAttrs(r.Attrs(nil)...)
	if err := slog.NewJSONHandler(&b, nil).Handle(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// same compares records; of a time only the instant counts.
func same(a, b decision.Record) bool {
	if !a.Time.Equal(b.Time) {
		return false
	}
	a.Time, b.Time = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// differ shows the first field that two records differ in.
func differ(got, want decision.Record) string {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); g.Type().Field(i).Name != "Time" && !reflect.DeepEqual(a, b) {
			return fmt.Sprintf("%s is %.2000q, want %.2000q", g.Type().Field(i).Name, a, b)
		}
	}
	return fmt.Sprintf("Time is %v, want %v", got.Time, want.Time)
}

// expected is what reading a record's line must give: the slow and obvious way to say what
// Attrs leaves out, cuts and escapes.
func expected(r decision.Record) decision.Record {
	if year := r.Time.UTC().Year(); year < 0 || year > 9999 {
		r.Time = time.Time{}
	}
	if r.Verdict > decision.Accepted {
		r.Verdict = decision.Refused
	}
	if r.Mode == policydecl.ModeUnset || r.Mode > policydecl.DangerouslyOff {
		r.Mode = policydecl.Enforce
	}
	if r.Class > policydecl.ClassOK || !r.Judged {
		r.Class = policydecl.ClassAbsent
	}
	for _, text := range []*string{
		&r.Server, &r.Method, &r.Target, (*string)(&r.Reason), &r.Detail, &r.FlowOrigin, &r.Policy, &r.Settings, &r.RequestID, &r.Session, &r.Protocol, &r.Client,
	} {
		*text = shown(*text)
	}
	r.Took = max(r.Took, 0)
	r.More = max(r.More, 0)
	var rejected []decision.Contributor
	for i, c := range r.Rejected {
		if i < decision.MaxRejected {
			rejected = append(rejected, expectedContributor(c))
		} else if r.More < math.MaxInt {
			r.More++
		}
	}
	r.Rejected = rejected
	if r.Verdict != decision.Refused {
		r.Rejected, r.More = nil, 0
	}
	if r.AcceptFrom != nil {
		list := []string{}
		for i, token := range r.AcceptFrom {
			if i == decision.MaxTokens {
				list = append(list, "...")
				break
			}
			list = append(list, shown(token))
		}
		r.AcceptFrom = list
	}
	if r.Policy == "" {
		r.AcceptFrom = nil
	}
	return r
}

func expectedContributor(c decision.Contributor) decision.Contributor {
	switch c.Assurance {
	case "user", "host", "verified", "tofu":
	default:
		c.Assurance = "unverified"
	}
	if p := c.Principal; shown(p) != p || strings.ContainsAny(p, ` "`) || strings.HasPrefix(p, "(") {
		c.Principal = strings.NewReplacer(" ", `\x20`, `"`, `\x22`, "(", `\x28`).Replace(decision.Text(p))
	}
	if u := c.Unusable; u != "" && (shown(u) != u || u[0] != '"' && u[0] != '(') {
		c.Unusable = expectedQuote(u)
	}
	return c
}

// expectedQuote quotes piece by piece, with the quotation marks between the pieces.
func expectedQuote(s string) string {
	end := `"`
	if len(s) > decision.MaxText {
		end = `..."`
		cut := decision.MaxText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	pieces := strings.Split(s, `"`)
	for i, piece := range pieces {
		pieces[i] = strings.Trim(strconv.QuoteToASCII(piece), `"`)
	}
	return `"` + strings.Join(pieces, `\"`) + end
}

func shown(s string) string {
	plain := len(s) <= decision.MaxShown
	for _, c := range []byte(s) {
		plain = plain && c >= 0x20 && c <= 0x7e
	}
	if plain {
		return s
	}
	return decision.Text(s)
}

// parse is decision.Parse for a string.
func parse(line string) (decision.Record, error) { return decision.Parse([]byte(line)) }
