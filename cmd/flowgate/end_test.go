package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/judge"
)

// startWatched starts the program on a server over stdio that nothing ends, and returns the
// connection that this server keeps while it lives.
func startWatched(t *testing.T, cmd *exec.Cmd, said string) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd.Env = append(os.Environ(), modeVariable+"=stays", aliveVariable+"="+ln.Addr().String(), saidVariable+"="+said)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dead fails the test unless the server at the other end is.
func dead(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the server is still alive: %v", err)
	}
}

// However the program ends, what it has started ends with it.
func TestChildrenDoNotSurvive(t *testing.T) {
	program := built(t, "cmd/flowgate")
	for name, signals := range map[string][]os.Signal{
		"interrupt": {os.Interrupt}, "asked to end": {syscall.SIGTERM}, "hung up": {syscall.SIGHUP},
		"hurried": {syscall.SIGTERM, syscall.SIGHUP}, "killed": {syscall.SIGKILL},
	} {
		if name == "killed" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, "validate", "-timeout", "1m", "-stdio", "--", self(t))
			conn := startWatched(t, cmd, "")
			for _, s := range signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Error(err)
				}
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 && name != "killed" {
				t.Error(err)
			}
			dead(t, conn)
		})
	}
	t.Run("nobody reads", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.Command(program, "validate", "-timeout", "1m", "-stdio", "--", self(t))
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		conn := startWatched(t, cmd, "yes")
		w.Close()
		_, _ = conn.Write([]byte("x"))
		err = cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(stderr.String(), "cannot write the output: broken pipe") {
			t.Error(err, &stderr)
		}
		dead(t, conn)
	})
}

// A child that does not read what it is sent causes the signal of a broken pipe too, and
// that is no interrupt.
func TestBrokenPipeToAChild(t *testing.T) {
	cmd := exec.Command(built(t, "cmd/flowgate"), "validate", "-timeout", "1m", "-stdio", "--", self(t))
	cmd.Env = append(os.Environ(), modeVariable+"=exit")
	text, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "the command ended (exit status 4)") {
		t.Errorf("%v %s", err, text)
	}
}

// What is ignored on purpose stays so, as nohup asks.
func TestIgnoredSignals(t *testing.T) {
	nohup, err := exec.LookPath("nohup")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(nohup, built(t, "cmd/flowgate"), "validate", "-timeout", "1m", "-stdio", "--", self(t))
	conn := startWatched(t, cmd, "yes")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	_, _ = conn.Write([]byte("x"))
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	dead(t, conn)
}

// full takes some bytes and no more.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// Whoever reads the exit status alone must not take silence for an answer.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{
		{"validate", "testdata/policy-good.json"}, {"validate", "-json", "testdata/policy-good.json"},
		{"explain", "-policy", "unverified"}, {"explain", "-json", "-policy", "unverified"},
		{"help"}, {"version"}, {"validate", "-h"},
		{"probe", "-tool", "t", "-json", "-url", "http://127.0.0.1:1/"},
	} {
		for _, room := range []int{0, 10} {
			var stderr bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &full{room}, stderr: &stderr, nonce: judge.Nonce}
			if status := a.run(context.Background(), args); status != 2 || !strings.Contains(stderr.String(), "flowgate: cannot write the output: no space left on device\n") {
				t.Errorf("%q: status %d, %s", args, status, &stderr)
			}
		}
	}
}

// For machines a URL is whole, but for what may be a secret.
func TestLongURLs(t *testing.T) {
	f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`}
	url := f.start(t) + "/" + strings.Repeat("long/", 100) + `a"b`
	shown := strings.Replace(url, `"`, "%22", 1)
	flowgate(t, "validate", "-json", "-url", strings.Replace(url, "//", "//u:SECRET@", 1)+"?SECRET").wants(t, 0, `"url": "`+shown+`?..."`)
	flowgate(t, "validate", "-url", url).wants(t, 0, " at "+shown[:200]+"..., protocol")
}

// What may be a secret in a URL is shown nowhere.
func TestURLsMayHoldSecrets(t *testing.T) {
	f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, call: func(string) string { return ranResult }}
	url := f.start(t)
	host := strings.TrimPrefix(url, "http://")
	secret := "http://user:SECRET@" + host + "/mcp?token=SECRET#SECRET"
	for _, args := range [][]string{
		{"validate", "-url", secret}, {"validate", "-json", "-url", secret},
		{"probe", "-tool", "t", "-url", secret}, {"probe", "-tool", "t", "-json", "-url", secret},
	} {
		r := flowgate(t, args...)
		r.wants(t, r.status, "http://"+host+"/mcp?...")
		if r.status == 2 || strings.Contains(r.out+r.err, "SECRET") || strings.Contains(r.out, "user:") {
			t.Errorf("%q: status %d\n%s%s", args, r.status, r.out, r.err)
		}
	}
	for _, args := range [][]string{
		{"validate", "-url", "http://user:SECRET@[::1"}, {"validate", "-json", "-url", "http://user:SECRET@[::1"},
		{"validate", "-url", "http://user:SECRET%zz@x/"}, {"validate", "-url", "user:SECRET@x"},
		{"validate", "-url", "http://x:SECRET/"}, {"validate", "-url", "ftp://user:SECRET@x/?SECRET"},
		{"validate", secret}, {"validate", "ftp://user:SECRET@x/"}, {"validate", "-url", "http://x", secret}, {"validate", "a", secret},
		{"probe", "-tool", "t", "-url", "http://user:SECRET@[::1"}, {"explain", "-policy", "user", secret},
		{"explain", "-policy", "@" + secret}, {"probe", "-tool", "t", "-url", "http://u:SECRET@127.0.0.1:1/?SECRET"},
	} {
		r := flowgate(t, args...)
		if r.status != 2 || r.err == "" || strings.Contains(r.out+r.err, "SECRET") {
			t.Errorf("%q: status %d\n%s%s", args, r.status, r.out, r.err)
		}
	}
}
