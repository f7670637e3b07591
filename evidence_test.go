package flowgate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// evidence is what docs/evidence.md must say, made of what is in the repository.
func evidence(t *testing.T) (want []string) {
	t.Helper()
	say := func(format string, args ...any) { want = append(want, fmt.Sprintf(format, args...)) }
	read := func(name string, v any) string {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err == nil && v != nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(text)
	}

	draft := readRows(t, "sep-3193.yaml")
	excluded := 0
	for _, r := range draft {
		if r.Excluded != "" {
			excluded++
		}
	}
	rules := len(readRows(t, "rules.yaml")) - len(gatedMethods)
	say("SHOULD or SHOULD NOT %d times.", len(draft))
	say("%d name checks that run, and %d, both SHOULD,", len(draft)-excluded, excluded)
	say("Each of the %d [rules](rules.md), and each of the %d kinds of gated request,", rules, len(gatedMethods))

	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	evaluator := read("testdata/vectors/evaluate.mjs", nil)
	all, there, kinds := 0, 0, 0
	for _, name := range files {
		var file struct {
			Kind  string
			Count int
		}
		read(name, &file)
		all += file.Count
		if regexp.MustCompile(`(?m)^  ` + file.Kind + `\b`).MatchString(evaluator) {
			there += file.Count
			kinds++
		}
	}
	say("are %d facts", all)
	say("it evaluates %d of them, of %d of the %d kinds,", there, kinds, len(files))

	var failures []struct{ Scenario string }
	read("interop/expected-failures.json", &failures)
	scenarios := map[string]int{}
	for _, f := range failures {
		scenarios[f.Scenario]++
	}
	say("The %d failures are those of mcp-go", len(failures))
	for scenario, n := range scenarios {
		say("| %s | %d |", scenario, n)
	}
	var node struct{ Dependencies map[string]string }
	read("interop/node/package.json", &node)
	const suite = "@modelcontextprotocol/conformance"
	say("The suite is %s %s.", suite, node.Dependencies[suite])
	mcpgo := regexp.MustCompile(`mark3labs/mcp-go (v\S+)`).FindStringSubmatch(read("go.mod", nil))
	say("those of mcp-go %s without us", mcpgo[1])

	targets := 0
	for name := range checksOf(t).tests {
		if strings.Contains(name, ".Fuzz") {
			targets++
		}
	}
	say("There are %d targets.", targets)
	benchmarks := read("docs/benchmarks.md", nil)
	missed, met := strings.Count(benchmarks, "| missed |"), strings.Count(benchmarks, "| met |")
	say("Of %d aims %d are missed:", met+missed, missed)
	say("The first is a form of %v seconds", regexp.MustCompile(`"soak", (\d+)\*time.Second`).FindStringSubmatch(read("soak/soak_test.go", nil))[1])
	return want
}

// The figures of the page on evidence are those of the repository.
func TestEvidence(t *testing.T) {
	text, err := os.ReadFile("docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	page := squeeze(string(text))
	want := evidence(t)
	slices.Sort(want)
	for _, sentence := range want {
		if !strings.Contains(page, sentence) {
			t.Errorf("docs/evidence.md does not say %q", sentence)
		}
	}
}
