package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// listenSSE serves h, the legacy HTTP+SSE transport, for the test's duration. Its
// requests go out in posts and its answers come back on one stream, so a test sees it
// as a pair of streams with one message a line.
func listenSSE(t testing.TB, h http.Handler, ran *tally) *stdioLine {
	t.Helper()
	ts := httptest.NewServer(h)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.URL+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		resp.Body.Close()
		ts.Close()
	})
	in := bufio.NewReader(resp.Body)
	endpoint := ""
	for line := ""; line != "\r\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatalf("the stream ended before it named its endpoint: %v", err)
		}
		if path, ok := strings.CutPrefix(line, "data: "); ok {
			endpoint = ts.URL + strings.TrimSpace(path)
		}
	}
	l := &stdioLine{in: poster{t, ts.Client(), endpoint}, out: make(chan string, 1024), ran: ran}
	go func() {
		defer close(l.out)
		for {
			line, err := in.ReadString('\n')
			if msg, ok := strings.CutPrefix(line, "data: "); ok {
				l.out <- msg
			}
			if err != nil {
				return
			}
		}
	}()
	l.greet(t)
	return l
}

// poster posts each line that is written to it.
type poster struct {
	t        testing.TB
	client   *http.Client
	endpoint string
}

func (p poster) Write(line []byte) (int, error) {
	resp, err := p.client.Post(p.endpoint, "application/json", strings.NewReader(string(line)))
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted || len(body) > 0 {
		return 0, fmt.Errorf("a message was answered with %s %q, %v", resp.Status, body, err)
	}
	return len(line), nil
}

func (p poster) Close() error { return nil }

// gatedSSE is R behind a gate on the legacy transport.
func gatedSSE(t testing.TB) (*recipient, *middleware.SSEHandler) {
	t.Helper()
	r := newRecipient()
	_, h := serveSSE(t, r.server)
	return r, h
}

// serveSSE puts a gate before s and takes the legacy transport from it.
func serveSSE(t testing.TB, s *server.MCPServer) (*middleware.Gate, *middleware.SSEHandler) {
	t.Helper()
	g, err := middleware.New(s, config())
	if err != nil {
		t.Fatal(err)
	}
	h, err := g.SSE()
	if err != nil {
		t.Fatal(err)
	}
	return g, h
}

// TestMatrixLegacySSE is the matrix on the legacy HTTP+SSE transport (case 39): its
// answers leave on another connection than the one that asked.
func TestMatrixLegacySSE(t *testing.T) {
	r, h := gatedSSE(t)
	l := namedLine{"legacy SSE", listenSSE(t, h, r.ran)}
	id := 0
	for _, e := range eras {
		for _, rt := range routes {
			for _, lb := range labels {
				t.Run(string(e)+"/"+rt.name+"/"+lb.name, func(t *testing.T) {
					id++
					checkCell(t, l, e, rt, lb, strconv.Itoa(9007199254740000+id))
				})
			}
		}
	}
}

// Each stream has its own requests: what one session asks for is answered there, and
// ids that two sessions share do not meet.
func TestLegacySSESessions(t *testing.T) {
	r, h := gatedSSE(t)
	a, b := listenSSE(t, h, r.ran), listenSSE(t, h, r.ran)
	refusedCall, acceptedCall := call("export", "").with(labelX), call("export", "").with(labelU)
	for range 20 {
		a.send(t, refusedCall.body(legacy))
		b.send(t, acceptedCall.body(legacy))
		if m := string(a.next(t)); !strings.Contains(m, `"code":403`) {
			t.Errorf("the refused session got %s", m)
		}
		if m := string(b.next(t)); !strings.Contains(m, `"result"`) {
			t.Errorf("the accepted session got %s", m)
		}
	}
	if got := r.ran.take()["export"]; got != 20 {
		t.Errorf("export ran %d times, want 20", got)
	}
}

// A middleware that swallows the refusal changes nothing on this transport either
// (G3), and hooks that were replaced stop gated requests before mcp-go sees them (G6).
func TestLegacySSETampering(t *testing.T) {
	swallow := wrapper(func(next func() error) (bool, error) { _ = next(); return true, nil })
	r := newRecipient(swallow.author()...)
	_, h := serveSSE(t, r.server)
	l := listenSSE(t, h, r.ran)
	if m := string(l.exchange(t, legacy, call("export", "").with(labelX)).messages[0]); !strings.Contains(m, `"code":403`) {
		t.Errorf("got %s", m)
	}
	server.WithHooks(&server.Hooks{})(r.server)
	for _, rq := range []request{call("export", "").with(labelU), {method: "completion/complete",
		params: `"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"id","value":""}`, label: labelU}} {
		if m := string(l.exchange(t, legacy, rq).messages[0]); !strings.Contains(m, `"code":-32603`) {
			t.Errorf("%s: got %s", rq.method, m)
		}
	}
	sameCounts(t, l.took(t))
}
