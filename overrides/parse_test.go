package overrides_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// everything says all that can be said, in both notations.
var everything = map[string]string{
	"o.yaml": `# a comment
flowgate: 1
uri: https://records.example/mcp
default: {acceptFrom: [self, user]}
mode: enforce
dangerouslyReportUndeclared: false
dangerouslyLoosen: true
tools:
  export_records: {acceptFrom: [user], mode: report, optional: true}
  "7":
    mode: off
  Export: {acceptFrom: []}
  export: {acceptFrom: ["com.example.tier:gold", publisher:https://p.example/]}
prompts:
  summarise: {mode: "enforce", optional: false}
resources: {"records://customers": {acceptFrom: [self]}}
templates:
  records://customers/{id}: {acceptFrom: [self]}
prefixes:
  records://internal/: {acceptFrom: []}
`,
	"o.json": `{"flowgate":1,"uri":"https://records.example/mcp","default":{"acceptFrom":["self","user"]},
"mode":"enforce","dangerouslyReportUndeclared":false,"dangerouslyLoosen":true,
"tools":{"export_records":{"acceptFrom":["user"],"mode":"report","optional":true},"7":{"mode":"off"},
"Export":{"acceptFrom":[]},"export":{"acceptFrom":["com.example.tier:gold","publisher:https://p.example/"]}},
"prompts":{"summarise":{"mode":"enforce","optional":false}},"resources":{"records://customers":{"acceptFrom":["self"]}},
"templates":{"records://customers/{id}":{"acceptFrom":["self"]}},"prefixes":{"records://internal/":{"acceptFrom":[]}}}`,
}

