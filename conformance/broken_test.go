package conformance_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/conformance"
)

// The checks that fail where labels do not matter at all.
const allRoutes = "5/tools 5/tasks 5/resources 5/templates 5/prompts 5/completion 5/subscribe 5/listen "

// brokenServers are servers that break one rule, with the checks that must fail, and no
// other.
var brokenServers = map[string]string{
	"":                                      "",
	"ignores labels":                        allRoutes + "L1 L2 L3 L4 L5 L6 L7 P1 P2 P4 P5 P7 P8 U1 U2 U3 U4 R3 G3",
	"accepts what is not labelled":          allRoutes + "L1",
	"reads the first contributor":           "L3 L7 P7 P8",
	"folds the case of states":              "L4",
	"shows principals as sent":              "L5 U2",
	"takes every label for complete":        "L6",
	"cuts long labels":                      "L7",
	"takes the last of two members":         "L8",
	"folds the case of members":             "L8",
	"folds the case of a member alone":      "L8",
	"looks at the top of params alone":      "L8",
	"takes null for an id":                  "L8",
	"answers null":                          "L8",
	"takes the word self for itself":        "P2",
	"takes its publisher for itself":        "P2",
	"takes a token for a state":             "P3",
	"lists User and means user":             "D1 P3",
	"takes a majority":                      "P8",
	"lets the user in anywhere":             "P9",
	"drops the slash at the end":            "U1",
	"compares letter by letter":             "U1",
	"drops the dot at the end of a host":    "U2",
	"folds the case of urns":                "U3",
	"compares publishers letter by letter":  "U4",
	"asks the wider pattern alone":          "R3",
	"reads long URIs":                       "R4",
	"hides who are two":                     "X4",
	"keeps answers":                         "G3",
	"compares the beginning of principals":  "P1 U1",
	"an empty list is the default":          "P4",
	"merges policy and default":             "P1 P4 P5 P8 U1 U2 U3 R1 R3",
	"does not enforce resources/read":       "5/resources 5/templates R3",
	"does not enforce prompts/get":          "5/prompts",
	"does not enforce completion/complete":  "5/completion",
	"does not enforce resources/subscribe":  "5/subscribe",
	"does not enforce subscriptions/listen": "5/listen",
	"makes the task first":                  "5/tasks",
	"takes a query for another resource":    "R1",
	"decodes before it looks":               "R2",
	"refuses by a tool result":              "X1",
	"rounds ids":                            "X1",
	"names no id":                           "X1",
	"says more":                             "X2",
	"breaks the detail":                     "X2",
	"uses a reserved code":                  "X3",
	"refuses with HTTP status 403":          "X3",
	"puts the key into other errors":        "X5 G1",
	"reports progress first":                "G2",
	"refuses everybody":                     "G5",
	"publishes one form":                    "D1",
	"publishes _meta twice":                 "D1",
	"lists tools without a schema":          "",
	"announces one form":                    "D2",
	"enforces another policy":               "U1 D4",
	"dies of a bad label":                   "L3",
	"takes null for a notification":         "",
	"hides who":                             "",
}

// eraOf are the checks that are only made in one era.
var eraOf = map[string]string{"5/subscribe": stateful, "5/listen": modern}

func TestBrokenServers(t *testing.T) {
	for broken, want := range brokenServers {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			f := &fake{broken: broken}
			r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Self: fakeURI})
			for _, era := range []string{stateful, modern} {
				var expected []string
				for id := range strings.FieldsSeq(want) {
					if only := eraOf[id]; only == "" || only == era {
						expected = append(expected, id)
					}
				}
				failed(t, r, era, expected)
			}
			failed(t, r, "", nil)
		})
	}
}

