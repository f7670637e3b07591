package mcpgo_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// era is a protocol version.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

// line is a transport to a gated server.
type line struct {
	name string
	eras []era
	open func(testing.TB, *remote) transport.Interface
}

var (
	inProcess  = line{"in process", []era{legacy, modern}, func(_ testing.TB, r *remote) transport.Interface { return r.gated().InProcess() }}
	overHTTP   = line{"http", []era{legacy, modern}, openHTTP}
	overStream = line{"http stream", []era{legacy, modern}, openStream}
	overStdio  = line{"stdio", []era{legacy, modern}, openPipe}
	overSSE    = line{"legacy http+sse", []era{legacy}, openSSE}
)

// everywhere runs a test on every line and in every era that it has.
func everywhere(t *testing.T, test func(*testing.T, line, era)) {
	for _, l := range []line{inProcess, overHTTP, overStream, overStdio, overSSE} {
		for _, e := range l.eras {
			t.Run(l.name+" "+string(e), func(t *testing.T) { test(t, l, e) })
		}
	}
}

func openHTTP(t testing.TB, r *remote) transport.Interface {
	h, err := r.gated().Handler()
	must(err)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.ServeHTTP(w, req)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.types[w.Header().Get("Content-Type")]++
	}))
	t.Cleanup(ts.Close)
	inner, err := transport.NewStreamableHTTP(ts.URL, transport.WithHTTPBasicClient(ts.Client()), transport.WithHTTPLogger(quiet))
	must(err)
	return inner
}

func openStream(t testing.TB, r *remote) transport.Interface {
	r.stream = true
	return openHTTP(t, r)
}

func openSSE(t testing.TB, r *remote) transport.Interface {
	h, err := r.gated().SSE()
	must(err)
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	inner, err := transport.NewSSE(ts.URL + "/sse")
	must(err)
	return inner
}

// oneStdio is held for as long as a server listens on a pipe: mcp-go has one stdio
// session for a process.
var oneStdio sync.Mutex

func openPipe(t testing.TB, r *remote) transport.Interface {
	oneStdio.Lock()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- r.gated().Listen(context.Background(), inR, outW, server.WithErrorLogger(discard))
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		_, _ = io.Copy(io.Discard, outR) // until the server closes its output
		if err := <-done; err != nil {
			t.Errorf("Listen: %v", err)
		}
		oneStdio.Unlock()
	})
	return transport.NewIO(outR, inW, io.NopCloser(nil))
}

// TestLines: the lines over HTTP differ in how they answer.
func TestLines(t *testing.T) {
	for _, l := range []line{overHTTP, overStream} {
		for _, e := range l.eras {
			r := newRecords()
			c, _ := newAgent(t, hostConfig).connect(t, l, e, r, policydecl.Verified)
			_, err := c.ListTools(deadline(t), mcp.ListToolsRequest{})
			permitted(t, err)
			r.mu.Lock()
			if stream := r.types["text/event-stream"] > 0; stream != r.stream || !stream && r.types["application/json"] == 0 {
				t.Errorf("%s %s: %v", l.name, e, r.types)
			}
			r.mu.Unlock()
		}
	}
}

// childEnv makes the test binary a stdio server.
const childEnv = "FLOWGATE_HOST_TEST_CHILD"

// TestMain turns the test binary into a stdio server when a test asks for one.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	r := newRecords()
	if err := middleware.ServeStdio(r.server, middleware.Config{URI: r.uri, Logger: quiet}); err != nil && err != io.EOF {
		os.Exit(1)
	}
}

// TestChild talks to a child process, which ends with the connection.
func TestChild(t *testing.T) {
	for _, e := range []era{legacy, modern} {
		t.Run(string(e), func(t *testing.T) {
			a := newAgent(t, hostConfig)
			c, _ := a.dial(t, e, records(policydecl.Verified), transport.NewStdio(os.Args[0], []string{childEnv + "=1"}, "-test.run=^$"))
			ctx, p := a.turn(t)
			_, err := c.CallTool(ctx, call("export"))
			permitted(t, err)
			p.Add(unverified(t, a))
			_, err = c.CallTool(ctx, call("export"))
			a.refusedBy(t, "blocked-by-policy", err)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
