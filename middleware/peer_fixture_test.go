package middleware_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// logBook is where a gate logs, for tests that read it.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// config is the fixture's configuration with b as its log.
func (b *logBook) config() middleware.Config {
	cfg := config()
	cfg.Logger = slog.New(slog.NewJSONHandler(b, nil))
	return cfg
}

// loggedRefusal is a refusal as the operator reads it.
type loggedRefusal struct {
	Msg, Method, Target, Label, Reason string

	Origin   string `json:"flow.origin"`
	Rejected []string
}

// take returns what was logged since the last time. All of it must be refusals.
func (b *logBook) take(t testing.TB) []loggedRefusal {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []loggedRefusal
	for line := range bytes.Lines(b.buf.Bytes()) {
		var r loggedRefusal
		err := json.Unmarshal(line, &r)
		if err == nil && r.Reason == string(decision.ReasonAmbiguous) && r.Origin == "unknown" {
			continue // what such a message says of the peer has two readings as well
		}
		if err != nil || r.Msg != "request refused by flow policy" {
			t.Errorf("logged: %s", line)
			continue
		}
		out = append(out, r)
	}
	b.buf.Reset()
	return out
}

// wantOrigin asserts that one refusal was logged since the last time, with that origin.
func (b *logBook) wantOrigin(t testing.TB, want string) {
	t.Helper()
	if got := b.take(t); len(got) != 1 || got[0].Origin != want {
		t.Errorf("logged %+v, want one refusal with origin %q", got, want)
	}
}

// initializeWith is an initialize with further members of params.
func initializeWith(members string) request {
	return request{id: "0", method: "initialize", params: `"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"}` + members}
}

// conversation is a client that can say initialize when it likes.
type conversation struct {
	namedLine
	session string // the id that HTTP has given it
}

// initialize begins a session over HTTP, and elsewhere speaks in the one there is.
func (c *conversation) initialize(t testing.TB, members string) answer {
	t.Helper()
	r := initializeWith(members)
	l, ok := c.line.(*httpLine)
	if !ok {
		return c.line.exchange(t, legacy, r)
	}
	resp := l.post(t, deadline(t), r.body(legacy), nil)
	defer resp.Body.Close()
	a := readAnswer(t, resp, func(json.RawMessage) {})
	c.session = a.header.Get("Mcp-Session-Id")
	return a
}

func (c *conversation) ask(t testing.TB, e era, r request) answer {
	t.Helper()
	if l, ok := c.line.(*httpLine); ok {
		return l.exchangeIn(t, e, r, c.session)
	}
	return c.line.exchange(t, e, r)
}

// end ends the session where there is a way to.
func (c *conversation) end(t testing.TB) {
	t.Helper()
	if l, ok := c.line.(*httpLine); ok && c.session != "" {
		l.close(t, c.session)
	}
}

// conversations puts one gate before R on every transport, the legacy one among them.
func conversations(t testing.TB, b *logBook) (*middleware.Gate, *recipient, []*conversation) {
	t.Helper()
	r := newRecipient()
	g, lines := everywhere(t, r, b.config())
	h, err := g.SSE()
	if err != nil {
		t.Fatal(err)
	}
	var out []*conversation
	for _, l := range append(lines, namedLine{"legacy SSE", listenSSE(t, h, r.ran)}) {
		out = append(out, &conversation{namedLine: l})
	}
	return g, r, out
}

// sameBytes asserts that two answers of one gate are the same, but for what is random.
func sameBytes(t testing.TB, got, want answer) {
	t.Helper()
	text := func(a answer) string {
		h := a.header.Clone()
		h.Del("Date")
		h.Del("Mcp-Session-Id")
		return fmt.Sprintf("%d %v %s %s", a.status, h, a.raw, a.messages)
	}
	if text(got) != text(want) {
		t.Errorf("answer %s\n  want %s", text(got), text(want))
	}
}
