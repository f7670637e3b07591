package peer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modeVariable makes the test binary a server that misbehaves in one way.
const modeVariable = "PEER_TEST_MODE"

// saidVariable is what a child says to tools/call, see asked.
const saidVariable = "PEER_TEST_SAID"

// aliveVariable is an address that a child connects to and stays connected to while it
// lives.
const aliveVariable = "PEER_TEST_ALIVE"

// patience is how long is waited for what must come, on a machine that is busy.
const patience = time.Minute

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		misbehave(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const helloLine = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}`

// life is that of a child: what it reads, and its witness.
type life struct {
	in   *bufio.Reader
	conn net.Conn
}

func (l *life) line() string { s, _ := l.in.ReadString('\n'); return s }

// greet answers the first request.
func (l *life) greet() {
	l.line()
	fmt.Println(helloLine)
}

func (l *life) forever() { select {} }

func misbehave(mode string) {
	l := &life{in: bufio.NewReader(os.Stdin)}
	if address := os.Getenv(aliveVariable); address != "" {
		var err error
		if l.conn, err = net.Dial("tcp", address); err != nil {
			os.Exit(9)
		}
		defer l.conn.Close()
	}
	lives[mode](l)
}

// lives are the modes.
var lives = map[string]func(*life){
	"good": func(l *life) {
		l.greet()
		l.line() // initialized
		for s := l.line(); s != ""; s = l.line() {
			id := s[strings.Index(s, `"id":`)+5:]
			id = id[:strings.IndexByte(id, ',')]
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n"+`{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`+"\n", id)
		}
	},
	"says": func(l *life) {
		l.greet()
		for s := l.line(); s != ""; s = l.line() {
			switch {
			case strings.Contains(s, `"method":"tools/call"`):
				fmt.Println(strings.NewReplacer(" ", "\n", "%", "2").Replace(os.Getenv(saidVariable)))
			case strings.Contains(s, `"id":3`):
				fmt.Println(`{"jsonrpc":"2.0","id":3,"result":{}}`)
			}
		}
	},
	"exit": func(*life) {
		fmt.Fprintln(os.Stderr, "first\nno \x1b[31mlicence\u202e")
		os.Exit(3)
	},
	"close": func(l *life) {
		os.Stdout.Close()
		l.forever()
	},
	"shut": func(l *life) { // before it answers, so that the next message meets it
		l.line()
		os.Stdin.Close()
		fmt.Println(helloLine)
		l.forever()
	},
	"silent": func(*life) { _, _ = io.Copy(io.Discard, os.Stdin) },
	"deaf": func(l *life) { // reads nothing, ends at nothing
		signal.Ignore(syscall.SIGTERM)
		l.forever()
	},
	"stubborn": func(l *life) {
		signal.Ignore(syscall.SIGTERM)
		l.greet()
		l.forever()
	},
	"busy": func(l *life) { // ends when it is asked to, not when its input ends
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		l.greet()
		<-asked
		fmt.Fprint(l.conn, "bye")
	},
	"parent": func(l *life) { // leaves a child behind
		l.greet()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), modeVariable+"=deaf")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(8)
		}
		l.line()
		l.line()
		fmt.Println(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	},
	"banner": func(l *life) {
		fmt.Println("Welcome \x1b[2J to\u202e my server")
		l.greet()
		l.forever()
	},
	"garbage": func(*life) { fmt.Println("Listening!") },
	"yes": func(*life) {
		for {
			fmt.Println("y")
		}
	},
	"flood": func(*life) {
		for {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		}
	},
	"endless line": func(l *life) {
		l.line()
		part := strings.Repeat("x", 1<<20)
		for {
			fmt.Print(part)
		}
	},
	"asks": func(l *life) {
		l.line()
		fmt.Println(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		pong := l.line()
		fmt.Println(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
		no := l.line()
		if pong != `{"jsonrpc":"2.0","id":"p","result":{}}`+"\n" || !strings.Contains(no, `"id":7,"error":{"code":-32601`) {
			os.Exit(7)
		}
		fmt.Println(helloLine)
		l.forever()
	},
}

// witness waits for the connections that children keep while they live.
type witness struct {
	ln    net.Listener
	conns chan net.Conn
	lives []net.Conn // those that are known to the test
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{ln: ln, conns: make(chan net.Conn, 8)}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			w.conns <- conn
		}
	}()
	t.Cleanup(func() { ln.Close() })
	t.Setenv(aliveVariable, ln.Addr().String())
	return w
}

// started waits until n children have lived.
func (w *witness) started(t *testing.T, n int) {
	t.Helper()
	for len(w.lives) < n {
		select {
		case conn := <-w.conns:
			w.lives = append(w.lives, conn)
		case <-time.After(patience):
			t.Fatal("a child did not start")
		}
	}
}

// gone fails the test unless n children have lived and all of them are dead.
func (w *witness) gone(t *testing.T, n int) {
	t.Helper()
	w.started(t, n)
	for _, conn := range w.lives {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("a child is still alive: %v", err)
		}
		conn.Close()
	}
}

// childConfig runs this binary in one mode. Grace is long; it is shortened where it is
// waited for in vain.
func childConfig(t *testing.T, mode string) Config {
	t.Helper()
	t.Setenv(modeVariable, mode)
	return Config{Command: []string{os.Args[0]}, Era: Handshake, Timeout: patience, Grace: patience}
}
