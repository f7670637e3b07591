package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
)

// endpoint is an MCP endpoint as far as package serve knows.
type endpoint struct{ http.HandlerFunc }

func (endpoint) Shutdown(context.Context) error { return nil }

// web runs an endpoint on a free port.
func web(t *testing.T, h serve.HTTP, f http.HandlerFunc) *st.HTTP {
	t.Helper()
	return st.Start(t, func(ctx context.Context, env serve.Env) error {
		h.MCP, h.Log, h.Stderr = endpoint{f}, slog.New(slog.DiscardHandler), env.Stderr
		return h.Run(ctx, env.Args[1])
	}, nil)
}

func TestPanicsAreAnswered(t *testing.T) {
	s := web(t, serve.HTTP{}, func(http.ResponseWriter, *http.Request) { panic("boom") })
	if resp := s.Do(st.Context(t), t, st.Legacy, "ping", nil, st.None); resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestCrossOriginCallsAreRefused(t *testing.T) {
	s := web(t, serve.HTTP{}, func(http.ResponseWriter, *http.Request) {})
	for origin, want := range map[string]int{
		strings.TrimSuffix(s.URL, "/mcp"): http.StatusOK,
		"https://evil.example":            http.StatusForbidden,
		"null":                            http.StatusForbidden,
	} {
		if resp := s.With("Origin", origin).Do(st.Context(t), t, st.Legacy, "ping", nil, st.None); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", origin, resp.StatusCode, want)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	read := make(chan error, 1)
	s := web(t, serve.HTTP{}, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	for size, tooBig := range map[int]bool{6 << 20: false, 17 << 20: true} {
		req, err := http.NewRequestWithContext(st.Context(t), http.MethodPost, s.URL, strings.NewReader(strings.Repeat("a", size)))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil { // the server may hang up first
			resp.Body.Close()
		}
		var limit *http.MaxBytesError
		if err := <-read; errors.As(err, &limit) != tooBig {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestEndlessRequestsEndWithTheServer(t *testing.T) {
	started := make(chan struct{})
	s := web(t, serve.HTTP{Drain: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	var client sync.WaitGroup
	client.Go(func() { s.Get(t, "/mcp") })
	<-started
	s.Stop(t) // in well under an hour
	client.Wait()
}

func TestCallsThatDoNotEndAreCancelled(t *testing.T) {
	started, cancelled := make(chan struct{}), make(chan struct{})
	s := web(t, serve.HTTP{Drain: time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(cancelled)
	})
	var client sync.WaitGroup
	client.Go(func() { s.Do(st.Context(t), t, st.Legacy, "tools/call", nil, st.None) })
	<-started
	s.Stop(t)
	<-cancelled
	client.Wait()
}

func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h := serve.HTTP{MCP: endpoint{}, Log: slog.New(slog.DiscardHandler), Stderr: io.Discard}
	for addr, hint := range map[string]string{
		taken.Addr().String(): "; use another port, or port 0",
		"8080":                "; use host:port",
		"127.0.0.1:8080:":     "; use host:port",
		"127.0.0.1:65536":     "; use host:port",
		"127.0.0.1:nowhere":   "", // net's own words say what is wrong
	} {
		err := h.Run(st.Context(t), addr)
		if err == nil || !strings.Contains(err.Error(), hint) || strings.Count(err.Error(), "listen") != 1 {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestListening(t *testing.T) {
	tests := []struct {
		addr, open string
		warns      bool
	}{
		{"127.0.0.1:0", "come in", false},
		{":0", "come in", true},
		{"0.0.0.0:0", "come in", true},
		{":0", "", false}, // asks for tokens
	}
	for _, tt := range tests {
		t.Run(tt.addr+tt.open, func(t *testing.T) {
			s := st.Start(t, func(ctx context.Context, env serve.Env) error {
				log := serve.Logger(env.Stderr, env, false)
				h := serve.HTTP{MCP: endpoint{}, Open: tt.open, Log: log, Stderr: env.Stderr}
				return h.Run(ctx, tt.addr)
			}, nil)
			if warned := strings.Contains(s.Stderr(), "WRN come in"); warned != tt.warns {
				t.Errorf("stderr %s", s.Stderr())
			}
			if !strings.HasPrefix(s.URL, "http://127.0.0.1:") || !strings.HasSuffix(s.URL, "/mcp") {
				t.Errorf("URL %s", s.URL)
			}
			if status, _ := s.Get(t, "/healthz"); status != http.StatusOK {
				t.Errorf("%s: status %d", s.URL, status)
			}
		})
	}
}

func TestInvocations(t *testing.T) {
	calls := serve.NewInvocations()
	calls.Declare("a")
	calls.Hit("b")
	calls.Hit("b")
	w := httptest.NewRecorder()
	calls.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/invocations", nil))
	var n map[string]int
	if err := json.Unmarshal(w.Body.Bytes(), &n); err != nil {
		t.Fatal(err)
	}
	if len(n) != 2 || n["a"] != 0 || n["b"] != 2 {
		t.Errorf("%v", n)
	}
	n["b"] = 7
	if calls.Snapshot()["b"] != 2 {
		t.Error("the snapshot is not a copy")
	}
}

func TestOptionalSession(t *testing.T) {
	var m serve.OptionalSession
	for id, ok := range map[string]bool{"": true, m.Generate(): true, "x": false, "mcp-session-": false} {
		if _, err := m.Validate(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
