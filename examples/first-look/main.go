// First-look shows in one run what flowgate does. It builds and starts the
// records server of this repository, calls one of its tools twice over HTTP, and
// prints what goes over the wire: the same call, first with only the user among the
// contributors, then with a page that an unverified server fetched.
//
//	go run ./examples/first-look
//
// The exit status is 0 only if the first call ran and the second did not. It needs
// the go command and leaves nothing behind.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// deadline bounds the whole run, of which the build takes the most.
const deadline = 5 * time.Minute

const serverPackage = "github.com/flowgate-mcp/flowgate/examples/records-server"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "first-look: %v\n", err)
		os.Exit(1)
	}
}

// run does everything and reports the first thing that is not as it should be.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "first-look-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	fmt.Fprintln(out, "Building the records server ...")
	program := filepath.Join(dir, "records-server")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, serverPackage).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	srv, err := start(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	fmt.Fprintf(out, "It listens on %s. Its tool export_records accepts only %s.\n\n", srv.url, `["self","user"]`)

	for _, s := range steps {
		fmt.Fprintf(out, "%s\n  label:  %s\n", s.title, s.label)
		refused, answer, err := srv.call(ctx, s.label)
		if err != nil {
			return err
		}
		runs, err := srv.runs(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  answer: %s\n  so far the tool has run %d time(s)\n\n", shorten(answer, 330), runs)
		if refused != s.refused || runs != 1 {
			return fmt.Errorf("%s: refused=%t and %d runs, want refused=%t and 1 run", s.title, refused, runs, s.refused)
		}
	}
	fmt.Fprintln(out, "The two calls differ in nothing but where their data came from.")
	return nil
}

// step is one call and what must come of it.
type step struct {
	title   string
	label   string
	refused bool
}

var steps = []step{
	{
		title: "1. The user asked for the export.",
		label: `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`,
	},
	{
		title: "2. The same call, but a fetched web page is in the model's context.",
		label: `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},` +
			`{"principal":"https://mcp.webfetch.example/mcp","assurance":"unverified"}],"complete":true}`,
		refused: true,
	},
}

// records is a running records server.
type records struct {
	cmd *exec.Cmd
	url string // of the MCP endpoint
}

// start runs the server on a free port and waits until it says which.
func start(ctx context.Context, program string) (*records, error) {
	cmd := exec.CommandContext(ctx, program, "-addr", "127.0.0.1:0", "-debug")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &records{cmd: cmd}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			r.url = url
			break
		}
	}
	if r.url == "" {
		_ = cmd.Process.Kill()
		return nil, errors.Join(errors.New("the records server did not start"), cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return r, nil
}

// stop asks the server to end and waits for it.
func (r *records) stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return r.cmd.Wait()
}

// call sends the tool call with the given label. refused is true if the answer is
// a refusal by flow policy; any other error is an error of this program.
func (r *records) call(ctx context.Context, label string) (refused bool, answer string, err error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_records",` +
		`"arguments":{"table":"customers"},"_meta":{"io.modelcontextprotocol/flowOrigin":` + label + `}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		return false, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	text, err := fetch(req)
	if err != nil {
		return false, "", err
	}
	var message struct{ Error json.RawMessage }
	if err := json.Unmarshal(text, &message); err != nil {
		return false, "", fmt.Errorf("the answer is no JSON: %w", err)
	}
	if message.Error != nil {
		_, refused, err = flowerrors.ReadViolation(message.Error)
		if err == nil && !refused {
			err = fmt.Errorf("the call failed: %s", message.Error)
		}
	}
	return refused, string(bytes.TrimSpace(text)), err
}

// runs asks how often the tool has run.
func (r *records) runs(ctx context.Context) (int, error) {
	url := strings.TrimSuffix(r.url, "/mcp") + "/debug/invocations"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	text, err := fetch(req)
	if err != nil {
		return 0, err
	}
	var counts map[string]int
	err = json.Unmarshal(text, &counts)
	return counts["export_records"], err
}

func fetch(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

// shorten cuts a long answer for the terminal.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + " ..."
}
