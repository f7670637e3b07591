package middleware

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// drainGrace is how long requests that were read before the end of the input may
// still take to be answered. mcp-go alone drops what it has not begun. It has to
// suffice for a message of several megabytes on a slow machine, and it bounds how
// long a server whose handler hangs outlives its client.
const drainGrace = 30 * time.Second

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
	return g.Listen(ctx, os.Stdin, os.Stdout, opts...)
}

// Listen serves the gated server on a pair of streams with one message a line,
// until in ends or ctx is done. mcp-go has one stdio session for a process, so
// call it once at a time.
//
// A last line without a line end counts, and requests that were read are answered
// before Listen returns, for which they have half a minute.
func (g *Gate) Listen(ctx context.Context, in io.Reader, out io.Writer, opts ...server.StdioOption) error {
	s := server.NewStdioServer(g.server)
	for _, opt := range opts {
		opt(s)
	}
	if g.off() {
		return s.Listen(ctx, in, out)
	}
	e := &stdioEdge{gate: g, pending: make(map[string][]*entry), idle: make(chan struct{}, 1)}
	w := &stdioWriter{edge: e, out: out}
	r := &stdioReader{ctx: ctx, edge: e, in: bufio.NewReaderSize(in, 64<<10), out: w}
	return s.Listen(g.withEdge(ctx, e), r, w)
}

// stdioEdge is one stdio connection. mcp-go gives all its messages one context,
// so their entries are found by id: by the text that mcp-go will answer with.
type stdioEdge struct {
	gate *Gate

	mu      sync.Mutex
	pending map[string][]*entry // by wire.IDKey; more than one only for ids that decode alike
	waiting int                 // pending entries that will be answered by themselves
	idle    chan struct{}       // told when waiting gets to 0
}

// register makes the entry for a line that mcp-go will answer under its id. It
// reads the line as mcp-go's dispatcher does, with the same decoder into the same
// members: a line that this cannot decode is answered under the id null, and needs
// no entry.
func (e *stdioEdge) register(line []byte) *entry {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method == "" || absent(m.ID) || !absent(m.Result) {
		return nil // also a notification, or an answer of the client
	}
	key, err := wire.RawIDKey(m.ID)
	if err != nil {
		return nil
	}
	n := &entry{rawID: m.ID, about: about{method: mcp.MCPMethod(m.Method)}}
	n.linger = func() { e.linger(n) }
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending[key] = append(e.pending[key], n)
	e.waiting++
	return n
}

// linger says that the request will be answered only when the connection ends, so
// that nobody waits for it then.
func (e *stdioEdge) linger(n *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !n.endless {
		n.endless = true
		e.settle()
	}
}

// settle counts one request less to wait for. The caller holds e.mu.
func (e *stdioEdge) settle() {
	if e.waiting--; e.waiting == 0 {
		select {
		case e.idle <- struct{}{}:
		default:
		}
	}
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }

func (e *stdioEdge) open(rawID []byte, about about) *entry {
	key, err := wire.RawIDKey(rawID)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	group := e.pending[key]
	for _, n := range group {
		if !n.opened && n.about.method == about.method && bytes.Equal(n.rawID, rawID) {
			n.opened, n.about = true, about
			return n
		}
	}
	if len(group) == 0 {
		return nil // no answer of that id will leave
	}
	n := &entry{rawID: bytes.Clone(rawID), about: about, opened: true, extra: true}
	e.pending[key] = append(group, n)
	return n
}

func (e *stdioEdge) find(id any, about about) *entry {
	key, err := wire.IDKey(id)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return unbound(e.pending[key], about)
}

// answer decides on one answer and forgets its request. Of several requests whose
// ids mcp-go cannot tell apart, one that is refused decides; an answer cannot be
// that of a request which the door has not seen while there is another.
func (e *stdioEdge) answer(resp wire.Response) (replacement []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := string(resp.ID)
	chosen := &entry{rawID: resp.ID} // of an answer that nobody asked for
	if group := e.pending[key]; len(group) > 0 {
		chosen = group[0]
		var best fate
		for i, n := range slices.DeleteFunc(slices.Clone(group), func(n *entry) bool { return !n.seen.Load() }) {
			if f := n.outcome(resp.Kind).fate; i == 0 || preferred(f, best) {
				chosen, best = n, f
			}
		}
	}
	o := chosen.outcome(resp.Kind)
	e.drop(key, chosen)
	if o.fate == pass {
		return nil
	}
	return e.gate.appendAnswer(nil, chosen.rawID, o)
}

// preferred reports whether an entry with fate f is a better match for an answer
// than one with fate best: a refusal decides, and else an answer that may leave is
// that of the request which lets it.
func preferred(f, best fate) bool {
	return f >= reject && best < reject || f == pass && best == fail
}

// drop forgets an entry, and with the last one that was read from the stream all
// others of its key. The caller holds e.mu.
func (e *stdioEdge) drop(key string, n *entry) {
	group := e.pending[key]
	if n.extra {
		// The answer is that of a request which was read.
		i := slices.IndexFunc(group, func(m *entry) bool { return !m.extra && m.seen.Load() })
		n = group[max(i, 0)]
	}
	i := slices.Index(group, n)
	if i < 0 {
		return
	}
	group = slices.Delete(group, i, i+1)
	if slices.IndexFunc(group, func(m *entry) bool { return !m.extra }) < 0 {
		delete(e.pending, key)
	} else {
		e.pending[key] = group
	}
	if !n.endless {
		e.settle()
	}
}

// drain waits until every request that was read has its answer.
func (e *stdioEdge) drain(ctx context.Context) {
	timer := time.NewTimer(drainGrace)
	defer timer.Stop()
	for {
		e.mu.Lock()
		n := e.waiting
		e.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-e.idle:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}

// stdioReader hands mcp-go one line at a time and notes what each asks for.
type stdioReader struct {
	ctx  context.Context
	edge *stdioEdge
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
	intact := r.edge.gate.hooksIntact()
	if !intact {
		// mcp-go would not run the door for this line.
		if answer, refused := r.edge.gate.standIn(r.ctx, bytes.TrimSpace(r.line), &singleEdge{}); refused {
			_ = r.out.line(append(answer, '\n'))
			r.line = nil
			return
		}
	}
	if n := r.edge.register(r.line); n != nil && !intact {
		n.see() // no door will ask for it
	}
}

// stdioWriter is the way out of a stdio connection. mcp-go writes whole lines, but
// from several goroutines and not all under its own lock.
type stdioWriter struct {
	edge *stdioEdge
	mu   sync.Mutex
	out  io.Writer
	held []byte // a line that is not whole yet
}

// Write passes each whole line on, or what replaces it.
func (w *stdioWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
		if replacement := w.edge.answer(resp); replacement != nil {
			line = append(replacement, '\n')
		}
	}
	_, err := w.out.Write(line)
	return err
}
