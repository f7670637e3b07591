package decision_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
)

// What was written is read back as it was.
func TestParseFull(t *testing.T) {
	want := full()
	text := line(t, want)
	got, err := parse(text)
	if err != nil || !same(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
	if _, offset := got.Time.Zone(); offset != 3600 || line(t, got) != text {
		t.Errorf("%v\n%s", got.Time, text)
	}
	for _, r := range []decision.Record{{}, {Policy: "d", AcceptFrom: []string{}}, {Policy: "d"}, {Verdict: decision.Accepted, Took: time.Hour}} {
		if got, err := parse(line(t, r)); err != nil || !same(got, expected(r)) {
			t.Errorf("%v\n%+v\n%+v", err, got, r)
		}
	}
}

// Parse(line(r)) is r, up to what Attrs leaves out, cuts and escapes; and the second time
// nothing changes any more.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		checkRoundTrip(t, random(rand.New(rand.NewPCG(seed, 1))))
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for i, s := range hostile {
		f.Add(uint64(i), s, hostile[(i+7)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, seed uint64, a, b string) {
		r := random(rand.New(rand.NewPCG(seed, 2)))
		r.Target, r.Client, r.AcceptFrom = a, b, append(r.AcceptFrom, a)
		r.Rejected = append([]decision.Contributor{{Assurance: b, Principal: a, Unusable: b}, {Principal: b, Unusable: a}}, r.Rejected...)
		checkRoundTrip(t, r)
	})
}

func checkRoundTrip(t *testing.T, r decision.Record) {
	t.Helper()
	text := line(t, r)
	if len(text) >= decision.MaxLine || strings.Count(text, "\n") != 1 || !harmless(text[:len(text)-1]) {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	got, err := parse(text)
	if want := expected(r); err != nil || !same(got, want) {
		t.Errorf("%v: %s", err, differ(got, want))
	}
	if again := line(t, got); again != text {
		t.Errorf("%.3000q\n%.3000q", text, again)
	}
}

func harmless(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

const small = `"method":"m","target":"t","verdict":"accepted","mode":"enforce","reason":"","label":"ok"`

// Every line is a record, none, or one that is damaged.
func TestParseLines(t *testing.T) {
	for text, want := range map[string]error{
		"{" + small + "}":                              nil,
		" {" + small + "} \r\n":                        nil,
		`{"more":[{"a":1}],"Verdict":7,` + small + "}": nil,
		`{"time":"2026-03-01T00:00:00Z","level":7,"msg":[],` + small + "}": nil,

		"": decision.ErrNotDecision, "\n": decision.ErrNotDecision, "listening": decision.ErrNotDecision, "null": decision.ErrNotDecision, "[]": decision.ErrNotDecision,
		"{}": decision.ErrNotDecision, `{"verdict":"accepted"}`: decision.ErrNotDecision, `{"a":1,"a":2}`: decision.ErrNotDecision,
		`{"a":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "}": decision.ErrNotDecision, "{\"a\":\"\xff\"}": decision.ErrNotDecision,
		"{" + strings.Replace(small, "label", "Label", 1) + "}": decision.ErrNotDecision,

		"{" + small: decision.ErrMalformed, "{" + small + ",}": decision.ErrMalformed, "{" + small + "}{}": decision.ErrMalformed, "{\x00": decision.ErrMalformed,
		"{" + small + `,"target":"t"}`: decision.ErrMalformed, "{" + small + `,"x":1,"x":1}`: decision.ErrMalformed,
		`{"x":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "," + small + "}": decision.ErrMalformed,
		`{"x":` + strings.Repeat("[", 99999) + "," + small + "}":                        decision.ErrMalformed,
		"{\"x\":\"\xff\"," + small + "}":                                                decision.ErrMalformed,
		`{"x":"` + strings.Repeat("x", decision.MaxLine) + `",` + small + "}":           decision.ErrMalformed,
	} {
		if _, err := parse(text); !errors.Is(err, want) || errors.Is(err, decision.ErrNotDecision) != (want == decision.ErrNotDecision) {
			t.Errorf("%.100q: %v, want %v", text, err, want)
		}
	}
}

// What a Writer does not write is not read.
func TestParseValues(t *testing.T) {
	tail := `,"client":"c","id":"1","took":1,"suppressed":1,"lost":1,"registered":true,"policy":"p","acceptFrom":[],"time":"2026-03-01T00:00:00Z"`
	good := "{" + strings.Replace(small, "accepted", "refused", 1) + `,"rejected":["user"],"rejectedMore":1` + tail + "}"
	if _, err := parse(good); err != nil {
		t.Fatal(err)
	}
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(`"`+s+`",`, n), ",") }
	for _, tt := range [][2]string{
		{`"t"`, `7`}, {`"t"`, `"\u001b"`}, {`"t"`, `"\u202e"`}, {`"t"`, `"é"`}, {`"t"`, `"` + strings.Repeat("x", decision.MaxShown+1) + `"`}, {`"t"`, `null`},
		{`"refused"`, `"Refused"`}, {`"refused"`, `"guilty"`}, {`"refused"`, `"accepted"`}, {`"enforce"`, `""`}, {`"enforce"`, `"audit"`}, {`"ok"`, `"OK"`}, {`"ok"`, `7`},
		{`"client":"c"`, `"client":""`}, {`"client":"c"`, `"client":["c"]`}, {`"took":1`, `"took":-1`}, {`"took":1`, `"took":0`}, {`"took":1`, `"took":1.5`},
		{`"took":1`, `"took":9223372036854775808`}, {`"suppressed":1`, `"suppressed":18446744073709551616`}, {`"lost":1`, `"lost":1e3`}, {`"lost":1`, `"lost":"1"`},
		{`"registered":true`, `"registered":false`}, {`,"policy":"p"`, ``}, {`"acceptFrom":[]`, `"acceptFrom":{}`}, {`"acceptFrom":[]`, `"acceptFrom":[7]`},
		{`"acceptFrom":[]`, `"acceptFrom":"self"`}, {`,"acceptFrom":[]`, ``}, {`"acceptFrom":[]`, `"acceptFrom":[` + many(66, "self") + `]`},
		{`"acceptFrom":[]`, `"acceptFrom":[` + many(65, "self") + `]`}, {`["user"]`, `["User"]`}, {`["user"]`, `["user "]`}, {`["user"]`, `["user  x"]`},
		{`["user"]`, `["user x y"]`}, {`["user"]`, `[` + many(9, "user") + `]`}, {`"rejectedMore":1`, `"rejectedMore":9223372036854775808`},
		{`2026-03-01T00:00:00Z`, `yesterday`}, {`2026-03-01T00:00:00Z`, `0001-01-01T00:00:00Z`}, {`"2026-03-01T00:00:00Z"`, `7`},
	} {
		bad := strings.Replace(good, tt[0], tt[1], 1)
		if bad == good {
			t.Fatalf("no %s", tt[0])
		}
		if _, err := parse(bad); !errors.Is(err, decision.ErrMalformed) || !harmless(err.Error()) {
			t.Errorf("%.200s for %s: %v", tt[1], tt[0], err)
		}
	}
	if r, err := parse(strings.Replace(good, `"acceptFrom":[]`, `"acceptFrom":null`, 1)); err != nil || r.AcceptFrom != nil {
		t.Errorf("%v, %v", r, err) // no policy is not an empty one (P4)
	}
}

