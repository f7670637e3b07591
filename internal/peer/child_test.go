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

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		misbehave(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const helloLine = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}`

// misbehave is the life of a child.
func misbehave(mode string) {
	var conn net.Conn
	if address := os.Getenv(aliveVariable); address != "" {
		var err error
		if conn, err = net.Dial("tcp", address); err != nil {
			os.Exit(9)
		}
		defer conn.Close()
	}
	in := bufio.NewReader(os.Stdin)
	line := func() string { s, _ := in.ReadString('\n'); return s }
	forever := func() { select {} }
	switch mode {
	case "good":
		line()
		fmt.Println(helloLine)
		line() // initialized
		for s := line(); s != ""; s = line() {
			id := s[strings.Index(s, `"id":`)+5:]
			id = id[:strings.IndexByte(id, ',')]
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n"+`{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`+"\n", id)
		}
	case "says":
		line()
		fmt.Println(helloLine)
		for s := line(); s != ""; s = line() {
			switch {
			case strings.Contains(s, `"method":"tools/call"`):
				fmt.Println(strings.NewReplacer(" ", "\n", "%", "2").Replace(os.Getenv(saidVariable)))
			case strings.Contains(s, `"id":3`):
				fmt.Println(`{"jsonrpc":"2.0","id":3,"result":{}}`)
			}
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "first\nno \x1b[31mlicence\u202e")
		os.Exit(3)
	case "close":
		os.Stdout.Close()
		forever()
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "deaf": // reads nothing, ends at nothing
		signal.Ignore(syscall.SIGTERM)
		forever()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		line()
		fmt.Println(helloLine)
		forever()
	case "busy": // ends when it is asked to, not when its input ends
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		line()
		fmt.Println(helloLine)
		<-asked
		fmt.Fprint(conn, "bye")
	case "parent": // leaves a child behind
		line()
		fmt.Println(helloLine)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), modeVariable+"=deaf")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(8)
		}
		line()
		line()
		fmt.Println(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	case "banner":
		fmt.Println("Welcome \x1b[2J to\u202e my server")
		line()
		fmt.Println(helloLine)
		forever()
	case "garbage":
		fmt.Println("Listening!")
	case "yes":
		for {
			fmt.Println("y")
		}
	case "flood":
		for {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		}
	case "endless line":
		line()
		part := strings.Repeat("x", 1<<20)
		for {
			fmt.Print(part)
		}
	case "asks":
		line()
		fmt.Println(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		pong := line()
		fmt.Println(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
		no := line()
		if pong != `{"jsonrpc":"2.0","id":"p","result":{}}`+"\n" || !strings.Contains(no, `"id":7,"error":{"code":-32601`) {
			os.Exit(7)
		}
		fmt.Println(helloLine)
		forever()
	}
}

// witness waits for the connections that children keep while they live.
type witness struct {
	ln    net.Listener
	conns chan net.Conn
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{ln, make(chan net.Conn, 8)}
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

// gone fails the test unless n children have lived and all of them are dead.
func (w *witness) gone(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case conn := <-w.conns:
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
				t.Errorf("a child is still alive: %v", err)
			}
			conn.Close()
		case <-time.After(10 * time.Second):
			t.Fatal("a child did not start")
		}
	}
}

// childConfig runs this binary in one mode.
func childConfig(t *testing.T, mode string) Config {
	t.Helper()
	t.Setenv(modeVariable, mode)
	return Config{Command: []string{os.Args[0]}, Era: Handshake, Timeout: 10 * time.Second, Grace: 200 * time.Millisecond}
}

func TestChildAnswers(t *testing.T) {
	w := newWitness(t)
	c, err := Dial(t.Context(), childConfig(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if raw, err := c.Call(t.Context(), "tools/list", nil); err != nil || string(raw) != `{"n":1}` {
			t.Errorf("%s %v", raw, err)
		}
	}
	if c.Version() != "2025-06-18" || c.Era() != Handshake || c.Noise() != "" {
		t.Errorf("%s %s %q", c.Version(), c.Era(), c.Noise())
	}
	c.Close()
	w.gone(t, 1)
	noneLeft(t)
}

// Whatever a child does, Dial says what it was, and nothing is left of it.
func TestChildrenThatMisbehave(t *testing.T) {
	tests := []struct {
		mode    string
		timeout time.Duration
		want    []string
	}{
		{"exit", 0, []string{"ended (exit status 3)", "before it answered initialize", "; standard error ends with:\n    first\n    no \\x1b[31mlicence\\u202e"}},
		{"close", 0, []string{"closed its standard output before it answered initialize"}},
		{"silent", time.Second, []string{"no answer to initialize within 1s"}},
		{"deaf", time.Second, []string{"no answer to initialize within 1s"}},
		{"garbage", 0, []string{"before it answered initialize", `a line on standard output is no message: "Listening!"`}},
		{"yes", 0, []string{`initialize: too many messages came before the answer; a line on standard output is no message: "y"`}},
		{"flood", 0, []string{"initialize: too many messages came before the answer"}},
		{"endless line", 0, []string{"initialize: the answer is larger than 16 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			w := newWitness(t)
			cfg := childConfig(t, tt.mode)
			if tt.timeout > 0 {
				cfg.Timeout = tt.timeout
			}
			_, err := Dial(t.Context(), cfg)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			onTerminal(t, err.Error())
			w.gone(t, 1)
			noneLeft(t)
		})
	}
}

func TestChildrenThatDoNotEnd(t *testing.T) {
	for mode, lives := range map[string]int{"stubborn": 1, "parent": 2, "asks": 1, "banner": 1} {
		t.Run(mode, func(t *testing.T) {
			w := newWitness(t)
			c, err := Dial(t.Context(), childConfig(t, mode))
			if err != nil {
				t.Fatal(err)
			}
			if mode == "parent" {
				if _, err := c.Call(t.Context(), "ping", nil); err != nil {
					t.Error(err)
				}
			}
			if noise := c.Noise(); (noise != "") != (mode == "banner") {
				t.Errorf("noise %q", noise)
			}
			c.Close()
			w.gone(t, lives)
			noneLeft(t)
		})
	}
}

// A child is asked to end before it is killed, and has time to do so.
func TestChildrenAreAsked(t *testing.T) {
	w := newWitness(t)
	cfg := childConfig(t, "busy")
	cfg.Grace = time.Second // what it waits in vain for the end of a child, and half of it after asking
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	said, err := io.ReadAll(<-w.conns)
	if err != nil || string(said) != "bye" {
		t.Errorf("%q %v", said, err)
	}
	noneLeft(t)
}

// A child that does not read cannot hold up the caller, however much there is to send.
func TestChildDoesNotRead(t *testing.T) {
	w := newWitness(t)
	c, err := Dial(t.Context(), childConfig(t, "stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.Timeout = 300 * time.Millisecond
	for range 2 {
		_, err := c.Call(t.Context(), "tools/call", map[string]any{"x": strings.Repeat("x", 1<<20)})
		if err == nil || !strings.Contains(err.Error(), "no answer to tools/call within 300ms") {
			t.Error(err)
		}
	}
	c.Close()
	w.gone(t, 1)
	noneLeft(t)
}

// A program that must end at once can still take its children with it.
func TestKillChildren(t *testing.T) {
	w := newWitness(t)
	c, err := Dial(t.Context(), childConfig(t, "stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	KillChildren()
	w.gone(t, 1)
	c.Close()
	KillChildren() // nobody is left to hit
	noneLeft(t)
}

func TestCommandsThatCannotStart(t *testing.T) {
	for _, command := range []string{"/nonexistent/\x1b[31mserver", t.TempDir(), ""} {
		_, err := Dial(t.Context(), Config{Command: []string{command}})
		if err == nil || !strings.Contains(err.Error(), "cannot start the command") {
			t.Errorf("%q: %v", command, err)
			continue
		}
		onTerminal(t, err.Error())
	}
	noneLeft(t)
}
