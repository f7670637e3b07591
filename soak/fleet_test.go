package soak_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"
)

// size is how many of each take part.
type size struct {
	surfers int // clients of the HTTP server that lives
	bold    int // clients of the one that is killed
	pipes   int // stdio servers that live, with a client each
	doomed  int // stdio servers that are killed, with a client each
}

// fleet is everything that takes part.
type fleet struct {
	*soak
	seed    uint64
	size    size
	web     *web
	file    string
	lives   []*life // the HTTP server comes first
	surfers []*surfer
	pipes   []*pipe
	mortal  *mortal
	bold    []*surfer
	until   func() bool // if set, a phase goes on until this holds, but not for ever
}

func (f *fleet) random(part uint64) *rand.Rand { return rand.New(rand.NewPCG(f.seed, part)) }

// launch starts the servers and teaches the ledgers the digest of every state.
func launch(s *soak, seed uint64, n size, dir string) (*fleet, error) {
	f := &fleet{soak: s, seed: seed, size: n, file: filepath.Join(dir, "overrides.yaml")}
	if err := write(f.file, variants[0].file); err != nil {
		return nil, err
	}
	if err := f.launchWeb(); err != nil {
		return nil, err
	}
	for i := range n.pipes {
		st := s.site(fmt.Sprintf("stdio server %d", i), overStdio, true)
		p, err := openPipe(st)
		if err != nil {
			return nil, err
		}
		l := &life{site: st, proc: p.proc}
		f.lives, f.pipes = append(f.lives, l), append(f.pipes, p)
		if err := l.learn(func(state int) error { return change(st, p.proc, state) }); err != nil {
			return nil, err
		}
	}
	if n.bold > 0 {
		f.mortal = &mortal{site: s.site("the HTTP server that is killed", overHTTP, false), file: filepath.Join(dir, "mortal.yaml")}
		if err := write(f.mortal.file, variants[0].file); err != nil {
			return nil, err
		}
		if err := f.mortal.start(); err != nil {
			return nil, err
		}
		for i := range n.bold {
			f.bold = append(f.bold, &surfer{site: f.mortal.site, random: f.random(2000 + uint64(i))})
		}
	}
	return f, nil
}

func (f *fleet) launchWeb() error {
	st := f.site("the HTTP server", overHTTP, true)
	proc, err := start("127.0.0.1:0", f.file, f.bug)
	if err != nil {
		return err
	}
	l := &life{site: st, proc: proc}
	f.lives = append(f.lives, l)
	r, err := proc.tell("addr", "", 0)
	if err != nil {
		return err
	}
	f.web = newWeb(r.Addr)
	for i := range f.size.surfers {
		f.surfers = append(f.surfers, &surfer{site: st, random: f.random(1000 + uint64(i)), web: f.web})
	}
	return l.learn(func(state int) error { return reload(st, proc, f.file, state) })
}

// phase lets everybody do everything for a time, and until there were some answers, and
// waits until it is quiet again.
func (f *fleet) phase(number uint64, d time.Duration) {
	stop := make(chan struct{})
	time.AfterFunc(d, func() {
		waitFor(f.soak, f.least, nil)
		if f.until != nil {
			_ = untilFor(atMost, f.until)
		}
		close(stop)
	})
	var all sync.WaitGroup
	part := number * 10_000
	each := func(what func(random *rand.Rand) error) {
		part++
		random := f.random(part)
		all.Go(func() {
			if err := what(random); err != nil {
				f.broke(err, false)
			}
		})
	}
	for _, c := range f.surfers {
		each(func(*rand.Rand) error { f.surf(c, stop); return nil })
	}
	for i, p := range f.pipes {
		for range 3 {
			each(func(random *rand.Rand) error { f.talk(p, random, stop); return nil })
		}
		each(func(random *rand.Rand) error { return changePipe(p.site, p.proc, random, stop) })
		if i == 0 {
			each(func(*rand.Rand) error { return f.slowPipe(p, stop) })
		}
	}
	for range f.size.doomed {
		each(func(random *rand.Rand) error {
			for !stopped(stop) {
				if err := doom(f.soak, "a stdio server that is killed", random); err != nil {
					return err
				}
			}
			return nil
		})
	}
	each(func(random *rand.Rand) error {
		return changeWeb(f.lives[0].site, f.lives[0].proc, f.file, random, stop)
	})
	f.hurt(each, stop)
	quiet := make(chan struct{})
	var collectors sync.WaitGroup
	for _, l := range f.lives {
		collectors.Go(func() { l.collect(quiet) })
	}
	all.Wait()
	close(quiet)
	collectors.Wait()
	f.eachLife((*life).balance)
}

