package servetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

// Stdio is a server behind two pipes. mcp-go has one stdio session for the
// whole process, so only one may run at a time.
type Stdio struct {
	proc     *process
	stdin    *io.PipeWriter
	messages chan Message
	stderr   *stderr
	id       int
}

// StartStdio runs a server on pipes. It is stopped with the test.
func StartStdio(t testing.TB, run RunFunc, vars map[string]string, args ...string) *Stdio {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &Stdio{stdin: inW, messages: make(chan Message, 256), stderr: newStderr()}
	env := Env(vars, append([]string{"-stdio"}, args...)...)
	env.Stdin, env.Stdout, env.Stderr = inR, outW, s.stderr
	s.proc = start(func(ctx context.Context, env serve.Env) error {
		defer outW.Close()
		return run(ctx, env)
	}, env)
	go s.read(outR)
	t.Cleanup(func() {
		if err := s.Close(t); err != nil {
			t.Errorf("the server ended with %v\n%s", err, s.stderr)
		}
	})
	return s
}

func (s *Stdio) read(out io.Reader) {
	defer close(s.messages)
	dec := json.NewDecoder(out)
	for {
		var m Message
		if dec.Decode(&m) != nil {
			return
		}
		s.messages <- m
	}
}

// Close ends the server's input and waits until the server has ended.
func (s *Stdio) Close(t testing.TB) error {
	t.Helper()
	s.stdin.Close()
	return s.proc.wait(t)
}

// Interrupt asks the server to end, as a signal does, and waits until it has.
func (s *Stdio) Interrupt(t testing.TB) error {
	t.Helper()
	s.proc.stop()
	return s.proc.wait(t)
}

// Stderr returns what the server has written for people.
func (s *Stdio) Stderr() string { return s.stderr.String() }

// Call writes a request and reads until its answer.
func (s *Stdio) Call(t testing.TB, era Era, method string, params Params, label Label) *Reply {
	t.Helper()
	s.id++
	if _, err := fmt.Fprintf(s.stdin, "%s\n", request(t, era, s.id, method, params, label)); err != nil {
		t.Fatal(err)
	}
	ctx := Context(t)
	reply := &Reply{}
	for {
		select {
		case m, ok := <-s.messages:
			if !ok {
				t.Fatalf("the output ended\n%s", s.stderr)
			}
			if m.Method == "" && string(m.ID) == strconv.Itoa(s.id) {
				reply.Message = m
				return reply
			}
			reply.Before = append(reply.Before, m)
		case <-ctx.Done():
			t.Fatalf("no answer to %s\n%s", method, s.stderr)
		}
	}
}
