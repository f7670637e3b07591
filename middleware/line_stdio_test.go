package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// childEnv names the server that the test binary becomes.
const childEnv = "FLOWGATE_TEST_CHILD"

// The servers that a child can be.
const (
	childGated   = "gated"
	childUngated = "ungated"
)

// runChild serves R on the process's own stdin and stdout. Two more pipes let the
// parent ask what was counted.
func runChild(name string) {
	r := newRecipient()
	go r.ran.report(os.NewFile(3, "commands"), os.NewFile(4, "reports"))
	var err error
	switch name {
	case childGated:
		err = middleware.ServeStdio(r.server, config())
	case childUngated:
		err = server.ServeStdio(plain(r.server))
	default:
		err = fmt.Errorf("no such child: %s", name)
	}
	if err != nil && err != io.EOF && err != context.Canceled {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report answers the parent's questions.
func (t *tally) report(commands io.Reader, reports io.Writer) {
	for in := bufio.NewScanner(commands); in.Scan(); {
		if what, ok := strings.CutPrefix(in.Text(), "wait "); ok {
			t.wait(context.Background(), what)
			fmt.Fprintln(reports, "{}")
			continue
		}
		b, _ := json.Marshal(t.take())
		fmt.Fprintln(reports, string(b))
	}
}

// stdioLine is a child process.
type stdioLine struct {
	in       io.WriteCloser
	out      chan string // lines of the child's stdout
	flushes  int
	ran      *tally   // of a server in this process
	commands *os.File // to a child
	reports  *bufio.Reader
}

// startChild starts a child for the test's duration. It must end by itself when
// its input does.
func startChild(t testing.TB, name string) *stdioLine {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	commandsR, commandsW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reportsR, reportsW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{commandsR, reportsW}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commandsR.Close()
	reportsW.Close()
	l := &stdioLine{in: in, out: make(chan string, 1024), commands: commandsW, reports: bufio.NewReader(reportsR)}
	go l.read(out)
	t.Cleanup(func() {
		in.Close()
		for range l.out { // until the child closes its output
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the child ended with %v", err)
		}
		cancel()
		commandsW.Close()
		reportsR.Close()
	})
	l.greet(t)
	return l
}

// listenPipe serves stdio over pipes inside this process, for servers that a test
// makes itself. mcp-go has one stdio session for a process, so there is one such
// line at a time.
func listenPipe(t testing.TB, r *recipient, g *middleware.Gate) *stdioLine {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &stdioLine{in: inW, out: make(chan string, 1024), ran: r.ran}
	go l.read(outR)
	done := make(chan error, 1)
	go func() {
		done <- g.Listen(context.Background(), inR, outW, server.WithErrorLogger(log.New(io.Discard, "", 0)))
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		for range l.out { // until the server closes its output
		}
		if err := <-done; err != nil {
			t.Errorf("Listen: %v", err)
		}
	})
	l.greet(t)
	// That session may still hold notifications of an earlier server.
	r.server.SendNotificationToAllClients("notifications/mark", nil)
	for !strings.Contains(string(l.next(t)), "notifications/mark") {
	}
	return l
}

// greet opens the connection as the earlier era does.
func (l *stdioLine) greet(t testing.TB) {
	t.Helper()
	l.send(t, initialize)
	for !strings.Contains(string(l.next(t)), "protocolVersion") {
	}
	l.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (l *stdioLine) read(out io.Reader) {
	defer close(l.out)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			l.out <- line
		}
		if err != nil {
			return
		}
	}
}

func (l *stdioLine) send(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// next returns the next line of the child.
func (l *stdioLine) next(t testing.TB) json.RawMessage {
	t.Helper()
	select {
	case line, ok := <-l.out:
		if !ok {
			t.Fatal("the child is gone")
		}
		if !strings.HasSuffix(line, "\n") || !json.Valid([]byte(line)) {
			t.Fatalf("not a line of JSON: %q", line)
		}
		return json.RawMessage(strings.TrimSuffix(line, "\n"))
	case <-deadline(t).Done():
		t.Fatal("no line came")
	}
	return nil
}

func (l *stdioLine) exchange(t testing.TB, e era, r request) answer {
	t.Helper()
	l.send(t, r.body(e))
	var a answer
	for {
		m := l.next(t)
		a.messages = append(a.messages, m)
		if isAcknowledgement(m) {
			l.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+r.rawID()+`}}`)
			l.next(t) // the result of the listen that has ended
			break
		}
		var got envelope
		if err := json.Unmarshal(m, &got); err != nil {
			t.Fatal(err)
		}
		if got.Method == "" {
			break
		}
	}
	return l.flush(t, a)
}

// flush adds what else the child has written so far.
func (l *stdioLine) flush(t testing.TB, a answer) answer {
	t.Helper()
	l.flushes++
	id := `"flush-` + strconv.Itoa(l.flushes) + `"`
	l.send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
	for {
		m := l.next(t)
		if strings.Contains(string(m), id) {
			return a
		}
		a.messages = append(a.messages, m)
	}
}

func (l *stdioLine) ask(t testing.TB, command string) map[string]int {
	t.Helper()
	fmt.Fprintln(l.commands, command)
	report, err := l.reports.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	if err := json.Unmarshal(report, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func (l *stdioLine) took(t testing.TB) map[string]int {
	t.Helper()
	if l.ran != nil {
		return l.ran.take()
	}
	return l.ask(t, "take")
}

func (l *stdioLine) wait(t testing.TB, what string) {
	t.Helper()
	if l.ran != nil {
		if !l.ran.wait(deadline(t), what) {
			t.Fatalf("%s did not happen: %v", what, l.ran.peek())
		}
		return
	}
	l.ask(t, "wait "+what)
}

func (l *stdioLine) settle(t testing.TB) {
	t.Helper()
	l.next(t) // notifications/tasks/status
}

func (l *stdioLine) object(_ testing.TB, o string) string { return o }
