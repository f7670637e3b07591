package policydecl_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// never is a matcher that matches nothing.
var never policydecl.Matcher = func(ctx context.Context, token string, c policydecl.Contributor) (bool, error) { return false, nil }

// brief writes faults as "pointer rule reason".
func brief(faults []policydecl.Fault) []string {
	out := make([]string, 0, len(faults))
	for _, f := range faults {
		out = append(out, f.Pointer+" "+string(f.Rule)+" "+string(f.Reason))
	}
	return out
}

func validateWire(what, raw string) []policydecl.Fault {
	switch what {
	case "policy":
		return policydecl.ValidatePolicy([]byte(raw))
	case "label":
		return policydecl.ValidateLabel([]byte(raw), defaultLimits)
	}
	return policydecl.ValidateViolation([]byte(raw))
}

// wireFaults are texts with every fault they have.
var wireFaults = []struct {
	what, raw string
	want      []string
}{
	{"policy", `null`, []string{" P4 wrong-type"}},
	{"policy", `[]`, []string{" P6 wrong-type"}},
	{"policy", `{`, []string{" JSON wrong-type"}},
	{"policy", ``, []string{" JSON wrong-type"}},
	{"policy", `{} {}`, []string{" JSON wrong-type"}},
	{"policy", "{\"acceptFrom\":[\"\xff\"]}", []string{"/acceptFrom/0 JSON wrong-type"}},
	{"policy", `{"acceptFrom":[],"acceptFrom":["user"]}`, []string{"/acceptFrom L8 duplicate"}},
	{"policy", strings.Repeat("[", 300) + strings.Repeat("]", 300), []string{strings.Repeat("/0", 256) + " JSON over-limit"}},
	{"policy", `{"0":{"":0,"":0}}`, []string{"/0/ L8 duplicate"}},
	{"policy", `{"acceptFrom":[],"":0}`, []string{"/ P6 unknown-member"}},
	{"policy", `{}`, []string{"/acceptFrom P6 missing"}},
	{"policy", `{"acceptFrom":"user"}`, []string{"/acceptFrom P6 wrong-type"}},
	{"policy", `{"acceptFrom":["User","https://*","https://h/%","user","user",4,"urn:x"],"also":1,"a/b~":2}`, []string{
		"/acceptFrom/0 P1 unknown-token", "/acceptFrom/1 P6 never-matches", "/acceptFrom/2 U2 unusable-uri", "/acceptFrom/4 P6 duplicate",
		"/acceptFrom/5 P6 wrong-type", "/acceptFrom/6 U2 unusable-uri", "/a~1b~0 P6 unknown-member", "/also P6 unknown-member",
	}},
	{"policy", `{"acceptFrom":["https://h","https://H/"]}`, []string{"/acceptFrom/1 P6 duplicate"}},
	{"policy", `{"acceptFrom":[` + strings.Repeat(`"u",`, 4096) + `"u"]}`, []string{"/acceptFrom P6 over-limit"}},
	{"policy", strings.Repeat(" ", policydecl.MaxPolicyBytes) + `{}`, []string{" JSON over-limit"}},

	{"label", `null`, []string{" L1 wrong-type"}},
	{"label", `[]`, []string{" L1 wrong-type"}},
	{"label", `{}`, []string{"/contributors L2 missing"}},
	{"label", `{"contributors":{}}`, []string{"/contributors L2 wrong-type"}},
	{"label", `{"contributors":[],"complete":"true"}`, []string{"/contributors L2 missing", "/complete L6 wrong-type"}},
	{"label", `{"contributors":[1,{},{"assurance":"User"},{"assurance":2,"principal":3,"publisher":"h"},{"assurance":"user","principal":"https://h/#"}]}`, []string{
		"/contributors/0 L3 wrong-type", "/contributors/1/assurance L4 missing", "/contributors/2/assurance L4 unknown-token",
		"/contributors/3/assurance L4 wrong-type", "/contributors/3/principal L5 wrong-type", "/contributors/3/publisher U2 unusable-uri", "/contributors/4/principal U2 unusable-uri",
	}},
	{"label", `{"contributors":[{"assurance":"user","Principal":"https://h/","\u017fx":1,"sx":2}],"Complete":true}`, []string{
		"/contributors/0/Principal L8 unknown-member", "/contributors/0/\u017fx L8 duplicate", "/Complete L8 unknown-member",
	}},
	{"label", `{"contributors":[{"assurance":"user"}],"x":{"A":1,"a":2}}`, []string{"/x/a L8 duplicate"}},
	{"label", `{"contributors":[{"assurance":"user"}],"x":[{"y":["` + strings.Repeat("a", 2049) + `"]}]}`, []string{"/x/0/y/0 L7 over-limit"}},
	{"label", `{"contributors":[{"assurance":"user"}],"` + strings.Repeat("é", 1025) + `":1}`, []string{"/" + strings.Repeat("é", 1025) + " L7 over-limit"}},
	{"label", `{"contributors":[{"assurance":"user","principal":"https://h/` + strings.Repeat("a", 2048) + `"}]}`, []string{"/contributors/0/principal L7 over-limit"}},
	{"label", `{"contributors":[` + strings.Repeat(`{"assurance":"user"},`, 256) + `{"assurance":"user"}]}`, []string{"/contributors L7 over-limit"}},
	{"label", `{"contributors":[{"assurance":"user"}],"x":[[[[[[[[]]]]]]]]}`, []string{"/x/0/0/0/0/0/0/0 L7 over-limit"}},
	{"label", `{"contributors":[{"assurance":"user"}],"x":[` + strings.Repeat("1,", 2800) + `1]}`, []string{" L7 over-limit"}},
	{"label", strings.Repeat(" ", policydecl.MaxLabelBytes) + `{}`, []string{" L7 over-limit"}},

	{"violation", `null`, []string{" X2 wrong-type"}},
	{"violation", `{}`, []string{"/rejected X2 missing", "/acceptFrom X2 missing"}},
	{"violation", `{"rejected":{},"acceptFrom":1}`, []string{"/rejected X2 wrong-type", "/acceptFrom X2 wrong-type"}},
	{"violation", `{"rejected":[1,{},{"assurance":"admin"},{"assurance":"user","principal":"h"}],"acceptFrom":["User",2]}`, []string{
		"/rejected/0 X2 wrong-type", "/rejected/1/assurance X2 missing", "/rejected/2/assurance X2 unknown-token", "/rejected/3/principal U2 unusable-uri",
		"/acceptFrom/0 P1 unknown-token", "/acceptFrom/1 P6 wrong-type",
	}},
	{"violation", `{"rejected":[{"assurance":"user"},{"assurance":"user","x":1},{"assurance":"user","principal":"https://h"},{"assurance":"user","principal":"https://H/"}],"acceptFrom":[]}`, []string{
		"/rejected/1 P7 duplicate", "/rejected/3 P7 duplicate",
	}},
	{"violation", `{"rejected":[{"assurance":"user","Principal":1}],"acceptFrom":[],"Rejected":[1],"acceptfrom":["user"]}`, []string{
		"/rejected/0/Principal L8 unknown-member", "/Rejected L8 unknown-member", "/acceptfrom L8 unknown-member",
	}},
	{"violation", `{"rejected":[` + strings.Repeat("1,", 4096) + `1],"acceptFrom":[]}`, []string{"/rejected X2 over-limit"}},
}

