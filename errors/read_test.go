package flowerrors_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

func list(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// readings: found says whether the key is there; reason is empty without error.
var readViolations = []struct {
	name   string
	in     string
	found  bool
	reason flowerrors.Reason
	path   string
}{
	{"ours", `{"code":403,"message":"m","data":{` + key + `:{"rejected":[{"assurance":"tofu","principal":"urn:a:b"}],"acceptFrom":["self"]}}}`, true, "", ""},
	{"other code, other members", ` { "code" : -32000, "x":{"data":1}, "data" : {"y":[1,{}], ` + key + ` : {"z":null,"rejected":[{"q":1,"assurance":"user"}],"acceptFrom":[]} } } `, true, "", ""},
	{"escaped key", `{"data":{"io.modelcontextprotocol\/flowPolicyViolatio\u006e":{"rejected":[],"acceptFrom":[]}}}`, true, "", ""},

	{"no data", `{"code":403,"message":"Request rejected by flow policy"}`, false, "", ""},
	{"null data", `{"data":null}`, false, "", ""},
	{"data is text", `{"data":` + key + `}`, false, "", ""},
	{"data is a list", `{"data":[{` + key + `:{}}]}`, false, "", ""},
	{"key elsewhere", `{` + key + `:{},"data":{"x":{` + key + `:{}}}}`, false, "", ""},
	{"key in other case", `{"data":{"IO.modelcontextprotocol/flowPolicyViolation":{"rejected":[],"acceptFrom":[]}}}`, false, "", ""},
	{"key folded beyond ASCII", `{"data":{"io.modelcontextprotocol/flowPolicyViolatıon":{}}}`, false, "", ""},
	{"data in other case", `{"Data":{` + key + `:{"rejected":[],"acceptFrom":[]}}}`, false, "", ""},

	{"empty", ``, false, flowerrors.ReasonType, ""},
	{"two values", `{} {}`, false, flowerrors.ReasonType, ""},
	{"not an object", `[]`, false, flowerrors.ReasonType, ""},
	{"not UTF-8", "{\"x\":\"\xff\"}", false, flowerrors.ReasonType, ""},
	{"too deep", strings.Repeat(`{"data":`, 20000), false, flowerrors.ReasonType, ""},
	{"too long", `{"x":"` + strings.Repeat("x", flowerrors.MaxViolationBytes) + `"}`, false, flowerrors.ReasonLimit, ""},
	{"data twice", `{"data":{},"data":{` + key + `:{"rejected":[],"acceptFrom":[]}}}`, false, flowerrors.ReasonDuplicate, "data"},
	{"key twice", `{"data":{` + key + `:{},` + key + `:{}}}`, true, flowerrors.ReasonDuplicate, `data[` + key + `]`},

	{"null", `{"data":{` + key + `:null}}`, true, flowerrors.ReasonType, `data[` + key + `]`},
	{"nothing", `{"data":{` + key + `:{}}}`, true, flowerrors.ReasonMissing, `data[` + key + `].rejected`},
	{"no acceptFrom", `{"data":{` + key + `:{"rejected":[]}}}`, true, flowerrors.ReasonMissing, `data[` + key + `].acceptFrom`},
	{"rejected twice", `{"data":{` + key + `:{"rejected":[],"rejected":[],"acceptFrom":[]}}}`, true, flowerrors.ReasonDuplicate, `data[` + key + `].rejected`},
	{"null list", `{"data":{` + key + `:{"rejected":null,"acceptFrom":[]}}}`, true, flowerrors.ReasonType, `data[` + key + `].rejected`},
	{"entry is text", `{"data":{` + key + `:{"rejected":["user"],"acceptFrom":[]}}}`, true, flowerrors.ReasonType, `data[` + key + `].rejected[0]`},
	{"no assurance", `{"data":{` + key + `:{"rejected":[{"assurance":"user"},{"principal":"urn:a:b"}],"acceptFrom":[]}}}`, true, flowerrors.ReasonMissing, `data[` + key + `].rejected[1].assurance`},
	{"assurance twice", `{"data":{` + key + `:{"rejected":[{"assurance":"user","assurance":"user"}],"acceptFrom":[]}}}`, true, flowerrors.ReasonDuplicate, `data[` + key + `].rejected[0].assurance`},
	{"principal is null", `{"data":{` + key + `:{"rejected":[{"assurance":"user","principal":null}],"acceptFrom":[]}}}`, true, flowerrors.ReasonType, `data[` + key + `].rejected[0].principal`},
	{"token is a number", `{"data":{` + key + `:{"rejected":[],"acceptFrom":["self",1]}}}`, true, flowerrors.ReasonType, `data[` + key + `].acceptFrom[1]`},
	{"token too long", `{"data":{` + key + `:{"rejected":[],"acceptFrom":["` + strings.Repeat("x", flowerrors.MaxViolationString+1) + `"]}}}`, true, flowerrors.ReasonLimit, `data[` + key + `].acceptFrom[0]`},
	{"too many tokens", `{"data":{` + key + `:{"rejected":[],"acceptFrom":` + list(flowerrors.MaxViolationItems+1, `""`) + `}}}`, true, flowerrors.ReasonLimit, `data[` + key + `].acceptFrom`},
	{"just enough tokens", `{"data":{` + key + `:{"rejected":[],"acceptFrom":` + list(flowerrors.MaxViolationItems, `""`) + `}}}`, true, "", ""},
}

// X2 and X5: the key alone makes an error a refusal, and one that cannot be read is one too.
func TestReadViolation(t *testing.T) {
	for _, tc := range readViolations {
		t.Run(tc.name, func(t *testing.T) {
			in := []byte(tc.in)
			v, found, err := flowerrors.ReadViolation(in)
			if string(in) != tc.in {
				t.Error("the input was changed")
			}
			if found != tc.found {
				t.Errorf("found: got %t (%v)", found, err)
			}
			if (v != nil) != (tc.found && tc.reason == "") {
				t.Errorf("violation: got %+v", v)
			}
			if tc.reason == "" {
				if err != nil {
					t.Errorf("error: got %v", err)
				}
				return
			}
			var e *flowerrors.ConfigError
			if !errors.As(err, &e) || e.Reason != tc.reason || e.Path != tc.path {
				t.Errorf("error: got %v, want %s at %s", err, tc.reason, tc.path)
			}
		})
	}
}

func TestReadViolationValue(t *testing.T) {
	for _, tc := range readViolations[:2] {
		v, _, err := flowerrors.ReadViolation([]byte(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		want := &flowerrors.Violation{
			Rejected:   []flowerrors.Rejected{{Assurance: "tofu", Principal: "urn:a:b"}},
			AcceptFrom: []string{"self"},
		}
		if tc.name != "ours" {
			want = &flowerrors.Violation{Rejected: []flowerrors.Rejected{{Assurance: "user"}}, AcceptFrom: []string{}}
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("%s: got %+v, want %+v", tc.name, v, want)
		}
	}
}

// FuzzReadViolation holds the reader to a slow twin over maps; what was read can
// be written and read again.
func FuzzReadViolation(f *testing.F) {
	for _, tc := range readViolations {
		if len(tc.in) < 1<<10 {
			f.Add([]byte(tc.in))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, found, err := flowerrors.ReadViolation(in)
		if (v != nil) != (found && err == nil) {
			t.Fatalf("got %v, %t, %v", v, found, err)
		}
		if found || err == nil {
			// The same by maps, in which names are exact and the last one wins.
			var object, data map[string]json.RawMessage
			_ = json.Unmarshal(in, &object)
			_ = json.Unmarshal(object["data"], &data)
			if _, want := data[flowerrors.ViolationKey]; found != want {
				t.Fatalf("found: got %t, want %t in %q", found, want, in)
			}
		}
		if v == nil {
			return
		}
		back, found, err := flowerrors.ReadViolation(v.AppendError(nil, 0, flowerrors.DetailFull))
		if !found || err != nil || !reflect.DeepEqual(back, v) {
			t.Fatalf("got %+v, %v, want %+v", back, err, v)
		}
	})
}

func BenchmarkReadViolation(b *testing.B) {
	in := sample().AppendError(nil, 403, flowerrors.DetailFull)
	b.ReportAllocs()
	for b.Loop() {
		if _, found, err := flowerrors.ReadViolation(in); !found || err != nil {
			b.Fatal(err)
		}
	}
}