// eachLife does something to all servers that live, at once.
func (f *fleet) eachLife(what func(*life)) {
	var all sync.WaitGroup
	for _, l := range f.lives {
		all.Go(func() { what(l) })
	}
	all.Wait()
}

// hurt starts the faults.
func (f *fleet) hurt(each func(func(*rand.Rand) error), stop <-chan struct{}) {
	st := f.lives[0].site
	each(func(random *rand.Rand) error {
		for !stopped(stop) {
			if err := cutStream(st, f.web); err != nil {
				return err
			}
			if err := cutRequest(st, f.web, random); err != nil {
				return err
			}
			waitFor(f.soak, 20, stop)
		}
		return nil
	})
	each(func(*rand.Rand) error {
		for !stopped(stop) {
			if err := readSlowly(st, f.web, 200, stop); err != nil {
				return err
			}
			waitFor(f.soak, 200, stop)
		}
		return nil
	})
	if f.mortal == nil {
		return
	}
	for _, c := range f.bold {
		each(func(*rand.Rand) error { f.brave(c, stop); return nil })
	}
	each(func(random *rand.Rand) error { return changeMortal(f.mortal, random, stop) })
	each(func(*rand.Rand) error {
		for !stopped(stop) {
			if err := f.mortal.killMidStream(); err != nil {
				return err
			}
			waitFor(f.soak, 800, stop)
		}
		return nil
	})
}

// surf is what a client of the HTTP server does that lives.
func (f *fleet) surf(c *surfer, stop <-chan struct{}) {
	for !stopped(stop) {
		if err := c.once(); err != nil {
			f.broke(err, false)
			return
		}
	}
}

// brave is what a client of the server does that is killed.
func (f *fleet) brave(c *surfer, stop <-chan struct{}) {
	for !stopped(stop) {
		w, _, start := f.mortal.now()
		if c.web != w {
			_ = c.close(false)
			c.web = w
		}
		if err := c.once(); err != nil {
			killed := f.mortal.killedSince(start)
			f.broke(err, killed)
			if !killed {
				return
			}
			_ = c.close(false)
			_ = until(func() bool { return f.mortal.starts.Load() > start || stopped(stop) })
		}
	}
	_ = c.close(false)
}

// talk is what a client of a stdio server does that lives, several times at once.
func (f *fleet) talk(p *pipe, random *rand.Rand, stop <-chan struct{}) {
	for !stopped(stop) {
		if err := p.once(random); err != nil {
			f.broke(err, false)
			return
		}
	}
}

func (f *fleet) slowPipe(p *pipe, stop <-chan struct{}) error {
	for !stopped(stop) {
		if err := p.slowly(100, stop); err != nil {
			return err
		}
		waitFor(f.soak, 400, stop)
	}
	return nil
}

// land has all clients go and asserts that the servers are as they were and end as they
// should.
func (f *fleet) land() {
	for _, c := range f.surfers {
		if err := c.close(true); err != nil {
			f.found.add("connections", "%s: %v", c.site.name, err)
		}
	}
	f.web.client.CloseIdleConnections()
	for i, p := range f.pipes {
		if err := p.flush(); err != nil {
			f.found.add("answers", "%s: %v", p.site.name, err)
		}
		f.lives[i+1].take()
	}
	f.eachLife((*life).land)
	if f.mortal != nil {
		_, proc, _ := f.mortal.now()
		if err := proc.stop(); err != nil {
			f.found.add("servers", "%s: %v", f.mortal.site.name, err)
		}
	}
}
