package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// child is a server that runs as a child process, in a process group of its own.
type child struct {
	cmd   *exec.Cmd
	group group
	grace time.Duration // for it to end
	asked time.Duration // for it to end after it was asked to
	words *tail

	stdin  io.WriteCloser
	stdout *os.File
	out    chan []byte   // what goes to its standard input
	in     chan line     // what comes from its standard output
	closed chan struct{} // ends the goroutines
	exited chan struct{} // closed when it has been waited for
	shut   chan struct{} // closed when it reads no more, although it goes on
	work   sync.WaitGroup

	noise   string            // the first line that is no message
	doubles map[string]*reply // what was answered, by the id of the request
	twice   bool              // something was answered more than once
}

// line is one line of standard output, or why there is none.
type line struct {
	text []byte
	err  error
}

// startChild starts a program. Its standard error is kept for messages and never
// passed on: it is not ours to print (M3).
func startChild(command []string, grace time.Duration) (*child, error) {
	c := &child{
		cmd: exec.Command(command[0], command[1:]...), grace: grace, asked: grace / 2, words: &tail{max: maxWords},
		out: make(chan []byte), in: make(chan line), doubles: map[string]*reply{},
		closed: make(chan struct{}), exited: make(chan struct{}), shut: make(chan struct{}),
	}
	c.group.cmd = c.cmd
	ownGroup(c.cmd)
	dieWithUs(c.cmd)
	c.cmd.Stderr = c.words
	c.cmd.WaitDelay = grace // a grandchild may hold standard error open
	// Not StdoutPipe, which exec.Cmd.Wait closes although there may be more to read. This
	// one comes first: exec.Cmd.Start alone closes that of standard input after a failure.
	stdout, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the command: %w", err)
	}
	c.stdout, c.cmd.Stdout = stdout, writer
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		err = c.live()
	}
	writer.Close()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("cannot start the command: %s", plain.Escape(err.Error(), 300))
	}
	c.work.Add(2)
	go c.write()
	go c.read()
	return c, nil
}

// live starts the program and waits for its end in a goroutine that keeps its thread:
// Linux takes the end of the thread which started a child for ours, see dieWithUs.
func (c *child) live() error {
	started := make(chan error)
	c.work.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		alive.Lock()
		err := c.cmd.Start()
		if err == nil {
			alive.children[&c.group] = true
		}
		alive.Unlock()
		if started <- err; err == nil {
			_ = c.cmd.Wait() // how it ended is in its ProcessState
			c.group.reaped()
			close(c.exited)
		}
	})
	return <-started
}

// alive holds the children that were started and not yet ended by us.
var alive = struct {
	sync.Mutex
	children map[*group]bool
}{children: map[*group]bool{}}

// KillChildren kills every child that is left, with its children. It is for a program
// that must end at once, without [Conn.Close].
func KillChildren() {
	alive.Lock()
	defer alive.Unlock()
	for g := range alive.children {
		g.kill()
	}
}

// write passes messages to the child until it is closed. A child that does not read
// holds up this goroutine and nobody else.
func (c *child) write() {
	defer c.work.Done()
	for {
		select {
		case text := <-c.out:
			if _, err := c.stdin.Write(append(text, '\n')); err != nil {
				c.refused()
				return
			}
		case <-c.closed:
			return
		}
	}
}

// refused is for a message that could not be written. A child that ends says more by that,
// which the reader tells, and one that has answered before is still to be read: both have
// a moment.
func (c *child) refused() {
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-timer.C:
		close(c.shut)
	case <-c.exited:
	case <-c.closed:
	}
}

// read passes lines from the child until it ends or is closed.
func (c *child) read() {
	defer c.work.Done()
	defer close(c.in)
	for lines := newLines(c.stdout); ; {
		text, err := lines.next()
		select {
		case c.in <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *child) exchange(ctx context.Context, r *request) (*reply, error) {
	if err := c.send(ctx, r.method, r.body); err != nil {
		return nil, err
	}
	got, size, wait := r.reply(), 0, ctx
	defer func() {
		if got.found {
			c.doubles[r.id] = &reply{}
		}
	}()
	for range maxBefore {
		text, err := c.receive(wait, r.method)
		switch {
		case err != nil && got.settle():
			return got, nil
		case err != nil:
			return nil, err
		}
		if size += len(text); size > maxBytesBefore {
			break
		}
		m, err := readMessage(text)
		if err != nil {
			if c.noise == "" {
				c.noise = string(text[:min(len(text), 512)])
			}
			continue
		}
		if got.take(m) {
			return got, nil
		}
		if got.stray != nil && wait == ctx {
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(ctx, r.settle)
			defer cancel()
		}
		c.again(m)
		if answer := m.reply(); answer != nil {
			if err := c.send(ctx, r.method, answer); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%s: %w%s", r.method, errFlood, c.heard())
}

// again notices an answer to what was answered before.
func (c *child) again(m message) {
	id := string(m.id)
	if before := c.doubles[id]; before != nil && m.answers(id) {
		before.another(m)
		c.twice = true
	}
}

func (c *child) notify(ctx context.Context, r *request) error { return c.send(ctx, r.method, r.body) }

// send hands a message to the writer.
func (c *child) send(ctx context.Context, method string, text []byte) error {
	select {
	case c.out <- text:
		return nil
	case <-c.exited:
		return c.ended(method, "ended")
	case <-c.shut:
		return c.ended(method, "closed its standard input")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive returns the next line that is not empty.
func (c *child) receive(ctx context.Context, method string) ([]byte, error) {
	for {
		select {
		case l, ok := <-c.in:
			switch {
			case errors.Is(l.err, errTooLarge):
				return nil, sizeError(method, MaxMessage)
			case !ok || l.err != nil:
				return nil, c.ended(method, "closed its standard output")
			case len(l.text) > 0:
				return l.text, nil
			}
		case <-c.shut:
			return nil, c.ended(method, "closed its standard input")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ended says how a child ended that should have answered. One that has only done what how
// says is given a moment to end.
func (c *child) ended(method, how string) error {
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.exited:
		how = "ended (" + c.cmd.ProcessState.String() + ")"
	case <-timer.C:
	}
	text := fmt.Sprintf("the command %s before it answered %s", how, method)
	return errors.New(text + c.heard() + c.words.said())
}

// heard says what came on standard output that is no message, if something did.
func (c *child) heard() string {
	if c.noise == "" {
		return ""
	}
	return "; a line on standard output is no message: " + plain.Quote(c.noise, 120)
}

// close lets the child end by itself, which the end of its input asks for, then asks
// it to end, then kills it; and kills whatever is left of its group in any case.
func (c *child) close(context.Context) {
	close(c.closed)
	c.stdin.Close()
	if !c.gone(c.grace) {
		c.group.terminate()
		c.gone(c.asked)
	}
	c.group.kill() // the child, or its own children, which it may have left behind
	alive.Lock()
	delete(alive.children, &c.group)
	alive.Unlock()
	c.stdout.Close()
	c.work.Wait()
}

// gone reports whether the child has ended within d.
func (c *child) gone(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}
