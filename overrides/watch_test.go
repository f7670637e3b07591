package overrides_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestWatchReloads(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.applied(g, "enforce") // the first look
		s.logged("flow overrides reloaded")
		s.pass(10)
		s.logged()
		s.write(report)
		s.pass(1)
		s.applied(g, "enforce") // it could be half-written
		s.pass(1)
		s.applied(g, "enforce report")
		s.logged("flow overrides reloaded")
		s.write(report + "# said otherwise\n") // the same is not applied again
		s.pass(3)
		s.applied(g, "enforce report")
		s.logged("in force already")
		s.write(off) // of one length with what was there or not, and at whatever time
		s.must(os.Chtimes(s.file, time.Unix(0, 0), time.Unix(0, 0)))
		s.pass(2)
		s.applied(g, "enforce report off")
		s.logged("flow overrides reloaded")
	})
}

// A gate that says what it has is not given the same.
func TestWatchStartsWithWhatIsInForce(t *testing.T) {
	g := &knowing{has: overrides.Overrides{Mode: policydecl.Enforce}}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.applied(g, "")
		s.logged("in force already")
		s.pass(3)
		s.applied(g, "")
		s.hangUp <- os.Interrupt
		s.logged("because of SIGHUP", "in force already")
		s.applied(g, "")
	})
}

// A file with mistakes changes nothing and is told once, with all of them; mended, it counts.
func TestWatchKeepsTheLastGood(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.logged("reloaded")
		s.write("flowgate: 1\nmod: off\nuri: x\n")
		s.pass(5)
		s.applied(g, "enforce")
		if line := s.log.String()[s.mark:]; !strings.Contains(line, "count=2") || !strings.Contains(line, `(line 2); write \"mode\"`) || !strings.Contains(line, "uri: unusable-uri") {
			s.Error(line)
		}
		s.logged("level=ERROR msg=\"flow overrides refused; what is in force stays\"", "number=1 fault=\"mod: ", "number=2 fault=\"uri: ")
		s.write("flowgate: 1\nmod: off\n")
		s.pass(5)
		s.logged("count=1", "unknown-member")
		s.write(enforce) // as before
		s.pass(2)
		s.logged("in force already")
		s.write(off)
		s.pass(2)
		s.applied(g, "enforce off")
		s.logged("reloaded")
	})
}

// A write that takes its time is not taken for what it says on the way.
func TestWatchTruncatedWrite(t *testing.T) {
	g := &gate{}
	whole := "flowgate: 1\nmode: enforce\ntools:\n  a: {acceptFrom: []}\n  b: {acceptFrom: []}\n"
	onStage(t, g, func(s *stage) { s.write(whole) }, func(s *stage) {
		s.logged("reloaded")
		for n := 0; n < len(whole); n += 7 { // some of these are good files that say less
			s.write(whole[:n])
			s.pass(1)
		}
		s.write(whole)
		s.pass(3)
		s.applied(g, "enforce")
		s.logged()
		s.write("") // and stays so
		s.pass(3)
		s.logged("count=1", "the file is empty")
		s.write(whole[:20])
		s.pass(3)
		s.applied(g, "enforce")
		s.logged("count=1", "unknown-token")
	})
}

// Two looks between which the file was gone are not in a row.
func TestWatchLooksInARow(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.write(report)
		s.pass(1)
		s.must(os.Remove(s.file))
		s.pass(1)
		s.write(report)
		s.pass(1)
		s.applied(g, "enforce")
		s.pass(1)
		s.applied(g, "enforce report")
		s.write(off)
		s.pass(1)
		s.write(report) // what is in force, for one look
		s.pass(1)
		s.write(off)
		s.pass(1)
		s.applied(g, "enforce report")
	})
}

func TestWatchSIGHUP(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.logged("reloaded")
		s.write(report)
		s.hangUp <- os.Interrupt // at once, without a second look
		synctest.Wait()
		s.applied(g, "enforce report")
		s.logged("because of SIGHUP", "reloaded")
		s.hangUp <- os.Interrupt // although nothing seems changed
		s.logged("because of SIGHUP", "in force already")
		s.write("flowgate: 7")
		s.hangUp <- os.Interrupt
		s.logged("because of SIGHUP", "flow overrides refused", "unsupported")
		s.pass(3)
		s.logged()
		s.hangUp <- os.Interrupt // who asks is answered
		s.logged("because of SIGHUP", "flow overrides refused", "unsupported")
	})
}

