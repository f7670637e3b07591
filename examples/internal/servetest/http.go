package servetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// HTTP is a server that listens on a port of its own.
type HTTP struct {
	URL    string      // of the endpoint
	Header http.Header // sent with every request

	proc   *process
	stderr *stderr
	id     *atomic.Int64
}

// Start runs a server on a free port. It is stopped with the test.
func Start(t testing.TB, run RunFunc, vars map[string]string, args ...string) *HTTP {
	t.Helper()
	env := Env(vars, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	s := &HTTP{Header: http.Header{}, stderr: newStderr(), id: new(atomic.Int64)}
	env.Stderr = s.stderr
	s.proc = start(run, env)
	t.Cleanup(func() { s.Stop(t) })
	select {
	case s.URL = <-s.stderr.url:
	case <-s.proc.done:
		t.Fatalf("the server ended: %v\n%s", s.proc.err, s.stderr)
	case <-Context(t).Done():
		t.Fatalf("the server does not listen\n%s", s.stderr)
	}
	return s
}

// With returns the same server with one more header on every request.
func (s *HTTP) With(key, value string) *HTTP {
	c := *s
	c.Header = s.Header.Clone()
	c.Header.Set(key, value)
	return &c
}

// Stop asks the server to end and waits until it has.
func (s *HTTP) Stop(t testing.TB) {
	t.Helper()
	s.proc.stop()
	if err := s.proc.wait(t); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.stderr)
	}
}

// Interrupt asks the server to end and returns at once.
func (s *HTTP) Interrupt() { s.proc.stop() }

// Stderr returns what the server has written for people.
func (s *HTTP) Stderr() string { return s.stderr.String() }

// WaitStderr waits until the server has written text for people.
func (s *HTTP) WaitStderr(t testing.TB, text string) {
	t.Helper()
	s.stderr.wait(t, text)
}

// Get fetches a path next to the endpoint.
func (s *HTTP) Get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(Context(t), http.MethodGet, strings.TrimSuffix(s.URL, "/mcp")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// Invocations returns how often each handler ran; the server needs -debug.
func (s *HTTP) Invocations(t testing.TB) map[string]int {
	t.Helper()
	_, body := s.Get(t, "/debug/invocations")
	var n map[string]int
	if err := json.Unmarshal([]byte(body), &n); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return n
}

// Do posts a message and returns the response with its body still to read.
func (s *HTTP) Do(ctx context.Context, t testing.TB, era Era, method string, params Params, label Label) *http.Response {
	t.Helper()
	body := request(t, era, int(s.id.Add(1)), method, params, label)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = s.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if era == Modern {
		req.Header.Set("Mcp-Protocol-Version", string(Modern))
		req.Header.Set("Mcp-Method", method)
		for _, key := range []string{"name", "uri"} {
			if value, ok := params[key].(string); ok {
				req.Header.Set("Mcp-Name", value)
			}
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Call posts a request and reads its answer, whether it is JSON or a stream.
func (s *HTTP) Call(t testing.TB, era Era, method string, params Params, label Label) *Reply {
	t.Helper()
	resp := s.Do(Context(t), t, era, method, params, label)
	defer resp.Body.Close()
	next := Messages(resp)
	reply := &Reply{}
	for {
		m, err := next()
		if err != nil {
			t.Fatalf("status %d, no answer: %v", resp.StatusCode, err)
		}
		if m.Method == "" {
			reply.Message = m
			return reply
		}
		reply.Before = append(reply.Before, m)
	}
}

// Messages returns a function that reads one message after the other from a
// response, which may be JSON or a stream of events.
func Messages(resp *http.Response) func() (Message, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		dec := json.NewDecoder(resp.Body)
		return func() (m Message, err error) {
			err = dec.Decode(&m)
			return m, err
		}
	}
	in := bufio.NewReader(resp.Body)
	return func() (m Message, err error) {
		for {
			line, err := in.ReadString('\n')
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return m, json.Unmarshal([]byte(data), &m)
			}
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return m, err
			}
		}
	}
}
