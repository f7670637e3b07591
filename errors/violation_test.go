package flowerrors_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

const key = `"io.modelcontextprotocol/flowPolicyViolation"`

func sample() *flowerrors.Violation {
	return &flowerrors.Violation{
		Rejected: []flowerrors.Rejected{
			{Assurance: "unverified", Principal: "https://fetch.example/mcp"},
			{Assurance: "unverified"},
			{Assurance: "tofu", Principal: "https://a.example/?a=1&b=<x>"},
			{Assurance: "unverified", Principal: "https://other.example/"},
		},
		AcceptFrom: []string{"self", "user"},
	}
}

// X2, X3, X4.
func TestAppendError(t *testing.T) {
	const head = `,"message":"Request rejected by flow policy","data":{` + key + `:`
	for _, tc := range []struct {
		name string
		v    *flowerrors.Violation
		code int
		d    flowerrors.Detail
		want string
	}{
		{"full", sample(), 403, flowerrors.DetailFull, `{"code":403` + head +
			`{"rejected":[{"assurance":"unverified","principal":"https://fetch.example/mcp"},{"assurance":"unverified"},` +
			`{"assurance":"tofu","principal":"https://a.example/?a=1&b=<x>"},` +
			`{"assurance":"unverified","principal":"https://other.example/"}],"acceptFrom":["self","user"]}}}`},
		{"no principals", sample(), -7, flowerrors.DetailNoPrincipals, `{"code":-7` + head +
			`{"rejected":[{"assurance":"unverified"},{"assurance":"tofu"}],"acceptFrom":["self","user"]}}}`},
		{"key only", sample(), 0, flowerrors.DetailKeyOnly, `{"code":403` + head + `{"rejected":[],"acceptFrom":[]}}}`},
		{"unknown detail", sample(), 0, 200, `{"code":403` + head + `{"rejected":[],"acceptFrom":[]}}}`},
		{"zero", &flowerrors.Violation{}, 0, flowerrors.DetailFull, `{"code":403` + head + `{"rejected":[],"acceptFrom":[]}}}`},
		{"nil", nil, 0, flowerrors.DetailFull, `{"code":403` + head + `{"rejected":[],"acceptFrom":[]}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.v.AppendError([]byte("}"), tc.code, tc.d)
			if string(got) != "}"+tc.want {
				t.Errorf("got  %s\nwant }%s", got, tc.want)
			}
		})
	}
}

// Cases 46, 57 and 61: one line whatever the strings hold, and no HTML escapes.
func TestAppendErrorEscapes(t *testing.T) {
	in := "<&>\"\\/\x00\x1f\r\n\x7f\u0085\u2028\u2029é\U0001f512\xff\ufffd"
	want := `"<&>\"\\/\u0000\u001f\u000d\u000a\u007f\u0085\u2028\u2029é🔒\ufffd` + "\ufffd\""
	v := &flowerrors.Violation{AcceptFrom: []string{in}}
	got := string(v.AppendError(nil, 0, flowerrors.DetailFull))
	if !strings.HasSuffix(got, `"acceptFrom":[`+want+`]}}}`) {
		t.Errorf("got %q, want list of %q", got, want)
	}
}

func TestViolationIsAnErrorThatTellsNothing(t *testing.T) {
	var err error = sample()
	if err.Error() != flowerrors.Message {
		t.Errorf("got %q", err.Error())
	}
	if got := (*flowerrors.Violation)(nil).Error(); got != flowerrors.Message {
		t.Errorf("nil: got %q", got)
	}
}

func TestViolationClone(t *testing.T) {
	v := sample()
	c := v.Clone()
	if !reflect.DeepEqual(v, c) {
		t.Fatalf("got %+v, want %+v", c, v)
	}
	c.Rejected[0].Assurance, c.AcceptFrom[0] = "x", "x"
	if !reflect.DeepEqual(v, sample()) {
		t.Error("the clone shares memory")
	}
	if (*flowerrors.Violation)(nil).Clone() != nil {
		t.Error("the clone of nil is not nil")
	}
}

// X3.
func TestCheckCode(t *testing.T) {
	for _, code := range []int{0, 403, -1, 1, -31999, -32769, -32799, -32801, math.MaxInt32, math.MinInt32} {
		if err := flowerrors.CheckCode(code); err != nil {
			t.Errorf("%d: %v", code, err)
		}
	}
	for code, want := range map[int]flowerrors.Reason{
		-32000: flowerrors.ReasonReserved,
		-32019: flowerrors.ReasonReserved,
		-32020: flowerrors.ReasonReserved,
		-32042: flowerrors.ReasonReserved,
		-32099: flowerrors.ReasonReserved,
		-32600: flowerrors.ReasonReserved,
		-32601: flowerrors.ReasonReserved,
		-32602: flowerrors.ReasonReserved,
		-32603: flowerrors.ReasonReserved,
		-32700: flowerrors.ReasonReserved,
		-32768: flowerrors.ReasonReserved,
		-32800: flowerrors.ReasonReserved,

		math.MaxInt32 + 1: flowerrors.ReasonLimit,
		math.MinInt32 - 1: flowerrors.ReasonLimit,
	} {
		var e *flowerrors.ConfigError
		if err := flowerrors.CheckCode(code); !errors.As(err, &e) || e.Reason != want {
			t.Errorf("%d: got %v, want reason %s", code, err, want)
		}
	}
}

func TestAppendErrorAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations differ under the race detector")
	}
	v, buf := sample(), make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() { v.AppendError(buf, 403, flowerrors.DetailFull) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzAppendError(f *testing.F) {
	f.Add("unverified", "https://fetch.example/mcp", "self", 0, uint8(0))
	f.Add("tofu", "<&>\"\\/\x00\x1f\r\n\x7f\u0085\u2028\u2029\xff", "\xed\xa0\x80", -7, uint8(1))
	f.Add("", "", "", 403, uint8(2))
	f.Fuzz(func(t *testing.T, assurance, principal, token string, code int, d uint8) {
		v := &flowerrors.Violation{
			Rejected:   []flowerrors.Rejected{{assurance, principal}, {assurance, ""}, {assurance, principal}},
			AcceptFrom: []string{token, "self"},
		}
		got := v.AppendError(nil, code, flowerrors.Detail(d))
		if !json.Valid(got) || !utf8.Valid(got) || strings.ContainsAny(string(got), "\r\n\u0085\u2028\u2029\x7f") {
			t.Fatalf("not one line of JSON: %q", got)
		}
		// A byte that is not UTF-8 becomes three.
		if 3*(len(assurance)+len(principal)+len(token)) > flowerrors.MaxViolationString {
			return
		}
		back, found, err := flowerrors.ReadViolation(got)
		if err != nil || !found {
			t.Fatalf("%s is not recognised: %v", got, err)
		}
		if want := seen(v, flowerrors.Detail(d)); !reflect.DeepEqual(back, want) {
			t.Fatalf("got %+v, want %+v", back, want)
		}
	})
}

// seen is the slow twin of writing and reading: what a peer sees of v (X4).
func seen(v *flowerrors.Violation, d flowerrors.Detail) *flowerrors.Violation {
	w := &flowerrors.Violation{Rejected: []flowerrors.Rejected{}, AcceptFrom: []string{}}
	if d > flowerrors.DetailNoPrincipals {
		return w
	}
	for _, r := range v.Rejected {
		r.Assurance, r.Principal = wellFormed(r.Assurance), wellFormed(r.Principal)
		if d == flowerrors.DetailNoPrincipals {
			r.Principal = ""
			if slices.Contains(w.Rejected, r) {
				continue
			}
		}
		w.Rejected = append(w.Rejected, r)
	}
	for _, s := range v.AcceptFrom {
		w.AcceptFrom = append(w.AcceptFrom, wellFormed(s))
	}
	return w
}

// wellFormed replaces every invalid byte by itself, not every run of them.
func wellFormed(s string) string { return string([]rune(s)) }

func BenchmarkAppendError(b *testing.B) {
	v, buf := sample(), make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		v.AppendError(buf, 403, flowerrors.DetailFull)
	}
}
