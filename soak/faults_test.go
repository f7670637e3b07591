package soak_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// dial opens a connection of one's own to a server and writes a POST on it, or its first
// part.
func dial(w *web, q *query, part func(string) string) (*net.TCPConn, *bufio.Reader, error) {
	addr := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	tcp, body := conn.(*net.TCPConn), q.body()
	_ = tcp.SetReadBuffer(64 << 10) // so that a server soon waits for a slow reader
	head := "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
		"Connection: close\r\nMcp-Protocol-Version: " + modern + "\r\nMcp-Method: " + q.route.method + "\r\nMcp-Name: " + q.route.called + "\r\n"
	_, err = io.WriteString(conn, part(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)))
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return tcp, bufio.NewReader(tcp), nil
}

func whole(s string) string { return s }

// reset closes a connection so that the other end sees a reset.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

// untilHeld reads a response until the handler of q has shown that it runs.
func untilHeld(in *bufio.Reader, q *query) (*http.Response, error) {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	_, left, err := replies(resp, q, func() bool { return true })
	if err == nil && !left {
		err = fmt.Errorf("the call was answered before it was cancelled")
	}
	return resp, err
}

// cutStream resets the connection in the middle of a stream.
func cutStream(s *site, w *web) error {
	r := tool("hold", nil)
	q := s.query(&r, modern)
	s.sending(q)
	conn, in, err := dial(w, q, whole)
	if err != nil {
		return &broken{s, q, err}
	}
	defer reset(conn)
	if _, err := untilHeld(in, q); err != nil {
		return &broken{s, q, err}
	}
	s.leftAlone(q, "connection reset")
	return nil
}

// cutRequest resets the connection in the middle of a request, of which nothing may come.
func cutRequest(s *site, w *web, random *rand.Rand) error {
	r := tool("export", nil)
	q := s.query(&r, modern)
	conn, _, err := dial(w, q, func(text string) string { return text[:1+random.IntN(len(text)-1)] })
	if err != nil {
		return err
	}
	reset(conn)
	s.counts.add("requests  half-written")
	return nil
}

// readSlowly asks for more than the buffers on the way hold and reads it when the others
// have got so many answers.
func readSlowly(s *site, w *web, many int64, stop <-chan struct{}) error {
	r := tool("big", nil)
	q := s.query(&r, modern)
	s.sending(q)
	conn, in, err := dial(w, q, whole)
	if err != nil {
		return &broken{s, q, err}
	}
	defer conn.Close()
	waitFor(s.soak, many, stop)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return &broken{s, q, err}
	}
	got, _, err := replies(resp, q, nil)
	if err != nil {
		return &broken{s, q, err}
	}
	s.received(q, got)
	s.counts.add("slow readers over HTTP")
	return nil
}

// mortal is an HTTP server that is killed and started again.
type mortal struct {
	site *site
	file string

	kills, starts atomic.Int64 // kills are counted before they happen, starts when they are over

	mu   sync.Mutex
	proc *process
	web  *web
	addr string
}

func (m *mortal) start() error {
	how := m.addr
	if how == "" {
		how = "127.0.0.1:0"
	}
	proc, err := start(how, m.file, m.site.bug)
	if err != nil {
		return err
	}
	r, err := proc.tell("addr", "", 0)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.proc, m.addr, m.web = proc, r.Addr, newWeb(r.Addr)
	m.mu.Unlock()
	m.starts.Add(1)
	return nil
}

// now returns the server that is there and which one it is.
func (m *mortal) now() (*web, *process, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.web, m.proc, m.starts.Load()
}

// killedSince reports whether a server was killed.
func (m *mortal) killedSince(start int64) bool { return m.kills.Load() >= start }

// killMidStream kills the server while it sends, and starts it again.
func (m *mortal) killMidStream() error {
	w, proc, _ := m.now()
	r := tool("hold", nil)
	q := m.site.query(&r, modern)
	m.site.sending(q)
	conn, in, err := dial(w, q, whole)
	if err != nil {
		return &broken{m.site, q, err}
	}
	defer conn.Close()
	resp, err := untilHeld(in, q)
	if err != nil {
		return &broken{m.site, q, err}
	}
	m.kills.Add(1)
	proc.kill()
	rest, _ := io.ReadAll(resp.Body)
	if bytes.Contains(rest, []byte(`"result"`)) || bytes.Contains(rest, []byte(`"error"`)) {
		m.site.found.add("answers", "an answer of a server that was killed: %s", cut(string(rest)))
	}
	w.client.CloseIdleConnections()
	m.site.counts.add("kills of the HTTP server")
	if err := m.start(); err != nil {
		return err
	}
	m.site.counts.add("restarts of the HTTP server")
	return nil
}

// doom is one life of a stdio server that ends in the middle of a stream, by kill -9 or
// because its client goes.
func doom(s *soak, name string, random *rand.Rand) error {
	st := s.site(name, overStdio, false)
	p, err := openPipe(st)
	if err != nil {
		return err
	}
	if err := change(st, p.proc, 1+random.IntN(len(variants)-1)); err != nil {
		return err
	}
	var lanes sync.WaitGroup
	var ending atomic.Bool
	for range 3 {
		seed := random.Uint64()
		lanes.Go(func() {
			for own := rand.New(rand.NewPCG(s.next.Load(), seed)); ; {
				if err := p.once(own); err != nil {
					s.broke(err, ending.Load())
					return
				}
			}
		})
	}
	r := tool("hold", nil)
	q := st.query(&r, legacy)
	w := p.wait(q.id, q)
	waitFor(s, 40, nil)
	err = p.write(q.body())
	if err == nil {
		select {
		case <-w.began:
		case <-p.gone:
			err = errGone
		case <-time.After(patience):
			err = fmt.Errorf("the stream did not begin")
		}
	}
	p.mu.Lock()
	p.leaving = true
	p.mu.Unlock()
	ending.Store(true)
	if random.IntN(2) == 0 {
		p.proc.kill()
		s.counts.add("kills of stdio servers")
	} else {
		err = p.abandon(err)
		s.counts.add("stdio servers whose client went")
	}
	lanes.Wait()
	<-p.gone
	return err
}

// abandon goes as a client does that dies: both pipes close, in the middle of a line. The
// server has to end by itself.
func (p *pipe) abandon(err error) error {
	p.writing.Lock()
	_, _ = io.WriteString(p.proc.in, `{"jsonrpc":"2.0","id":1,"met`)
	p.proc.in.Close()
	p.writing.Unlock()
	p.proc.out.Close()
	if gone := p.proc.gone(); gone != nil {
		err = gone
	}
	switch code := p.proc.cmd.ProcessState.ExitCode(); code {
	case 2, 66: // a panic, a race
		err = fmt.Errorf("the server has ended with status %d", code)
	}
	p.proc.release()
	return err
}

// broke makes what it can of an error: a request without an answer, or something else.
func (s *soak) broke(err error, killed bool) {
	var b *broken
	switch {
	case errors.As(err, &b):
		b.site.failed(b.q, killed, b.err)
	case !killed:
		s.found.add("connections", "%v", err)
	}
}
