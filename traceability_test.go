package flowgate_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A row says which checks hold something to its word, or why none can.
type row struct {
	// Of a requirement of the draft: where it stands, its level, whom it binds and what it
	// says, in other words than the draft's.
	Section string   `yaml:"section"`
	Ordinal int      `yaml:"ordinal"`
	Level   string   `yaml:"level"`
	Binds   string   `yaml:"binds"`
	Text    string   `yaml:"text"`
	Rules   []string `yaml:"rules"`
	// Of a rule of our own: its number, and of section 5 the method.
	Rule   string `yaml:"rule"`
	Method string `yaml:"method"`

	// Checks are tests, as package.TestName or package.TestName/subtest, and ids of vectors.
	Checks []string `yaml:"checks"`
	// Interop are tests of the module interop, which CI runs with the build tag interop.
	Interop []string `yaml:"interop"`
	// Excluded says why there is no check.
	Excluded string `yaml:"excluded"`
}

func (r row) String() string {
	if r.Rule != "" {
		return strings.TrimSpace(r.Rule + " " + r.Method)
	}
	return fmt.Sprintf("%s, %d", r.Section, r.Ordinal)
}

// rules returns the rules that a check of the row has to name one of.
func (r row) rules() []string {
	if r.Rule != "" {
		return []string{r.Rule}
	}
	return r.Rules
}

// ruleCounts is how many rules of each letter our specification has; docs/rules.md lists them.
var ruleCounts = map[string]int{"L": 9, "P": 9, "U": 4, "G": 6, "R": 4, "X": 5, "D": 4, "M": 3, "H": 7}

const section5 = "section 5"

// gatedMethods are the rows of section 5.
var gatedMethods = []string{
	"tools/call", "tools/call with task", "resources/read", "resources/subscribe",
	"subscriptions/listen", "prompts/get", "completion/complete",
}

// draftRows is how often the sections of the draft say MUST, MUST NOT, SHOULD or SHOULD NOT,
// counted by hand in its revision of 3 August 2026. The draft is not in this repository, so when
// it changes the rows and these numbers have to be brought up to it together. Sections
// that say it nowhere are left out.
var draftRows = map[string]int{
	"Which requests carry a label":   1,
	"Assurance states":               2,
	"The origin label":               2,
	"Host obligations":               6,
	"Context partitions":             1,
	"The flow policy":                1,
	"Evaluation":                     4,
	"The restriction-only invariant": 1,
	"Rejection":                      3,
	"Privacy-preserving labels":      1,
	// Outside of the specification section.
	"Backward Compatibility": 1,
	"Security Implications":  1,
}

