package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// command returns a command that is asked to end when ctx ends, and killed if it does
// not.
func (d *demo) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return end(cmd) }
	cmd.WaitDelay = graceTime
	d.processes = append(d.processes, cmd)
	return cmd
}

// end asks a process to end. Where there is no such signal it is killed.
func end(cmd *exec.Cmd) error {
	if cmd.Process.Signal(syscall.SIGTERM) == nil {
		return nil
	}
	return cmd.Process.Kill()
}

// remote is a server over HTTP, in a process of its own.
type remote struct {
	url string // of the MCP endpoint

	cmd   *exec.Cmd
	ended chan error
}

// startRemote starts a server on a free port and waits until it says which.
func (d *demo) startRemote(ctx context.Context, program string, args ...string) (*remote, error) {
	said := newStderr()
	r := &remote{cmd: d.command(ctx, d.path(program), append(args, "-addr", "127.0.0.1:0", "-debug")...), ended: make(chan error, 1)}
	r.cmd.Stderr = said
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { r.ended <- r.cmd.Wait() }()
	select {
	case r.url = <-said.url:
		return r, nil
	case err := <-r.ended: // that comes by itself when ctx ends
		return nil, fmt.Errorf("%s did not start: %w: %+q", program, errors.Join(err, ctx.Err()), said.last())
	}
}

// stop asks the server to end and waits until it has.
func (r *remote) stop() error {
	select {
	case err := <-r.ended:
		return fmt.Errorf("the server ended too early: %v", err)
	default:
	}
	_ = end(r.cmd) // an error means that it has ended, and then Wait says how
	return <-r.ended
}

// invocations asks how often each handler has run.
func (r *remote) invocations(ctx context.Context) (map[string]int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(r.url, "/mcp")+"/debug/invocations", nil)
	if err != nil {
		return nil, err
	}
	req.Close = true // one request, one connection, nothing left behind
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return counts(text)
}

// counts reads a server's count of what has run.
func counts(text []byte) (n map[string]int, err error) {
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("no count of handlers in %+q: %w", text, err)
	}
	return n, nil
}

// stderr reads what a server says for people: where it listens, and on stdio at the end
// what has run.
type stderr struct {
	url chan string // gets the URL once

	mu    sync.Mutex
	line  []byte // the last, so far
	whole string // the last whole one
	found bool
}

func newStderr() *stderr { return &stderr{url: make(chan string, 1)} }

// Write takes in some of the output.
func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = append(s.line, p...)
	for {
		line, rest, whole := bytes.Cut(s.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.whole, s.line = string(line), rest
		if url, ok := strings.CutPrefix(s.whole, "listening on "); ok && !s.found {
			s.found = true
			s.url <- url
		}
	}
}

// last returns the last line.
func (s *stderr) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// invocations returns what a server on stdio has said in its last line. The process must
// have ended.
func (s *stderr) invocations() (map[string]int, error) {
	return counts([]byte(strings.TrimPrefix(s.last(), "invocations ")))
}