// failed fails the test unless exactly these checks failed in an era.
func failed(t *testing.T, r *conformance.Report, era string, want []string) {
	t.Helper()
	var got []string
	for _, c := range r.Failed() {
		if c.Era == era {
			got = append(got, c.ID)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return
	}
	t.Errorf("era %q: %v failed, want %v", era, got, want)
	for _, c := range r.Failed() {
		if c.Era == era && !slices.Contains(want, c.ID) {
			t.Logf("%s: %+v", c.ID, c.Failures)
		}
	}
}

// run tests a server and looks at what every report must be.
func run(t *testing.T, target conformance.Target, opts conformance.Options) *conformance.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := conformance.Run(ctx, target, opts)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{r.Server}
	texts = append(texts, r.Notices...)
	for _, c := range r.Checks {
		if (c.Status == conformance.Failed) != (len(c.Failures) > 0) || c.Title == "" ||
			c.Status == conformance.Passed && c.Requests == 0 ||
			(c.Status == conformance.NotRun || c.Status == conformance.NotApplicable) && c.Reason == "" {
			t.Errorf("%+v", c)
		}
		texts = append(texts, c.Reason)
		for _, f := range c.Failures {
			texts = append(texts, f.About, f.Sent, f.Got)
		}
	}
	for _, text := range texts {
		if len(text) > 4*conformance.MaxText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("not fit for a terminal: %q", text)
		}
	}
	return r
}

const patience = 2 * time.Minute

// A server that enforces in one era alone fails there, and in the comparison.
func TestOneEra(t *testing.T) {
	f := &fake{broken: "enforces in one era"}
	r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Self: fakeURI})
	failed(t, r, modern, nil)
	failed(t, r, "", []string{"G4"})
	failed(t, r, stateful, slices.DeleteFunc(strings.Fields(brokenServers["ignores labels"]), func(id string) bool { return eraOf[id] == modern }))
}

// What need not be harmless runs once where it should have been refused, and never again.
func TestStopsAfterOneRun(t *testing.T) {
	f := &fake{broken: "ignores labels", write: true}
	fakeURL := f.start(t)
	r := run(t, conformance.Target{URL: fakeURL}, conformance.Options{Era: stateful})
	f.mu.Lock()
	runs := maps.Clone(f.runs)
	f.mu.Unlock()
	for what, n := range runs {
		if n != 1 && !strings.HasSuffix(what, " bare") && !strings.HasSuffix(what, " closed") && !strings.HasSuffix(what, " gold") {
			t.Errorf("%s ran %d times", what, n)
		}
	}
	if len(runs) < 6 || r.Count(conformance.NotRun) == 0 {
		t.Errorf("%v, %d not run", runs, r.Count(conformance.NotRun))
	}
}

// A server that keeps the rules runs what may run, and nothing else.
func TestRunsNothingElse(t *testing.T) {
	f := &fake{}
	run(t, conformance.Target{URL: f.start(t)}, conformance.Options{})
	want := map[string]int{stateful + " tools/call tool look": 2, modern + " tools/call tool look": 2}
	if !maps.Equal(f.runs, want) {
		t.Errorf("%v ran", f.runs)
	}
	f = &fake{write: true}
	run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Era: modern})
	if n := f.runs[modern+" tools/call tool look"]; n != 0 {
		t.Errorf("it ran %d times without leave", n)
	}
}

// The package documentation names every check, and says of every other rule why it has
// none. There is no rule of which neither is true.
func TestDocumentedChecks(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " ")
	rules, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{}
	r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{})
	seen := map[string]string{}
	for _, c := range r.Checks {
		if !strings.Contains(doc, c.ID) && (c.ID < "L1" || c.ID > "L8") {
			t.Errorf("doc.go does not name %s", c.ID)
		}
		rule, _, routes := strings.Cut(c.ID, "/")
		if routes {
			rule = "section " + rule
		}
		seen[rule] = "checked"
	}
	for _, u := range r.Unchecked {
		if !strings.Contains(doc, u.String()+".") || u.Because == "" {
			t.Errorf("doc.go does not say: %s", u.String())
		}
		for _, rule := range u.Rules {
			if seen[rule] != "" {
				t.Errorf("%s is %s, and not checked", rule, seen[rule])
			}
			seen[rule] = "named"
		}
	}
	all := regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+|section [0-9]+) \|`).FindAllSubmatch(rules, -1)
	for _, rule := range all {
		if seen[string(rule[1])] == "" {
			t.Errorf("%s is neither checked nor named", rule[1])
		}
		delete(seen, string(rule[1]))
	}
	if len(seen) > 0 || len(all) < 40 || len(r.Checks) < 60 {
		t.Errorf("%d rules, %d checks, and no rules are %v", len(all), len(r.Checks), seen)
	}
}
