package proctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limits are how long a process may take. Nothing waits for as long unless something is
// wrong.
type limits struct {
	ready time.Duration // to say where it listens
	grace time.Duration // to end, for each way to ask it to
}

const (
	usualReady = time.Minute
	usualGrace = 30 * time.Second
)

// Process is a server that runs until its test ends.
type Process struct {
	URL string // what it says that it listens on

	cmd    *exec.Cmd
	limits limits
	out    *output
	done   chan struct{} // closed when it has ended and its output is whole
	err    error         // of cmd.Wait, valid then
	once   sync.Once     // for Stop
}

// Start starts a server and waits until it says where it listens, for a minute or until ctx
// ends. Its outputs are read here; everything else is as cmd says. It is stopped with
// the test, if the test has not done so.
func Start(ctx context.Context, t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p, err := start(ctx, cmd, limits{usualReady, usualGrace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(t) })
	return p
}

// Stop asks the server to end, waits until it has, and returns what it wrote. A server that
// had ended before, that does not end by itself, or whose exit status is not 0 is an error
// of the test. More calls than one do nothing more.
func (p *Process) Stop(t testing.TB) (output string) {
	t.Helper()
	p.once.Do(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p.out.String()
}

// start is Start for tests of this package. When it fails, no process is left.
func start(ctx context.Context, cmd *exec.Cmd, l limits) (*Process, error) {
	p := &Process{cmd: cmd, limits: l, out: &output{url: make(chan string, 1)}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	cmd.WaitDelay = l.grace // for what it has started and left behind, which holds the output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, l.ready, fmt.Errorf("waited for %v", l.ready))
	defer cancel()
	select {
	case p.URL = <-p.out.url:
		return p, nil
	case <-p.done:
		return nil, p.failed("ended before it said where it listens: " + p.ended())
	case <-ctx.Done():
		p.end(syscall.SIGQUIT, os.Kill)
		return nil, p.failed("does not say where it listens: " + context.Cause(ctx).Error())
	}
}

func (p *Process) stop() error {
	select {
	case <-p.done:
		return p.failed("ended before it was asked to: " + p.ended())
	default:
	}
	if p.end(syscall.SIGTERM, syscall.SIGQUIT, os.Kill) != syscall.SIGTERM {
		return p.failed(fmt.Sprintf("did not end within %v of being asked to", p.limits.grace))
	}
	if p.err != nil {
		return p.failed("was asked to end, and did with: " + p.ended())
	}
	return nil
}

// end sends one signal after the other until the process has ended, and returns the last
// one that it sent. After os.Kill, which has to come last, it waits without a limit.
func (p *Process) end(signals ...os.Signal) (last os.Signal) {
	for _, last = range signals {
		if err := p.cmd.Process.Signal(last); err != nil && !errors.Is(err, os.ErrProcessDone) {
			continue // not every system has every signal
		}
		select {
		case <-p.done:
			return last
		case <-time.After(p.limits.grace):
		}
	}
	<-p.done
	return last
}

// ended says how the process did.
func (p *Process) ended() string {
	if p.err != nil {
		return p.err.Error()
	}
	return p.cmd.ProcessState.String()
}

// failed is an error that shows what the process wrote.
func (p *Process) failed(what string) error {
	text := p.out.String()
	if text == "" {
		text = "It wrote nothing."
	}
	return fmt.Errorf("%s %s\n%s", filepath.Base(p.cmd.Path), what, text)
}

// output keeps what a process writes, and picks out where it listens.
type output struct {
	url chan string // gets the first URL

	mu    sync.Mutex
	text  []byte
	lines int // how much of text are lines that were looked at
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	for {
		line, _, whole := bytes.Cut(o.text[o.lines:], []byte("\n"))
		if !whole {
			return len(p), nil
		}
		o.lines += len(line) + 1
		if url, ok := strings.CutPrefix(string(line), "listening on "); ok {
			select {
			case o.url <- url:
			default: // Only the first one counts. A later one may stay here, where nobody reads it.
			}
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
