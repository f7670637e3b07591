package conformance_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowgate-mcp/flowgate/conformance"
)

// examples is where the example servers are built, once.
var examples string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flowgate-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	examples = dir
	const module = "github.com/flowgate-mcp/flowgate/examples/"
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), module+"records-server", module+"webfetch-server")
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}

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
	}, nil},
	{"webfetch-server", []string{"-dir"}, conformance.Options{},
		[]string{"5/tasks", "5/resources", "5/prompts", "5/completion", "P5", "G5", "D1"}},
}

// Both example servers keep every rule that can be tried on them, on both transports.
func TestExampleServers(t *testing.T) {
	for _, s := range exampleServers {
		args := s.args
		if args != nil {
			args = append(args, t.TempDir())
		}
		binary := filepath.Join(examples, s.name)
		t.Run(s.name+"/stdio", func(t *testing.T) {
			t.Parallel()
			r := run(t, conformance.Target{Command: append([]string{binary, "-stdio"}, args...)}, s.opts)
			allPassed(t, r, s.none)
		})
		t.Run(s.name+"/http", func(t *testing.T) {
			t.Parallel()
			r := run(t, conformance.Target{URL: start(t, binary, args...)}, s.opts)
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

// start runs an example server over HTTP and returns the URL of its endpoint.
func start(t *testing.T, binary string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", binary, err)
		}
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return url
		}
	}
	t.Fatalf("%s does not listen", binary)
	return ""
}
