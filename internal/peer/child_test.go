package peer

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// short is a grace that passes in vain.
const short = 100 * time.Millisecond

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
		mode  string
		ends  bool // by itself, so that it has all the time it needs
		gives bool // the caller gives up, when the child is there
		want  []string
	}{
		{"exit", true, false, []string{"ended (exit status 3)", "before it answered initialize", "; standard error ends with:\n    first\n    no \\x1b[31mlicence\\u202e"}},
		{"close", false, false, []string{"closed its standard output before it answered initialize"}},
		{"silent", true, true, []string{context.Canceled.Error()}},
		{"deaf", false, true, []string{context.Canceled.Error()}},
		{"garbage", true, false, []string{"before it answered initialize", `a line on standard output is no message: "Listening!"`}},
		{"yes", false, false, []string{`initialize: too many messages came before the answer; a line on standard output is no message: "y"`}},
		{"flood", false, false, []string{"initialize: too many messages came before the answer"}},
		{"endless line", false, false, []string{"initialize: the answer is larger than 16 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			w := newWitness(t)
			cfg := childConfig(t, tt.mode)
			if !tt.ends {
				cfg.Grace = short
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := Dial(ctx, cfg)
				done <- err
			}()
			w.started(t, 1)
			if tt.gives {
				cancel()
			}
			err := <-done
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
			cfg := childConfig(t, mode)
			cfg.Grace = short
			c, err := Dial(t.Context(), cfg)
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
			w.started(t, lives)
			c.Close()
			w.gone(t, lives)
			noneLeft(t)
		})
	}
}

// dialChild starts a child that is not given long to end, and the witness that sees it.
func dialChild(t *testing.T, mode string) (*witness, *Conn) {
	t.Helper()
	w := newWitness(t)
	cfg := childConfig(t, mode)
	cfg.Grace = short
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w, c
}

// A child that reads no more is not waited for until the answer is overdue.
func TestChildrenThatStopReading(t *testing.T) {
	w, c := dialChild(t, "shut")
	for range 2 {
		if _, err := c.Call(t.Context(), "tools/list", nil); err == nil || err.Error() != "the command closed its standard input before it answered tools/list" {
			t.Error(err)
		}
	}
	c.Close()
	w.gone(t, 1)
	noneLeft(t)
}

// A child is asked to end before it is killed, and has time to do so.
func TestChildrenAreAsked(t *testing.T) {
	w, c := dialChild(t, "busy")
	if asked := &c.link.(*child).asked; *asked == 0 {
		t.Error("no time to end")
	} else {
		*asked = patience
	}
	w.started(t, 1)
	c.Close()
	said, err := io.ReadAll(w.lives[0])
	if err != nil || string(said) != "bye" {
		t.Errorf("%q %v", said, err)
	}
	noneLeft(t)
}

// A child that does not read cannot hold up the caller, however much there is to send.
func TestChildDoesNotRead(t *testing.T) {
	w, c := dialChild(t, "stubborn")
	c.cfg.Timeout = 300 * time.Millisecond
	for range 2 {
		_, err := c.Call(t.Context(), "tools/call", map[string]any{"x": strings.Repeat("x", 1<<20)})
		var late *TimeoutError
		if !errors.As(err, &late) || !strings.Contains(err.Error(), "no answer to tools/call within 300ms") {
			t.Error(err)
		}
	}
	c.Close()
	w.gone(t, 1)
	noneLeft(t)
}

// A program that must end at once can still take its children with it.
func TestKillChildren(t *testing.T) {
	w, c := dialChild(t, "stubborn")
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