// readRows reads a traceability file to the letter.
func readRows(t *testing.T, name string) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "traceability", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		SEP          int    `yaml:"sep"`
		Source       string `yaml:"source"`
		Requirements []row  `yaml:"requirements"`
		Rules        []row  `yaml:"rules"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rows := append(file.Requirements, file.Rules...)
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return rows
}

// TestTraceabilityOfTheDraft: every MUST and SHOULD of the draft has a row, and every row a check
// that exists and runs, or a reason.
func TestTraceabilityOfTheDraft(t *testing.T) {
	rows := readRows(t, "sep-3193.yaml")
	got := map[string]int{}
	for _, r := range rows {
		got[r.Section]++
		if r.Ordinal != got[r.Section] {
			t.Errorf("%v: want the ordinal %d", r, got[r.Section])
		}
		if !slices.Contains([]string{"MUST", "MUST NOT", "SHOULD", "SHOULD NOT"}, r.Level) ||
			!slices.Contains([]string{"host", "recipient", "host and recipient", "specification"}, r.Binds) || r.Text == "" {
			t.Errorf("%v: level %q, binds %q, text %q", r, r.Level, r.Binds, r.Text)
		}
		if len(r.Rules) == 0 && r.Excluded == "" {
			t.Errorf("%v: no rule of ours keeps it", r)
		}
	}
	if !maps.Equal(got, draftRows) {
		t.Errorf("rows by section\n%v, want\n%v", got, draftRows)
	}
	for _, fault := range judge(rows, checksOf(t)) {
		t.Error(fault)
	}
}

// TestTraceabilityOfTheRules: every rule has a row with checks, and every test that names a rule
// in its name or in its doc comment is named by a row of that rule.
func TestTraceabilityOfTheRules(t *testing.T) {
	rows := readRows(t, "rules.yaml")
	var want, got []string
	for letter, n := range ruleCounts {
		for i := range n {
			want = append(want, fmt.Sprint(letter, i+1))
		}
	}
	for _, method := range gatedMethods {
		want = append(want, section5+" "+method)
	}
	for _, r := range rows {
		got = append(got, r.String())
		if r.Rule == "" {
			t.Errorf("%v is no rule", r)
		}
	}
	slices.Sort(want)
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
		t.Errorf("rows for\n%q, want\n%q", sorted, want)
	}
	known := checksOf(t)
	for _, fault := range append(judge(rows, known), untold(rows, known)...) {
		t.Error(fault)
	}
}

// TestEveryVectorIsRun: each file of vectors has a Go test that runs it and names its rules, and is
// in the table of the README there.
func TestEveryVectorIsRun(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	readme, err := os.ReadFile("testdata/vectors/README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := checksOf(t)
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		runs := 0
		for _, check := range known.tests {
			if slices.Contains(check.vectors, kind) && check.runs() == "" && len(check.rules) > 0 {
				runs++
			}
		}
		if runs != 1 {
			t.Errorf("%s is run by %d tests", file, runs)
		}
		if !strings.Contains(string(readme), "\n| `"+kind+".json` |") {
			t.Errorf("%s is not in the README", file)
		}
	}
}

// judge returns what is wrong with rows: no check and no reason, or a check that does not
// exist, does not run or names none of the row's rules.
func judge(rows []row, known checks) (faults []string) {
	fault := func(r row, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%v: ", r)+fmt.Sprintf(format, args...))
	}
	for _, r := range rows {
		if (len(r.Checks) == 0) == (r.Excluded == "") {
			fault(r, "want checks, or else a reason why there are none")
		}
		for _, rule := range r.rules() {
			if !isRule(rule) {
				fault(r, "there is no rule %q", rule)
			}
		}
		for i, name := range slices.Concat(r.Checks, r.Interop) {
			if why := known.why(name, r.rules(), i >= len(r.Checks)); why != "" {
				fault(r, "%s %s", name, why)
			}
		}
	}
	return faults
}

// untold returns the tests that name a rule and that no row of the rule names.
func untold(rows []row, known checks) (faults []string) {
	told := map[string]bool{}
	for _, r := range rows {
		for _, name := range slices.Concat(r.Checks, r.Interop) {
			told[r.Rule+" "+testOf(name)] = true
		}
	}
	for name, test := range known.tests {
		for _, rule := range test.rules {
			switch {
			case !isRule(rule):
				faults = append(faults, fmt.Sprintf("%s names %s, which is no rule", name, rule))
			case !told[rule+" "+name]:
				faults = append(faults, fmt.Sprintf("%s names %s, but no row of %s in testdata/traceability/rules.yaml names it; add it there", name, rule, rule))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

func isRule(rule string) bool {
	if rule == section5 {
		return true
	}
	n := ruleCounts[rule[:1]]
	return len(rule) == 2 && '1' <= rule[1] && int(rule[1]-'0') <= n
}

// TestTraceabilityFinds: each kind of mistake in a row is found, and so is a test that no row names.
func TestTraceabilityFinds(t *testing.T) {
	known := checks{
		vectors: map[string][]string{"labels/absent": {"L1"}},
		tests: map[string]check{
			"a/b.TestGood":    {rules: []string{"L1"}, texts: map[string]bool{"one_two": true}},
			"a/b.TestOther":   {rules: []string{"L2"}},
			"a/b.TestSkipped": {rules: []string{"L1"}, skipped: true},
			"a/b.TestTagged":  {rules: []string{"L1"}, interop: true},
		},
	}
	good := row{Rule: "L1", Checks: []string{"a/b.TestGood", "a/b.TestGood/one_two", "labels/absent"}, Interop: []string{"a/b.TestTagged"}}
	if faults := judge([]row{good}, known); faults != nil {
		t.Errorf("a good row: %q", faults)
	}
	for name, bad := range map[string]row{
		"nothing":              {Rule: "L1"},
		"interop alone":        {Rule: "L1", Interop: []string{"a/b.TestTagged"}},
		"both":                 {Rule: "L1", Checks: good.Checks, Excluded: "because"},
		"no such rule":         {Rules: []string{"L1", "U5"}, Checks: good.Checks},
		"no such test":         {Rule: "L1", Checks: []string{"a/b.TestNone"}},
		"no such package":      {Rule: "L1", Checks: []string{"b.TestGood"}},
		"no such subtest":      {Rule: "L1", Checks: []string{"a/b.TestGood/three"}},
		"no such vector":       {Rule: "L1", Checks: []string{"labels/present"}},
		"vector of another":    {Rule: "L2", Checks: []string{"labels/absent"}},
		"test of another rule": {Rule: "L1", Checks: []string{"a/b.TestOther"}},
		"skipped":              {Rule: "L1", Checks: []string{"a/b.TestSkipped"}},
		"needs the tag":        {Rule: "L1", Checks: []string{"a/b.TestTagged"}},
		"needs no tag":         {Rule: "L1", Checks: good.Checks, Interop: []string{"a/b.TestGood"}},
	} {
		if faults := judge([]row{bad}, known); len(faults) != 1 {
			t.Errorf("%s: %q", name, faults)
		}
	}
	want := "a/b.TestOther names L2, but no row of L2"
	more := row{Rule: "L1", Checks: []string{"a/b.TestSkipped"}}
	if faults := untold([]row{good, more}, known); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
		t.Errorf("%q", faults)
	}
}

// TestRulesIn: how a test names the rules that it checks.
func TestRulesIn(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"TestX", "", ""},
		{"TestP4P5DefaultApplies", "P4 and P5: absent.", "P4 P5"},
		{"FuzzL8Names", "", "L8"},
		{"TestX", "L1 to\nL3, and X1.", "L1 L3 X1 L2"},
		{"TestX", "X is G3: (H5, H7); section 5.", "G3 H5 H7 section 5"},
		{"TestHTTP1", "HTTP/2, SHA1, H10, h1 and A1.", ""},
		{"TestX", "L1 to P3.", "L1 P3"},
	} {
		if got := strings.Join(rulesIn(c.name, c.doc), " "); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.name, c.doc, got, c.want)
		}
	}
}