// On any bytes Parse says one of three things, agrees with a slow reader, and returns
// nothing that a terminal could obey.
func FuzzParse(f *testing.F) {
	for seed := range uint64(8) {
		f.Add([]byte(line(f, random(rand.New(rand.NewPCG(seed, 3))))))
	}
	f.Add([]byte(line(f, full())))
	f.Add([]byte("{" + small + "}"))
	f.Add([]byte(`{"x":[[1]],"verdict":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decision.Parse(text)
		isNot, isBad := errors.Is(err, decision.ErrNotDecision), errors.Is(err, decision.ErrMalformed)
		if isNot && isBad || err != nil && !isNot && !isBad {
			t.Fatalf("%v", err)
		}
		slow, ok := slowParse(text)
		if (err == nil) != ok {
			t.Fatalf("%q: %v, and the slow reader %v", text, err, ok)
		}
		if err == nil && (!same(r, slow) || !same(r, expected(r))) {
			t.Fatalf("%q\n%+v\n%+v", text, r, slow)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte(line(b, full()))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := decision.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A name can be long and occur in any number; what is refused is refused in time.
func TestParseManyMembers(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		b.WriteString(`"` + strconv.Itoa(i) + `":0,`)
	}
	if _, err := parse("{" + b.String() + small + "}"); err != nil {
		t.Error(err)
	}
}
