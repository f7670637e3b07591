//go:build interop

package interop

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/proctest"
)

// suiteScript is the command line of the official MCP conformance suite.
const suiteScript = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// suiteTime is for one run of the suite and everything that it waits for itself.
const suiteTime = 2 * time.Minute

// bare is the mode of the server without a gate.
const bare = "none"

// suiteModes are the modes of the server; what the suite says must be the same in all.
var suiteModes = []string{bare, "off", "enforce", "report"}

// suiteRuns are the runs of the suite: its active scenarios, in the protocol of
// 2025-11-25, and what the revision 2026-07-28 requires.
var suiteRuns = map[string][]string{"active": nil, modern: {"--requirements", modern}}

// suiteMinimum is how many checks must be made at least, so that a run that has not found
// the server, or its scenarios, is none that has passed.
const suiteMinimum = 60

// expectedFailure is a check that fails in one of the suite's runs without a gate too.
type expectedFailure struct {
	Run      string `json:"run"`
	Scenario string `json:"scenario"`
	Check    string `json:"check"`
	Why      string `json:"why"`
}

// checked is what the suite says of one check.
type checked struct {
	scenario, id, status, message string
}

func (c checked) String() string { return c.scenario + ":" + c.id + " " + c.status }

// TestSuite runs the official suite against one server in every mode. A gate that stands
// in nobody's way changes no result of it.
func TestSuite(t *testing.T) {
	everything := programs.Build(t, "", "./everything")
	var mu sync.Mutex
	results := map[string]map[string][]checked{}
	for run := range suiteRuns {
		results[run] = map[string][]checked{}
	}
	ran := t.Run("run", func(t *testing.T) {
		for run, args := range suiteRuns {
			for _, mode := range suiteModes {
				t.Run(run+"/"+mode, func(t *testing.T) {
					t.Parallel()
					got := runSuite(t, everything, mode, args)
					mu.Lock()
					defer mu.Unlock()
					results[run][mode] = got
				})
			}
		}
	})
	if !ran {
		return
	}
	expected := expectedFailures(t)
	for run, byMode := range results {
		for _, mode := range suiteModes[1:] {
			sameChecks(t, run+", "+mode, byMode[mode], byMode[bare])
		}
		for _, fault := range unexpected(byMode[bare], expected[run]) {
			t.Errorf("%s: %s", run, fault)
		}
	}
}

// runSuite runs the suite against a server of its own and returns what it has checked.
func runSuite(t *testing.T, binary, mode string, args []string) []checked {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	url := proctest.Start(ctx, t, exec.Command(binary, "-mode", mode)).URL
	out := t.TempDir()
	args = append([]string{"server", "--url", url, "--output-dir", out}, args...)
	stdout, stderr, code := runNode(ctx, t, nil, suiteScript, args...)
	if code > 1 {
		t.Fatalf("exit status %d\n%s%s", code, stdout, stderr)
	}
	got := readChecks(t, out)
	passed, failed := suiteTotal(t, stdout)
	count := map[string]int{}
	for _, c := range got {
		count[c.status]++
	}
	if count["SUCCESS"] != passed || count[failure] != failed || passed+failed < suiteMinimum {
		t.Fatalf("the suite counts %d passed and %d failed, its files %v", passed, failed, count)
	}
	t.Logf("%d passed, %d failed", passed, failed)
	return got
}

var totalLine = regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed`)

func suiteTotal(t *testing.T, stdout string) (passed, failed int) {
	t.Helper()
	m := totalLine.FindStringSubmatch(stdout)
	if m == nil {
		t.Fatalf("the suite does not say how it went:\n%s", stdout)
	}
	passed, _ = strconv.Atoi(m[1])
	failed, _ = strconv.Atoi(m[2])
	return passed, failed
}

// suiteDir is the name of the directory with the results of one scenario.
var suiteDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readChecks reads what the suite has written, in the order of scenarios and checks.
func readChecks(t *testing.T, dir string) []checked {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []checked
	for _, e := range entries {
		m := suiteDir.FindStringSubmatch(e.Name())
		if m == nil {
			t.Fatalf("%s holds the results of no scenario", e.Name())
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		readJSON(t, filepath.Join(dir, e.Name(), "checks.json"), &checks)
		for _, c := range checks {
			list = append(list, checked{m[1], c.ID, c.Status, c.ErrorMessage})
		}
	}
	slices.SortStableFunc(list, func(a, b checked) int {
		return cmp.Or(cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.id, b.id))
	})
	return list
}

// sameChecks compares the results of two runs, check by check.
func sameChecks(t *testing.T, where string, got, want []checked) {
	t.Helper()
	if len(got) == 0 || len(want) == 0 {
		t.Errorf("%s: there are no results", where)
		return
	}
	count := map[string]int{}
	for _, c := range want {
		count[c.String()]++
	}
	for _, c := range got {
		if count[c.String()]--; count[c.String()] < 0 {
			t.Errorf("%s: %v, which is not so without a gate: %s", where, c, c.message)
		}
	}
	for c, n := range count {
		if n > 0 {
			t.Errorf("%s: without a gate there is %s, and here not", where, c)
		}
	}
}

// expectedFailures reads what is known to fail, by run and by the text of a check.
func expectedFailures(t *testing.T) map[string]map[string]bool {
	t.Helper()
	var list []expectedFailure
	readJSON(t, "expected-failures.json", &list)
	expected := map[string]map[string]bool{}
	for run := range suiteRuns {
		expected[run] = map[string]bool{}
	}
	for _, e := range list {
		name := checked{scenario: e.Scenario, id: e.Check, status: failure}.String()
		switch of := expected[e.Run]; {
		case of == nil:
			t.Errorf("expected-failures.json: %s: there is no run %q", name, e.Run)
		case e.Why == "" || of[name]:
			t.Errorf("expected-failures.json: %s is there twice in one run, or without a reason", name)
		default:
			of[name] = true
		}
	}
	return expected
}

// failure is the status of a check that has failed.
const failure = "FAILURE"

// unexpected compares what fails in one run with what is known to fail in it.
func unexpected(got []checked, expected map[string]bool) (faults []string) {
	seen := map[string]bool{}
	for _, c := range got {
		seen[c.String()] = true
		if c.status == failure && !expected[c.String()] {
			faults = append(faults, fmt.Sprintf("%v is not expected: %s", c, c.message))
		}
	}
	for name := range expected {
		if !seen[name] {
			faults = append(faults, fmt.Sprintf("%s does not fail any more; take it out of expected-failures.json", name))
		}
	}
	return faults
}

// TestUnexpected: a check that fails in a run in which it is not expected to is found, and so is
// one that fails no more, whatever the other run says.
func TestUnexpected(t *testing.T) {
	known := checked{scenario: "s", id: "known", status: failure}
	other := checked{scenario: "s", id: "other", status: failure}
	passes := checked{scenario: "s", id: "known", status: "SUCCESS"}
	expected := map[string]bool{known.String(): true}
	for name, c := range map[string]struct {
		got    []checked
		faults int
	}{
		"as expected":      {[]checked{known}, 0},
		"one more":         {[]checked{known, other}, 1},
		"it passes":        {[]checked{passes}, 1},
		"it is gone":       {nil, 1},
		"another one only": {[]checked{other}, 2},
	} {
		if faults := unexpected(c.got, expected); len(faults) != c.faults {
			t.Errorf("%s: %q, want %d", name, faults, c.faults)
		}
	}
}
