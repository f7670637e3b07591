// Package servetest runs an example server inside a test, over real HTTP or
// over stdio pipes, and speaks JSON-RPC with it at the level of the wire, in
// both protocol eras and with origin labels.
package servetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

// patience is how long a test waits for anything before it fails.
const patience = 20 * time.Second

// RunFunc is a server's run function.
type RunFunc func(context.Context, serve.Env) error

// Context returns a context that ends with the test, or when a test has waited
// for too long.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Env returns an environment with these variables and arguments, without
// input, whose output is thrown away.
func Env(vars map[string]string, args ...string) serve.Env {
	return serve.Env{
		Args:      args,
		LookupEnv: func(key string) (string, bool) { v, ok := vars[key]; return v, ok },
		Stdin:     strings.NewReader(""),
		Stdout:    io.Discard,
		Stderr:    io.Discard,
	}
}

// process is a run function in a goroutine of its own.
type process struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has returned
	err  error         // valid then
}

func start(run RunFunc, env serve.Env) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx, env)
	}()
	return p
}

// wait waits until the process has returned, and returns its error.
func (p *process) wait(t testing.TB) error {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timeout.C:
		return errors.New("the server did not end")
	}
}

// stderr keeps what a server writes for people, and picks out the address that
// it listens on.
type stderr struct {
	url chan string // gets the URL once

	mu    sync.Mutex
	text  strings.Builder
	found bool
	more  chan struct{} // closed and replaced when there is more text
}

func newStderr() *stderr { return &stderr{url: make(chan string, 1), more: make(chan struct{})} }

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	close(s.more)
	s.more = make(chan struct{})
	for line := range strings.Lines(s.text.String()) {
		url, ok := strings.CutPrefix(line, "listening on ")
		if ok && !s.found && strings.HasSuffix(url, "\n") {
			s.found = true
			s.url <- strings.TrimSpace(url)
		}
	}
	return len(p), nil
}

func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait waits until the server has written text.
func (s *stderr) wait(t testing.TB, text string) {
	t.Helper()
	ctx := Context(t)
	for {
		s.mu.Lock()
		have, more := s.text.String(), s.more
		s.mu.Unlock()
		if strings.Contains(have, text) {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("the server has not written %q: %s", text, have)
		}
	}
}