// What the gate refuses is told with all faults, and can be applied later.
func TestWatchGateRefuses(t *testing.T) {
	g := &gate{refuses: errors.Join(
		&flowerrors.ConfigError{Path: `tools["a"]`, Reason: flowerrors.ReasonUnknownTarget},
		&flowerrors.ConfigError{Path: "mode", Reason: flowerrors.ReasonLoosens},
	)}
	onStage(t, g, func(s *stage) { s.write(report) }, func(s *stage) {
		if line := s.log.String(); !strings.Contains(line, "count=2") || !strings.Contains(line, "mode: loosens") {
			s.Error(line)
		}
		s.logged("refused by the gate", `unknown-target`, "mode: loosens")
		s.pass(5)
		s.logged()
		g.mu.Lock()
		g.refuses = nil
		g.mu.Unlock()
		s.hangUp <- os.Interrupt
		synctest.Wait()
		s.applied(g, "report")
		s.logged("because of SIGHUP", "reloaded")
		g.mu.Lock()
		g.refuses = errors.New("the gate is \x1b[31mshut") // not one of ours, and no harm to a terminal
		g.mu.Unlock()
		s.write(off)
		s.pass(2)
		if strings.Contains(s.log.String(), "\x1b") {
			s.Error("an escape sequence in the log")
		}
		s.logged(`[31mshut`)
	})
}

// A file that is gone, or not one, keeps the last good and is told once.
func TestWatchWhatIsNoFile(t *testing.T) {
	for name, tt := range map[string]struct {
		replace func(file string) error
		want    string
		mistake string // on a line of its own
	}{
		"gone":      {func(string) error { return nil }, "flow overrides are gone; what is in force stays", ""},
		"directory": {func(file string) error { return os.Mkdir(file, 0o700) }, "not a regular file", ""},
		"dangling":  {func(file string) error { return os.Symlink("nowhere", file) }, "flow overrides are gone", ""},
		"itself":    {func(file string) error { return os.Symlink(filepath.Base(file), file) }, "cannot be read", ""},
		"large": {func(file string) error {
			return os.WriteFile(file, bytes.Repeat([]byte("#"), overrides.MaxBytes+1), 0o600)
		}, "cannot be read", "too many bytes"},
		"endless": {func(file string) error {
			err := os.WriteFile(file, nil, 0o600)
			return errors.Join(err, os.Truncate(file, 1<<40)) // a hole
		}, "cannot be read", "too many bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gate{}
			onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
				s.logged("reloaded")
				s.must(os.Remove(s.file))
				s.must(tt.replace(s.file))
				s.pass(5)
				s.applied(g, "enforce")
				if tt.mistake == "" {
					s.logged(tt.want)
				} else {
					s.logged(tt.want, tt.mistake)
				}
				s.must(os.RemoveAll(s.file))
				s.write(enforce)
				s.pass(3)
				s.logged2("can be read again")
				s.write(off)
				s.pass(2)
				s.applied(g, "enforce off")
				s.logged("reloaded")
			})
		})
	}
}

// A server may start before its file is there.
func TestWatchWaitsForTheFile(t *testing.T) {
	g := &gate{}
	onStage(t, g, nil, func(s *stage) {
		s.logged("flow overrides are gone")
		s.pass(3)
		s.logged()
		s.write(report)
		s.pass(2)
		s.applied(g, "report")
		s.logged("can be read again", "reloaded")
	})
}

// Editors write another file and rename it.
func TestWatchRename(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		for _, text := range []string{report, off} {
			s.must(os.WriteFile(s.file+"~", []byte(text), 0o600))
			s.must(os.Rename(s.file+"~", s.file))
			s.pass(2)
		}
		s.applied(g, "enforce report off")
	})
}

// Where configuration is mounted by Kubernetes, the file is a link into a directory that is
// a link, which is what changes.
func TestWatchSwappedLinks(t *testing.T) {
	g := &gate{}
	publish := func(s *stage, version, text string) {
		dir := filepath.Dir(s.file)
		s.must(os.Mkdir(filepath.Join(dir, version), 0o700))
		s.must(os.WriteFile(filepath.Join(dir, version, "o.yaml"), []byte(text), 0o600))
		s.must(os.Symlink(version, filepath.Join(dir, "..next")))
		s.must(os.Rename(filepath.Join(dir, "..next"), filepath.Join(dir, "..data")))
	}
	onStage(t, g, func(s *stage) {
		publish(s, "..1", enforce)
		s.must(os.Symlink(filepath.Join("..data", "o.yaml"), s.file))
	}, func(s *stage) {
		s.applied(g, "enforce")
		publish(s, "..2", off)
		s.must(os.RemoveAll(filepath.Join(filepath.Dir(s.file), "..1")))
		s.pass(2)
		s.applied(g, "enforce off")
		s.logged("reloaded", "reloaded")
	})
}

func TestWatchMisuse(t *testing.T) {
	g := &gate{}
	for path, err := range map[string]error{
		"path":     overrides.Watch(t.Context(), "", g, overrides.WatchConfig{}),
		"gate":     overrides.Watch(t.Context(), "o.yaml", nil, overrides.WatchConfig{}),
		"interval": overrides.Watch(t.Context(), "o.yaml", g, overrides.WatchConfig{Interval: -1}),
	} {
		var e *flowerrors.ConfigError
		if !errors.As(err, &e) || e.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := overrides.Watch(ctx, filepath.Join(t.TempDir(), "o.yaml"), g, overrides.WatchConfig{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Error(err)
	}
}
