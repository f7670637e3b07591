package overrides_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/overrides"
)

// gate records what it is given.
type gate struct {
	mu      sync.Mutex
	got     []overrides.Overrides
	refuses error
	asked   chan struct{} // if there, told of each Apply
}

func (g *gate) Apply(o overrides.Overrides) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuses == nil {
		g.got = append(g.got, o)
	}
	if g.asked != nil {
		g.asked <- struct{}{}
	}
	return g.refuses
}

// modes are the modes of what was applied, which tell the files of a test apart.
func (g *gate) modes() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for _, o := range g.got {
		out = append(out, o.Mode.String())
	}
	return strings.Join(out, " ")
}

// knowing is a gate that says what it has.
type knowing struct {
	gate
	has    overrides.Overrides
	forget bool // what it is given
}

func (g *knowing) Apply(o overrides.Overrides) error {
	err := g.gate.Apply(o)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && !g.forget {
		g.has = o
	}
	return err
}

func (g *knowing) Overrides() overrides.Overrides {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.has
}

// change is what somebody else does to the gate.
func (g *knowing) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// stage is a watched file under a fake clock.
type stage struct {
	*testing.T
	file   string
	log    lockedBuffer
	mark   int // how much of the log was looked at
	hangUp chan os.Signal
}

const (
	enforce = "flowgate: 1\nmode: enforce\n"
	report  = "flowgate: 1\nmode: report\n"
	off     = "flowgate: 1\nmode: off\n"
)

// onStage runs play beside a watcher, in a bubble. prepare makes the file.
func onStage(t *testing.T, g overrides.Applier, prepare, play func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, file: filepath.Join(t.TempDir(), "o.yaml"), hangUp: make(chan os.Signal)}
		if prepare != nil {
			prepare(s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			overrides.WatchWith(ctx, s.file, g, overrides.WatchConfig{Logger: slog.New(slog.NewTextHandler(&s.log, nil))}, s.hangUp)
		}()
		synctest.Wait()
		play(s)
		cancel()
		<-done
	})
}

// write writes the file in place.
func (s *stage) write(text string) {
	s.Helper()
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// must fails the test on an error.
func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// pass lets n intervals go by.
func (s *stage) pass(n int) {
	time.Sleep(time.Duration(n) * overrides.DefaultInterval)
	synctest.Wait()
}

// logged checks what was logged since the last time: each text in one line of its own, and
// nothing else.
func (s *stage) logged(texts ...string) {
	s.Helper()
	synctest.Wait()
	fresh := s.log.String()[s.mark:]
	s.mark += len(fresh)
	if n := strings.Count(fresh, "\n"); n != len(texts) {
		s.Errorf("%d lines, want %d:\n%s", n, len(texts), fresh)
		return
	}
	i := 0
	for line := range strings.Lines(fresh) {
		if !strings.Contains(line, texts[i]) || !strings.Contains(line, "o.yaml") {
			s.Errorf("%q is not in %s", texts[i], line)
		}
		i++
	}
}

func (s *stage) applied(g interface{ modes() string }, want string) {
	s.Helper()
	if got := g.modes(); got != want {
		s.Errorf("applied %q, want %q", got, want)
	}
}

// logged2 is logged for a change on the way to which the file could be gone for a moment.
func (s *stage) logged2(last string) {
	s.Helper()
	synctest.Wait()
	fresh := s.log.String()[s.mark:]
	s.mark += len(fresh)
	if strings.Count(fresh, last) != 1 {
		s.Errorf("%q is not in %s", last, fresh)
	}
}