func TestParse(t *testing.T) {
	for name, text := range everything {
		o, err := overrides.Parse(name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if o.URI != "https://records.example/mcp" || o.Mode != policydecl.Enforce || o.DangerouslyReportUndeclared || !o.DangerouslyLoosen ||
			!slices.Equal(o.Default.Tokens(), []string{"self", "user"}) {
			t.Errorf("%s: %+v", name, o)
		}
		var got []string
		for _, target := range o.Targets {
			policy := "absent"
			if !target.Policy.IsZero() {
				policy = fmt.Sprint(target.Policy.Tokens())
			}
			got = append(got, fmt.Sprint(target.Kind, " ", target.Name, " ", policy, " ", target.Mode, " ", target.Optional))
		}
		want := []string{ // by kind and name
			"tools 7 absent off false",
			"tools Export []  false",
			"tools export [com.example.tier:gold publisher:https://p.example/]  false",
			"tools export_records [user] report true",
			"prompts summarise absent enforce false",
			"resources records://customers [self]  false",
			"templates records://customers/{id} [self]  false",
			"prefixes records://internal/ []  false",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Lines may end as Windows ends them, a document may be marked, and names may be quoted in
// any way.
func TestParseOtherSpellings(t *testing.T) {
	want := parse(t, everything["o.yaml"]).Digest()
	for _, text := range []string{
		strings.ReplaceAll(everything["o.yaml"], "\n", "\r\n"),
		"---\n" + everything["o.yaml"] + "...\n# the end\n",
		strings.Replace(everything["o.yaml"], "mode: enforce", `'mode': "\u0065nforce"`, 1),
		strings.Replace(everything["o.yaml"], "mode: enforce", "? mode\n: >-\n  enforce", 1),
	} {
		if got := parse(t, text).Digest(); got != want {
			t.Errorf("%q says something else", text)
		}
	}
	for _, mode := range []string{"off", `"off"`, "'off'"} {
		if o := parse(t, "flowgate: 1\nmode: "+mode); o.Mode != policydecl.DangerouslyOff {
			t.Errorf("mode: %s is %v", mode, o.Mode)
		}
	}
}

// The notation goes by the extension, and else by the text.
func TestNotation(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		yaml, ok   bool
	}{
		{"a.json", `{"flowgate":1}`, false, true},
		{"a.JSON", "flowgate: 1", false, false},
		{"a.yaml", "flowgate: 1", true, true},
		{"a.yml", `{"flowgate": 1}`, true, true},
		{"a.YML", `{flowgate: 1}`, true, true},
		{"", `{flowgate: 1}`, false, false},
		{"", " \n{\"flowgate\":1}\n", false, true},
		{"a.conf", "\nflowgate: 1", true, true},
		{"dir.json/a", "--- {flowgate: 1}", true, true},
	} {
		if got := overrides.IsYAML(tt.name, []byte(tt.text)); got != tt.yaml {
			t.Errorf("%q %q: YAML %v", tt.name, tt.text, got)
		}
		if _, err := overrides.Parse(tt.name, []byte(tt.text)); (err == nil) != tt.ok {
			t.Errorf("%q %q: %v", tt.name, tt.text, err)
		}
	}
}

// Absent, empty and null stay apart (P4).
func TestEmptyIsNotAbsent(t *testing.T) {
	o := parse(t, `{"flowgate":1,"default":{"acceptFrom":[]},"tools":{"a":{"mode":"off"},"b":{"acceptFrom":[]}}}`)
	if o.Default.IsZero() || len(o.Default.Tokens()) != 0 || !o.Targets[0].Policy.IsZero() || o.Targets[1].Policy.IsZero() {
		t.Errorf("%+v", o)
	}
	if o := parse(t, `{"flowgate":1}`); !o.IsZero() {
		t.Errorf("%+v", o)
	}
	if o := parse(t, `{"flowgate":1,"tools":{}}`); !o.IsZero() {
		t.Errorf("%+v", o)
	}
}

func parse(t testing.TB, text string) overrides.Overrides {
	t.Helper()
	o, err := overrides.Parse("", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// told is what is told of mistakes: line, pointer, path, reason, value and rule.
func told(faults []overrides.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "%d %s %s %s %q %s\n", f.Line, f.Pointer, f.Path, f.Reason, f.Value, f.Rule)
	}
	return b.String()
}

func TestFaults(t *testing.T) {
	for _, tt := range faultCases {
		o, faults := overrides.Validate(tt.name, []byte(tt.text))
		if got := told(faults); got != strings.TrimLeft(tt.want, "\n") {
			t.Errorf("%.300q\ngot\n%swant%s", tt.text, got, tt.want)
		}
		if !o.IsZero() {
			t.Errorf("%.300q: overrides come with a mistake", tt.text)
		}
		sound(t, []byte(tt.text), faults)
		_, err := overrides.Parse(tt.name, []byte(tt.text))
		n := 0
		for e := range flowerrors.All(err) {
			if *e != *faults[n].ConfigError {
				t.Errorf("%.300q: Parse says %v, Validate %v", tt.text, e, faults[n])
			}
			n++
		}
		if n != len(faults) {
			t.Errorf("%.300q: %d mistakes of %d", tt.text, n, len(faults))
		}
	}
}

// sound checks what every fault must have.
func sound(t testing.TB, text []byte, faults []overrides.Fault) {
	t.Helper()
	lines := strings.Count(string(text), "\n") + 1
	for _, f := range faults {
		if f.Rule == "" || f.ConfigError == nil || f.Reason == "" || f.Detail == "" || f.Line < 0 || f.Line > lines {
			t.Errorf("%+v", f)
		}
		if f.Line > 0 && !strings.HasSuffix(f.Detail, fmt.Sprintf(" (line %d)", f.Line)) {
			t.Errorf("line %d is not in %q", f.Line, f.Detail)
		}
		if msg := f.Error(); strings.ContainsFunc(msg, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("not printable ASCII: %q", msg)
		}
	}
	size := 0
	for _, f := range faults {
		size += len(f.Path) + len(f.Pointer) + len(f.Value) + len(f.Detail) + len(f.Hint)
	}
	if len(faults) > overrides.MaxFaults || size > 8*overrides.MaxBytes {
		t.Errorf("%d faults of %d bytes", len(faults), size)
	}
}

// Mistakes without number are told up to a bound, and that there are more.
func TestManyFaults(t *testing.T) {
	for _, text := range []string{
		"flowgate: 1\n" + strings.Repeat("a: 1\n", 1000),
		`{"flowgate":1,"default":{"acceptFrom":[` + strings.Repeat(`7,`, 1000) + `7]}}`,
		"flowgate: 1 #" + strings.Repeat("\u2028", 1000),
	} {
		_, faults := overrides.Validate("", []byte(text))
		sound(t, []byte(text), faults)
		if n := len(faults); n != overrides.MaxFaults || faults[n-1].Reason != flowerrors.ReasonLimit || faults[n-1].Limit != overrides.MaxFaults {
			t.Errorf("%.40q: %d faults, the last %v", text, len(faults), faults[len(faults)-1])
		}
	}
	text := `{"flowgate":1,"default":{"acceptFrom":[` + strings.Repeat(`7,`, overrides.MaxFaults-1) + `7]}}`
	if _, faults := overrides.Validate("", []byte(text)); len(faults) != overrides.MaxFaults || faults[overrides.MaxFaults-1].Reason != flowerrors.ReasonType {
		t.Errorf("%d faults", len(faults))
	}
}

// Texts that are made to cost much are refused, or read, without it: what this test
// guards against is one that does not end in the time of a test.
func TestHostileTexts(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, hostileBytes/len(s)) }
	laughs := "flowgate: 1\ntools:\n  a0: &a0 {mode: off}\n"
	for i := range 20 {
		laughs += fmt.Sprintf("  a%d: &a%d {%s}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("b: *a%d, ", i), 10), ", "))
	}
	stairs := ""
	for i := range 1400 {
		stairs += strings.Repeat(" ", i) + "a:\n"
	}
	for _, text := range []string{
		long("["), long("{a: "), long("- "), long("? "), long("#\n"), long("a: 1 #x\n"), long("- &a a\n"), long("? a\n"), long("a:\n"),
		long(`{"a":`), long("a, "), "[" + long("a, #\n"), `"` + long("a\n"), long("*a "), long("---\n"), long("!a "), laughs, stairs,
	} {
		text = text[:min(len(text), hostileBytes)]
		for _, name := range []string{".yaml", ".json"} {
			_, faults := overrides.Validate(name, []byte(text))
			if len(faults) == 0 {
				t.Errorf("%.40q is read", text)
			}
			sound(t, []byte(text), faults)
		}
	}
}

func TestUnmarshalJSON(t *testing.T) {
	var o struct{ Flow overrides.Overrides }
	if err := json.Unmarshal([]byte(`{"flow":{"flowgate":1,"mode":"off"}}`), &o); err != nil || o.Flow.Mode != policydecl.DangerouslyOff {
		t.Errorf("%v %+v", err, o)
	}
	err := json.Unmarshal([]byte(`{"flow":{"flowgate":1,"mode":"report","Mode":"off"}}`), &o)
	var e *flowerrors.ConfigError
	if !errors.As(err, &e) || e.Path != "Mode" || o.Flow.Mode != policydecl.DangerouslyOff {
		t.Errorf("%v %+v", err, o)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range everything {
		f.Add([]byte(text))
	}
	for _, tt := range faultCases {
		if len(tt.text) < 4<<10 { // a larger seed takes all the time there is
			f.Add([]byte(tt.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{".yaml", ".json"} {
			o, faults := overrides.Validate(name, text)
			sound(t, text, faults)
			if len(faults) == 0 {
				keeps(t, o)
			}
		}
	})
}
