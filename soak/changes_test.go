package soak_test

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// change puts one state of the overrides in force on a stdio server, with Gate.Apply.
func change(s *site, p *process, state int) error {
	s.times.overrides.begin(state)
	r, err := p.tell("apply", variants[state].file, 0)
	if err != nil {
		return fmt.Errorf("state %d of the overrides: %w", state, err)
	}
	s.times.overrides.settle()
	s.learned(r, state)
	s.counts.add("overrides applied")
	return nil
}

// learned notes the digest of a state.
func (s *site) learned(r report, state int) {
	if s.ledger != nil {
		s.ledger.learn(r.Digest, state)
	}
}

// write puts a text into the file of overrides as an operator should.
func write(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// reload does the same as change by the file that the server watches.
func reload(s *site, p *process, file string, state int) error {
	s.times.overrides.begin(state)
	if err := write(file, variants[state].file); err != nil {
		return err
	}
	r, err := p.tell("await", variants[state].file, 0)
	if err != nil {
		return fmt.Errorf("state %d of the overrides: %w", state, err)
	}
	s.times.overrides.settle()
	s.learned(r, state)
	s.counts.add("overrides reloaded")
	return nil
}

// spoil writes a file with mistakes, which changes nothing.
func spoil(s *site, p *process, file string) error {
	r, err := p.tell("addr", "", 0)
	if err != nil {
		return err
	}
	if err := write(file, brokenFile); err != nil {
		return err
	}
	if _, err := p.tell("broken", "", int(r.Broken)+1); err != nil {
		return fmt.Errorf("a file of overrides with mistakes: %w", err)
	}
	s.counts.add("overrides with mistakes")
	return nil
}

// comeAndGo changes the tool or the resource that comes and goes.
func comeAndGo(s *site, p *process, random *rand.Rand) error {
	kind, line := "tool", s.times.tool
	if random.IntN(2) == 0 {
		kind, line = "resource", s.times.resource
	}
	state := 0 // it goes before it comes with another policy
	if line.last() == 0 {
		state = 1 + random.IntN(len(coming)-1)
	}
	line.begin(state)
	if _, err := p.tell("come", kind, state); err != nil {
		return fmt.Errorf("the %s in state %d: %w", kind, state, err)
	}
	line.settle()
	s.counts.add("changes of a " + kind)
	return nil
}

// changeWeb keeps changing what is in force on the HTTP server that lives.
func changeWeb(s *site, p *process, file string, random *rand.Rand, stop <-chan struct{}) error {
	for n := 0; ; n++ {
		if err := comeAndGo(s, p, random); err != nil {
			return err
		}
		if n%6 == 0 {
			if err := spoil(s, p, file); err != nil {
				return err
			}
		}
		if err := reload(s, p, file, random.IntN(len(variants))); err != nil {
			return err
		}
		waitFor(s.soak, 20, stop)
		if stopped(stop) {
			return nil
		}
	}
}

// changePipe keeps changing what is in force on a stdio server that lives.
func changePipe(s *site, p *process, random *rand.Rand, stop <-chan struct{}) error {
	for !stopped(stop) {
		if err := change(s, p, random.IntN(len(variants))); err != nil {
			return err
		}
		if err := comeAndGo(s, p, random); err != nil {
			return err
		}
		waitFor(s.soak, 200, stop)
	}
	return nil
}

// changeMortal keeps changing the file of the server that is killed. If that happens before
// the server has taken a change, the next one begins with it.
func changeMortal(m *mortal, random *rand.Rand, stop <-chan struct{}) error {
	for !stopped(stop) {
		state := random.IntN(len(variants))
		m.site.times.overrides.begin(state)
		if err := write(m.file, variants[state].file); err != nil {
			return err
		}
		for {
			_, proc, start := m.now()
			_, err := proc.tell("await", variants[state].file, 0)
			if err == nil {
				break
			}
			if !m.killedSince(start) {
				return fmt.Errorf("state %d of the overrides: %w", state, err)
			}
			_ = until(func() bool { return m.starts.Load() > start })
		}
		m.site.times.overrides.settle()
		m.site.counts.add("overrides reloaded by a server that is killed")
		waitFor(m.site.soak, 200, stop)
	}
	return nil
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
