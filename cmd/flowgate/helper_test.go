package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/proctest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var update = flag.Bool("update", false, "write the golden files")

// modeVariable makes the test binary a server that misbehaves, see misbehave.
const modeVariable = "FLOWGATE_TEST_MODE"

// programs are flowgate itself and the example servers.
var programs proctest.Programs

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		misbehave(mode)
		os.Exit(0)
	}
	os.Exit(programs.Run(m))
}

// built returns the file of a program of this module.
func built(t *testing.T, name string) string {
	t.Helper()
	return programs.Build(t, "", "github.com/flowgate-mcp/flowgate/"+name)
}

// ran is one run of the program.
type ran struct {
	args     []string
	status   int
	out, err string
}

// flowgate runs the program in process, without a terminal.
func flowgate(t *testing.T, args ...string) ran { return flowgateWith(t.Context(), t, "", args...) }

func flowgateWith(ctx context.Context, t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	a := &app{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &err,
		nonce: func() string { return "0123456789ab" }, grace: time.Minute, // which no server here needs, but on a busy machine
	}
	status := a.run(ctx, args)
	r := ran{args, status, out.String(), err.String()}
	harmless(t, r.out)
	harmless(t, r.err)
	return r
}

// harmless fails the test if a text could do something to a terminal (M3).
func harmless(t *testing.T, s string) {
	t.Helper()
	s = strings.ReplaceAll(s, "\n    \t", "\n") // the flag package's own
	for i, r := range s {
		if (r < ' ' && r != '\n') || r > '~' {
			t.Errorf("%U in the output: %q", r, s[max(0, i-40):min(len(s), i+40)])
			return
		}
	}
}

// golden compares a run with a file of testdata. replace turns what differs from run to
// run into what does not.
func (r ran) golden(t *testing.T, name string, replace ...string) {
	t.Helper()
	text := fmt.Sprintf("$ flowgate %s\n%s", strings.Join(r.args, " "), r.out)
	if r.err != "" {
		text += "--- standard error\n" + r.err
	}
	text += fmt.Sprintf("--- status %d\n", r.status)
	text = strings.NewReplacer(append(replace, programs.Dir()+string(filepath.Separator), "", version(), "VERSION")...).Replace(text)
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; -update writes it anew:\n%s", file, text)
	}
}

// wants fails the test unless the run ended so and said so, on either output.
func (r ran) wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("%q: status %d, want %d", r.args, r.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("%.200q: no %q in\n%.3000s\n%.3000s", r.args, text, r.out, r.err)
		}
	}
}

// example is the command of an example server over stdio.
func example(t *testing.T, name string) []string {
	t.Helper()
	return []string{"-stdio", "--", built(t, "examples/"+name), "-stdio"}
}

// startExample runs an example server over HTTP and returns the URL of its endpoint.
func startExample(t *testing.T, name string, env ...string) string {
	t.Helper()
	cmd := exec.Command(built(t, "examples/"+name), "-addr", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), env...)
	return proctest.Start(t.Context(), t, cmd).URL
}

// saidVariable is what a child says to tools/call: messages with spaces between, % for the
// id. aliveVariable is an address to which a child keeps a connection while it lives.
const (
	saidVariable  = "FLOWGATE_TEST_SAID"
	aliveVariable = "FLOWGATE_TEST_ALIVE"
)

// says is a server over stdio with one tool, for the user alone.
func says(line func() string) {
	for s := line(); s != ""; s = line() {
		var m request
		if json.Unmarshal([]byte(s), &m) != nil || m.ID == nil {
			continue
		}
		answer := `{"jsonrpc":"2.0","id":%,"result":{}}`
		switch m.Method {
		case "initialize":
			answer = `{"jsonrpc":"2.0","id":%,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"flow":{"policy":true}}}}`
		case "tools/list":
			answer = `{"jsonrpc":"2.0","id":%,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["user"]}}]}}`
		case "tools/call":
			if string(m.Params.Meta[policydecl.LabelKey]) != userLabel { // which its policy accepts
				answer = strings.ReplaceAll(os.Getenv(saidVariable), " ", "\n")
			}
		}
		fmt.Println(strings.ReplaceAll(strings.ReplaceAll(answer, "_", " "), "%", string(m.ID)))
	}
}

// misbehave is the life of a server over stdio that is not as it should be.
func misbehave(mode string) {
	in := bufio.NewReader(os.Stdin)
	line := func() string { s, _ := in.ReadString('\n'); return s }
	hello := func() {
		line()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"odd","version":"1"},"capabilities":{"tools":{}}}}`)
		line()
	}
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "main.go:7: undefined: luck\nout of \x1b[31mluck\nexit status 1")
		os.Exit(4)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "banner":
		fmt.Println("\x1b[2Jwelcome")
		hello()
		line()
		fmt.Println(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
	case "dies later":
		hello()
	case "twice":
		hello()
		line()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
	case "says":
		says(line)
	case "stays": // whatever happens
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		conn, err := net.Dial("tcp", os.Getenv(aliveVariable))
		if err != nil {
			os.Exit(9)
		}
		defer conn.Close()
		if os.Getenv(saidVariable) != "" {
			hello()
			line()
			_, _ = conn.Read(make([]byte, 1)) // until the test wants it
			fmt.Println(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
		}
		select {}
	}
}
