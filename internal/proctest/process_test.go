package proctest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary a server, see child. tellVariable says that it has one
// more file to write to.
const (
	childVariable = "FLOWGATE_TEST_CHILD"
	tellVariable  = "FLOWGATE_TEST_TELL"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		os.Exit(child(how))
	}
	os.Exit(m.Run())
}

const url = "http://127.0.0.1:1/mcp"

// child is the life of a server. Whatever it is, it ends with the test.
func child(how string) int {
	asked := make(chan os.Signal, 1)
	gone := make(chan bool)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(gone)
	}()
	switch how {
	case "exits":
		fmt.Fprintln(os.Stderr, "no luck")
		return 3
	case "exits silently":
		return 0
	case "hangs":
		fmt.Fprintln(os.Stderr, "loading\nnot listening on "+url)
		hangHere(gone)
		return 0
	case "stays":
		signal.Ignore(syscall.SIGTERM, syscall.SIGQUIT)
	default:
		signal.Notify(asked, syscall.SIGTERM)
	}
	fmt.Println("starting")
	fmt.Fprint(os.Stderr, "listening ")
	fmt.Fprint(os.Stderr, "on "+url+strings.Repeat("\nlistening on elsewhere", 2)+"\n")
	select {
	case <-gone:
		return 0
	case <-asked:
		fmt.Println("bye")
		if how == "fails" {
			return 5
		}
		return 0
	}
}

// hangHere is a name to look for among the stacks. It tells the test that it is there, if the
// test wants to know.
func hangHere(gone <-chan bool) {
	if os.Getenv(tellVariable) != "" {
		_, _ = os.NewFile(3, "tell").Write([]byte("x"))
	}
	<-gone
}

// unlimited waits for as long as go test does.
var unlimited = limits{time.Hour, time.Hour}

// command is the command of a child, and its standard input.
func command(t *testing.T, how string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+how, "GOTRACEBACK=single")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return cmd, in
}

// has fails the test unless the error has all texts.
func has(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("no %q in: %v", text, err)
		}
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failures []string
	cleanup  func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(f func())  { r.cleanup = f }
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }

// run runs a test to its end, and what it has left to do.
func (r *recorder) run(test func()) {
	ended := make(chan bool)
	go func() {
		defer close(ended)
		test()
	}()
	<-ended
	if r.cleanup != nil {
		r.cleanup()
	}
}

func TestStart(t *testing.T) {
	var r recorder
	var p *Process
	cmd, _ := command(t, "serves")
	r.run(func() { p = Start(t.Context(), &r, cmd) })
	select {
	case <-p.done:
	default:
		t.Error("the server runs on after its test")
	}
	if p.URL != url || len(r.failures) > 0 {
		t.Errorf("%q, %q", p.URL, r.failures)
	}
	if out := p.Stop(&r); !strings.HasSuffix(out, "\nbye\n") || !strings.HasPrefix(out, "starting\n") || len(r.failures) > 0 {
		t.Errorf("%q, %q", out, r.failures)
	}
}

// A test fails if its server does, at either end of its life.
func TestFailures(t *testing.T) {
	for how, want := range map[string]string{
		"exits":          " ended before it said where it listens: exit status 3\nno luck\n",
		"exits silently": " ended before it said where it listens: exit status 0\nIt wrote nothing.",
		"fails":          " was asked to end, and did with: exit status 5\nstarting\n",
	} {
		var r recorder
		cmd, _ := command(t, how)
		r.run(func() { Start(t.Context(), &r, cmd) })
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], want) {
			t.Errorf("%s: %q, want %q", how, r.failures, want)
		}
	}
}

// A server that never listens is not waited for once ctx has ended, and says where it hangs.
func TestHangs(t *testing.T) {
	told, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	defer tell.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = told.Read(make([]byte, 1))
		cancel()
	}()
	cmd, _ := command(t, "hangs")
	cmd.Env, cmd.ExtraFiles = append(cmd.Env, tellVariable+"=1"), []*os.File{tell}
	_, err = start(ctx, cmd, unlimited)
	has(t, err, "does not say where it listens: context canceled\nloading\n", "hangHere")
	if cmd.ProcessState == nil {
		t.Error("the server runs on")
	}
}

// Without an end of ctx the deadline ends the wait.
func TestDeadline(t *testing.T) {
	cmd, _ := command(t, "hangs")
	_, err := start(t.Context(), cmd, limits{time.Nanosecond, time.Hour})
	has(t, err, "does not say where it listens: waited for 1ns\n")
	if cmd.ProcessState == nil {
		t.Error("the server runs on")
	}
}

// What does not end when asked to is killed.
func TestKill(t *testing.T) {
	cmd, _ := command(t, "stays")
	p, err := start(t.Context(), cmd, unlimited)
	if err != nil {
		t.Fatal(err)
	}
	p.limits.grace = time.Nanosecond
	has(t, p.stop(), "did not end within 1ns of being asked to\nstarting\n")
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Errorf("the server ended with %v", cmd.ProcessState)
	}
}

// A server that has ended without being asked to was none.
func TestEndsByItself(t *testing.T) {
	cmd, in := command(t, "serves")
	p, err := start(t.Context(), cmd, unlimited)
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	<-p.done
	has(t, p.stop(), "ended before it was asked to: exit status 0\nstarting\n")
}

func TestNoProgram(t *testing.T) {
	_, err := start(t.Context(), exec.Command(os.Args[0]+"-is-not-there"), unlimited)
	has(t, err, "is-not-there")
}
