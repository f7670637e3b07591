package middleware_test

import (
	"bufio"
	"context"
	"io"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// bxConn is a stdio connection to the gated server, with somebody at the other end.
type bxConn struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
}

// dial serves the fixture on a pair of pipes.
func (f *bxFix) dial(t *testing.T, opts ...server.StdioOption) *bxConn {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &bxConn{t, inW, make(chan string, 1024), make(chan error, 1)}
	opts = append([]server.StdioOption{server.WithErrorLogger(log.New(io.Discard, "", 0))}, opts...)
	go func() {
		err := f.gate.Listen(context.Background(), inR, outW, opts...)
		_ = outW.Close()
		c.done <- err
	}()
	go func() {
		defer close(c.lines)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// send writes one line.
func (c *bxConn) send(line string) { c.write(line + "\n") }

func (c *bxConn) write(text string) {
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Errorf("writing: %v", err)
	}
}

// receive waits for n lines. Lines that never come fail the test.
func (c *bxConn) receive(n int) []string {
	c.t.Helper()
	var got []string
	for len(got) < n {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the connection ended after %d of %d lines: %q", len(got), n, got)
			}
			if !strings.HasSuffix(line, "\n") {
				c.t.Errorf("a line without an end: %q", line)
			}
			got = append(got, strings.TrimSuffix(line, "\n"))
		case <-time.After(10 * time.Second):
			c.t.Fatalf("only %d of %d lines came: %q", len(got), n, got)
		}
	}
	return got
}

// end closes the input and returns what still comes.
func (c *bxConn) end() []string {
	c.t.Helper()
	_ = c.in.Close()
	var got []string
	for line := range c.lines {
		got = append(got, strings.TrimSuffix(line, "\n"))
	}
	if err := <-c.done; err != nil {
		c.t.Errorf("Listen: %v", err)
	}
	return got
}
