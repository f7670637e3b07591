package middleware

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The tests in this file look at the gate's own state, which no peer can see.

// deadlineWriter is a connection that can set deadlines and flush.
type deadlineWriter struct {
	http.ResponseWriter
	read, write bool
}

func (w *deadlineWriter) SetReadDeadline(time.Time) error  { w.read = true; return nil }
func (w *deadlineWriter) SetWriteDeadline(time.Time) error { w.write = true; return nil }
func (w *deadlineWriter) Flush()                           {}

// plainWriter is a writer that can do nothing else.
type plainWriter struct{ http.ResponseWriter }

// TestControllerReachesTheConnection: deadlines set through http.ResponseController
// reach the connection's own writer, and nothing can be flushed that could not be
// flushed before.
func TestControllerReachesTheConnection(t *testing.T) {
	below := &deadlineWriter{ResponseWriter: httptest.NewRecorder()}
	out := &responseWriter{ResponseWriter: below}
	for _, w := range []http.ResponseWriter{out, &flushWriter{out, below}} {
		below.read, below.write = false, false
		c := http.NewResponseController(w)
		if err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})); err != nil || !below.read || !below.write {
			t.Errorf("%T: %v, %+v", w, err, below)
		}
		if w == http.ResponseWriter(out) {
			continue
		}
		if _, ok := w.(http.Flusher); !ok {
			t.Errorf("%T cannot flush", w)
		}
	}
	plain := &responseWriter{ResponseWriter: plainWriter{httptest.NewRecorder()}}
	if _, ok := any(plain).(http.Flusher); ok {
		t.Error("a writer that cannot flush looks as if it could")
	}
	if err := http.NewResponseController(plain).Flush(); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("flushing a writer that cannot: %v", err)
	}
}

// TestNothingIsLeftOnStdio is case 7: after thousands of refused requests, a
// panicking handler, lines that are no requests and a listen that was cancelled,
// the connection remembers nothing.
func TestNothingIsLeftOnStdio(t *testing.T) {
	s := server.NewMCPServer("x", "1", server.WithResourceCapabilities(true, true))
	refuse := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("no luck") }
	if err := AddTool(s, mcp.NewTool("export"), policydecl.AcceptFrom("host"), refuse); err != nil {
		t.Fatal(err)
	}
	s.AddTool(mcp.NewTool("panics"), refuse)
	g, err := New(s, Config{URI: "https://records.example/mcp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	in, out, edge, done := serveForState(t, g)
	const n = manyRequests
	var wg sync.WaitGroup
	wg.Go(func() {
		user := `"_meta":{"` + policydecl.LabelKey + `":{"contributors":[{"assurance":"user"}],"complete":true}}`
		for i := range n {
			io.WriteString(in, `{"jsonrpc":"2.0","id":`+strconv.Itoa(i)+`,"method":"tools/call","params":{"name":"export"}}`+"\n")
		}
		io.WriteString(in, `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"panics",`+user+`}}`+"\n"+
			`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"export"}}`+"\n"+
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"export"}}`+"\n"+"[]\n{}\nnull\n")
	})
	refused := 0
	for in := bufio.NewReader(out); refused < n+1; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "flowPolicyViolation") || strings.Contains(line, "no luck") {
			refused++
		}
	}
	wg.Wait()
	go io.Copy(io.Discard, out)
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	edge.mu.Lock()
	defer edge.mu.Unlock()
	if len(edge.pending) != 0 || edge.waiting != 0 {
		t.Errorf("%d entries are left, %d are waited for", len(edge.pending), edge.waiting)
	}
}

// serveForState is Listen with the edge in hand.
func serveForState(t *testing.T, g *Gate) (io.WriteCloser, io.Reader, *streamEdge, chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	e := &streamEdge{gate: g, pending: make(map[string][]*entry), idle: make(chan struct{}, 1)}
	w := &stdioWriter{edge: e, out: outW}
	r := &stdioReader{ctx: context.Background(), edge: e, in: bufio.NewReader(inR), out: w}
	done := make(chan error, 1)
	stdio := server.NewStdioServer(g.server)
	stdio.SetErrorLogger(log.New(io.Discard, "", 0)) // mcp-go says when its queue is full
	go func() {
		done <- stdio.Listen(g.withEdge(context.Background(), e), r, w)
		outW.Close()
	}()
	return inW, outR, e, done
}
