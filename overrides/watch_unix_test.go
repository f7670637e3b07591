//go:build unix

package overrides_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/overrides"
)

// A SIGHUP to the process is taken by Watch, and does not end the process.
func TestSIGHUPToTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "o.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(enforce)
	g := &gate{asked: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- overrides.Watch(ctx, file, g, overrides.WatchConfig{Interval: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	}()
	<-g.asked // so it listens
	for _, text := range []string{report, off} {
		write(text)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-g.asked
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := g.modes(); got != "enforce report off" {
		t.Error(got)
	}
}

// A pipe without a writer, or with one that never stops, holds up nobody.
func TestPipes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "o.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, "/dev/zero", "/dev/tty"} {
		if _, err := overrides.Load(file); err == nil || file != "/dev/tty" && !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", file, err)
		}
	}
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.logged("reloaded")
		s.must(os.Rename(file, s.file))
		s.pass(4)
		s.applied(g, "enforce")
		s.logged("not a regular file")
	})
}

// Without permission to read it, a file is as good as gone.
func TestWatchPermissionLost(t *testing.T) {
	if os.Geteuid() == 0 { // who is refused nothing
		asNobody(t)
		return
	}
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.logged("reloaded")
		s.must(os.Chmod(s.file, 0))
		s.pass(4)
		s.logged("permission denied")
		s.must(os.Chmod(s.file, 0o600))
		s.pass(1)
		s.logged("can be read again")
		s.applied(g, "enforce")
	})
}

// asNobody runs the test that calls it in a process of a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("root is refused nothing, and cannot become nobody: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}
