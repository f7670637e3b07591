package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/proctest"
)

// stdioCommand is the command line of a server on stdio. With -debug its last line
// on standard error says how often each handler ran.
func (s server) stdioCommand(t *testing.T) []string {
	return append([]string{s.program(t), "-stdio", "-debug"}, s.args(t)...)
}

// http starts a server on a free port and returns the URL of its endpoint. The server
// ends with the test.
func (s server) http(ctx context.Context, t *testing.T) string {
	t.Helper()
	args := append([]string{"-addr", "127.0.0.1:0", "-debug"}, s.args(t)...)
	return proctest.Start(ctx, t, exec.Command(s.program(t), args...)).URL
}

// stopGently makes the end of cmd's context ask the process to end before it is killed.
func stopGently(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
}

// httpCounts asks a server on HTTP how often each handler ran.
func httpCounts(ctx context.Context, t *testing.T, endpoint string) map[string]int {
	t.Helper()
	url := strings.TrimSuffix(endpoint, "/mcp") + "/debug/invocations"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var counts map[string]int
	if err := json.NewDecoder(resp.Body).Decode(&counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

// stdioCounts takes the same from what a server on stdio has written on standard error.
func stdioCounts(t *testing.T, stderr string) map[string]int {
	t.Helper()
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, "invocations "); ok {
			var counts map[string]int
			if err := json.Unmarshal([]byte(text), &counts); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return counts
		}
	}
	t.Fatalf("the server does not say what has run:\n%s", stderr)
	return nil
}

// output is standard error of a process, which may still write while a test reads.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
