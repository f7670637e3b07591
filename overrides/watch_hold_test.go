package overrides_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
)

// What somebody else applies is undone for as long as the file says what it said, also if
// it was gone for a while.
func TestWatchHoldsTheGateToTheFile(t *testing.T) {
	g := &knowing{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		s.logged("flow overrides reloaded")
		g.change(func() { g.has = overrides.Overrides{} })
		s.pass(1)
		s.applied(g, "enforce enforce")
		s.logged("level=WARN msg=\"flow overrides applied again, because something else was in force\"")
		s.pass(3)
		s.logged()
		s.must(os.Remove(s.file))
		s.pass(1)
		s.logged("flow overrides are gone")
		g.change(func() { g.has = overrides.Overrides{} })
		s.pass(3)
		s.applied(g, "enforce enforce") // nobody says what else
		s.write(enforce)
		s.pass(1)
		s.applied(g, "enforce enforce enforce")
		s.logged("can be read again", "flow overrides applied again")
		s.write("flowgate: 7")
		s.pass(2)
		s.logged("refused", "unsupported")
		g.change(func() { g.has = overrides.Overrides{} })
		s.pass(3)
		s.logged() // a file that is refused holds nobody to anything
		s.write(report)
		s.pass(2)
		s.logged("flow overrides reloaded")
		g.change(func() { g.has, g.refuses = overrides.Overrides{}, errors.New("not now") })
		s.pass(3)
		s.logged("refused by the gate") // and is told once
		g.change(func() { g.refuses, g.forget = nil, true })
		s.hangUp <- os.Interrupt
		s.logged("because of SIGHUP", "flow overrides reloaded")
		s.pass(3)
		s.logged("but the gate has something else in force") // once
	})
}

// Log lines name the file as it is, and the digest of overrides by one name.
func TestWatchAttributes(t *testing.T) {
	g := &gate{}
	onStage(t, g, func(s *stage) { s.write(enforce) }, func(s *stage) {
		digest := parse(t, enforce).Digest()
		s.logged("file=" + s.file + " overrides=" + digest)
		s.hangUp <- os.Interrupt
		s.logged("file="+s.file, "file="+s.file+" overrides="+digest)
		s.write("flowgate: 1\n" + strings.Repeat("mod: off\n", 300))
		s.hangUp <- os.Interrupt
		synctest.Wait()
		if text := s.log.String()[s.mark:]; strings.Count(text, "\n") != 2+overrides.MaxFaults || strings.Contains(text, "digest=") {
			t.Error(text)
		}
		s.mark = len(s.log.String())
		many := make([]error, 300)
		for i := range many {
			many[i] = &flowerrors.ConfigError{Path: strings.Repeat("x", 5000), Reason: flowerrors.ReasonLoosens}
		}
		g.mu.Lock()
		g.refuses = errors.Join(many...)
		g.mu.Unlock()
		s.write(off)
		s.hangUp <- os.Interrupt
		synctest.Wait()
		text := s.log.String()[s.mark:]
		if strings.Count(text, "\n") != 3+overrides.MaxFaults || len(text) > 100_000 || !strings.Contains(text, "count=300\n") || !strings.Contains(text, "not listed\" file="+s.file+" count=200\n") {
			t.Errorf("%d bytes\n%.2000s", len(text), text)
		}
	})
}
