package middleware

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// drainGrace is how long requests that were read before the end of the input may
// still take to be answered. mcp-go alone drops what it has not begun. It has to
// suffice for a message of several megabytes on a slow machine, and it bounds how
// long a server whose handler hangs outlives its client.
const drainGrace = 15 * time.Second

// ServeStdio makes the gate for s and serves it on the process's standard input
// and output until the input ends or SIGINT or SIGTERM arrives. It takes the place
// of server.ServeStdio, with the same options.
func ServeStdio(s *server.MCPServer, cfg Config, opts ...server.StdioOption) error {
	g, err := New(s, cfg)
	if err != nil {
		return err
	}
	return g.ServeStdio(opts...)
}

// ServeStdio serves the gated server on the process's standard input and output
// until the input ends or SIGINT or SIGTERM arrives.
func (g *Gate) ServeStdio(opts ...server.StdioOption) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := g.Listen(ctx, os.Stdin, os.Stdout, opts...)
	if g.made() {
		last, done := context.WithTimeout(context.Background(), flushGrace)
		defer done()
		_ = g.Flush(last) // a sink that hangs does not keep the process
	}
	return err
}

// flushGrace is how long ServeStdio waits at the end for sinks.
const flushGrace = 2 * time.Second

// Listen serves the gated server on a pair of streams with one message a line,
// until in ends or ctx is done. mcp-go has one stdio session for a process, so
// call it once at a time.
//
// A last line without a line end counts, and requests that were read are answered
// before Listen returns, for which they have a quarter of a minute.
func (g *Gate) Listen(ctx context.Context, in io.Reader, out io.Writer, opts ...server.StdioOption) error {
	if !g.made() {
		return errZeroGate
	}
	s := server.NewStdioServer(g.server)
	for _, opt := range opts {
		opt(s)
	}
	e := newStreamEdge(g)
	w := &stdioWriter{edge: e, out: out}
	r := &stdioReader{ctx: ctx, edge: e, in: bufio.NewReaderSize(in, 64<<10), out: w}
	err := s.Listen(g.withEdge(ctx, e), r, w)
	w.close() // mcp-go does not wait for the goroutine that sends notifications
	e.conclude()
	return err
}

// stdioReader hands mcp-go one line at a time and notes what each asks for.
type stdioReader struct {
	ctx  context.Context
	edge *streamEdge
	in   *bufio.Reader
	out  *stdioWriter
	line []byte // what mcp-go has not taken yet
	buf  []byte
	end  error
}

// Read gives out the rest of a line and never a part of the next, so that mcp-go
// is done with a line when it asks again.
func (r *stdioReader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		if r.end != nil {
			r.edge.drain(r.ctx)
			return 0, r.end
		}
		r.next()
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// next reads a line of any length, with its line end; one is added to a last line
// that has none.
func (r *stdioReader) next() {
	if cap(r.buf) > 1<<20 {
		r.buf = nil // one long line should not be paid for until the end
	}
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if r.end = err; err == nil {
			break
		}
		if len(bytes.TrimSpace(r.buf)) == 0 {
			r.buf = r.buf[:0]
			return
		}
		r.buf = append(r.buf, '\n')
		break
	}
	r.line = r.buf
	if r.edge.gate.hooksIntact() {
		r.edge.register(r.line)
		return
	}
	// mcp-go might not run the door for this line.
	answer, passed := r.edge.gate.standIn(r.ctx, bytes.TrimSpace(r.line))
	if answer != nil {
		_ = r.out.line(append(answer, '\n'))
		r.line = nil
		return
	}
	passed.mark(r.edge.register(r.line))
}

// stdioWriter is the way out of a stdio connection. mcp-go writes whole lines, but
// from several goroutines and not all under its own lock.
type stdioWriter struct {
	edge   *streamEdge
	mu     sync.Mutex
	out    io.Writer
	held   []byte // a line that is not whole yet
	closed bool
}

// close keeps anything from being written once Listen has returned.
func (w *stdioWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// Write passes each whole line on, or what replaces it.
func (w *stdioWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	if len(w.held) == 0 && bytes.IndexByte(p, '\n') == len(p)-1 {
		return len(p), w.judged(p)
	}
	w.held = append(w.held, p...)
	for {
		i := bytes.IndexByte(w.held, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := w.judged(w.held[:i+1]); err != nil {
			return len(p), err
		}
		w.held = w.held[i+1:]
	}
}

// line writes a line of the gate's own.
func (w *stdioWriter) line(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(p)
	return err
}

// judged writes one line of mcp-go's, or what replaces it. The caller holds w.mu.
func (w *stdioWriter) judged(line []byte) error {
	if resp := wire.ReadResponse(line); resp.Kind != wire.Other {
		msg := bytes.TrimSuffix(line, []byte("\n"))
		if replacement := w.edge.answer(msg, resp); replacement != nil {
			line = append(bytes.Clone(replacement), '\n')
		}
	}
	_, err := w.out.Write(line)
	return err
}
