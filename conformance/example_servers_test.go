package conformance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/flowgate-mcp/flowgate/conformance"
	"github.com/flowgate-mcp/flowgate/internal/proctest"
)

// programs are the example servers.
var programs proctest.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// exampleServers are the servers, with what is left out because they do not offer it.
var exampleServers = []struct {
	name string
	args []string
	opts conformance.Options
	none []string // the checks that do not apply, or are not run
}{
	{"records-server", nil, conformance.Options{
		Self: "https://mcp.records.example/mcp",
		Run:  map[string]json.RawMessage{"export_records": json.RawMessage(`{"table":"products"}`)},
	}, []string{"P3", "U3"}},
	{"webfetch-server", []string{"-dir"}, conformance.Options{Self: "https://mcp.webfetch.example/mcp"},
		[]string{"5/tasks", "5/resources", "5/prompts", "5/completion", "P3", "P5", "U3", "R3", "G3", "G5", "D1"}},
}

// Both example servers keep every rule that can be tried on them, on both transports.
func TestExampleServers(t *testing.T) {
	for _, s := range exampleServers {
		args := s.args
		if args != nil {
			args = append(args, t.TempDir())
		}
		binary := programs.Build(t, "", "github.com/flowgate-mcp/flowgate/examples/"+s.name)
		t.Run(s.name+"/stdio", func(t *testing.T) {
			t.Parallel()
			r := run(t, conformance.Target{Command: append([]string{binary, "-stdio"}, args...)}, s.opts)
			allPassed(t, r, s.none)
		})
		t.Run(s.name+"/http", func(t *testing.T) {
			t.Parallel()
			served := proctest.Start(t.Context(), t, exec.Command(binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...))
			r := run(t, conformance.Target{URL: served.URL}, s.opts)
			allPassed(t, r, s.none)
		})
	}
}

// allPassed fails the test unless every check passed in both eras, but for those that are
// named and those that the other era has.
func allPassed(t *testing.T, r *conformance.Report, none []string) {
	t.Helper()
	left := map[string]bool{"5/subscribe " + modern: true, "5/listen " + stateful: true}
	for _, id := range none {
		left[id+" "+stateful], left[id+" "+modern] = true, true
	}
	if len(r.Checks) < 60 || !r.Tested() {
		t.Errorf("%d checks", len(r.Checks))
	}
	for _, c := range r.Checks {
		name := c.ID + " " + c.Era
		if passed := c.Status == conformance.Passed && c.Reason == ""; passed == left[name] || c.Status == conformance.Failed {
			t.Errorf("%s: %s %s %+v", name, c.Status, c.Reason, c.Failures)
		}
	}
}