var wireFaultless = []string{
	`{"acceptFrom":[]}`,
	`{"acceptFrom":["self","user","host","verified","tofu","unverified","publisher:https://h","https://h","urn:mcp:user","com.example.tier:gold"]}`,
	labelU,
	`{"contributors":[{"assurance":"user"}]}`,
	`{"contributors":[{"assurance":"tofu","principal":"HTTPS://H:443","publisher":"urn:ab:c","also":{"a":[1,null,"x"]}}],"complete":false,"x":[[[[[[[1]]]]]]]}`,
	`{"rejected":[],"acceptFrom":[],"also":1}`,
	`{"rejected":[{"assurance":"user"},{"assurance":"unverified","principal":"https://h"}],"acceptFrom":["self","https://x.example/"]}`,
}

func TestWireFaults(t *testing.T) {
	for _, row := range wireFaults {
		faults := validateWire(row.what, row.raw)
		if got := brief(faults); !slices.Equal(got, row.want) {
			t.Errorf("%s %.90q:\n got %q\nwant %q", row.what, row.raw, got, row.want)
		}
		for _, f := range faults {
			if f.Hint == "" && f.Rule != "U2" && f.Reason != flowerrors.ReasonLimit {
				t.Errorf("no way out: %v", f)
			}
		}
		compareWire(t, []byte(row.raw))
	}
	for _, raw := range wireFaultless {
		compareWire(t, []byte(raw))
		found := 0
		for _, what := range []string{"policy", "label", "violation"} {
			if len(validateWire(what, raw)) == 0 {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s is %d things without fault", raw, found)
		}
	}
}

// Raised budgets are those of the reader (L7).
func TestValidateLabelLimits(t *testing.T) {
	raw := []byte(`{"contributors":[` + strings.Repeat(`{"assurance":"user"},`, 256) + `{"assurance":"user"}]}`)
	if faults := policydecl.ValidateLabel(raw, policydecl.Limits{Contributors: 257}); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
}

// A fault is an error that leads to its ConfigError, and says its place, its rule and
// the way out on one line.
func TestFault(t *testing.T) {
	f := policydecl.ValidatePolicy([]byte(`{"acceptFrom":["\u001b[31mUser"]}`))[0]
	if got := slices.Collect(flowerrors.All(f)); len(got) != 1 || got[0] != f.ConfigError {
		t.Errorf("All finds %v", got)
	}
	if f.Path != "acceptFrom[0]" {
		t.Errorf("path %q", f.Path)
	}
	text := f.Error()
	for _, part := range []string{"/acceptFrom/0: unknown-token", `\x1b[31mUser`, "[P1]"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	if bytes.ContainsRune([]byte(text), 0x1b) {
		t.Errorf("raw escape in %q", text)
	}
	if zero := (policydecl.Fault{}); zero.Error() == "" || zero.Unwrap() != nil {
		t.Errorf("the zero fault: %q, %v", zero.Error(), zero.Unwrap())
	}
	root := policydecl.ValidatePolicy([]byte(`1`))[0]
	if !strings.HasPrefix(root.Error(), "(root): ") {
		t.Errorf("%v", root)
	}
}
