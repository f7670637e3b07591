package soak_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// pipe is a stdio server with its one client, which has several requests on their way.
type pipe struct {
	site *site
	proc *process

	writing sync.Mutex
	gone    chan struct{}

	mu      sync.Mutex
	waiting map[string]*waiter // by id
	reading chan struct{}      // closed while somebody is to read
	leaving bool               // what comes is of no interest any more
	nobody  chan answer        // answers with the id null
	null    sync.Mutex         // held by who waits for one
}

// waiter waits for an answer.
type waiter struct {
	q       *query
	answers chan answer // room for two, of which the second is one too many
	began   chan struct{}
	once    sync.Once
}

var errGone = errors.New("the server has closed its output")

func openPipe(s *site) (*pipe, error) {
	proc, err := start("stdio", "", s.bug)
	if err != nil {
		return nil, err
	}
	p := &pipe{site: s, proc: proc, gone: make(chan struct{}), reading: make(chan struct{}), waiting: map[string]*waiter{}, nobody: make(chan answer, 8)}
	close(p.reading)
	go p.read()
	if err := p.greet(); err != nil {
		return nil, err
	}
	return p, nil
}

// greet opens the connection as the earlier era does.
func (p *pipe) greet() error {
	w := p.wait("0", nil)
	if err := p.write(initialize); err != nil {
		return err
	}
	if _, err := p.answer(w); err != nil {
		return err
	}
	p.unwait("0")
	return p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (p *pipe) write(line string) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := io.WriteString(p.proc.in, line+"\n")
	return err
}

func (p *pipe) wait(id string, q *query) *waiter {
	w := &waiter{q: q, answers: make(chan answer, 2), began: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[id] = w
	return w
}

func (p *pipe) unwait(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.waiting[id]; w != nil && len(w.answers) > 0 && !p.leaving {
		p.site.found.add("answers", "%s: a second answer to %s", p.site.name, id)
	}
	delete(p.waiting, id)
}

// read hands every message to whom it is for.
func (p *pipe) read() {
	defer close(p.gone)
	for in := bufio.NewReader(p.proc.out); ; {
		<-p.mayRead()
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // what there is of a last line was cut off
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			p.site.found.add("answers", "%s: not a line of JSON: %q", p.site.name, cut(string(line)))
			continue
		}
		p.hand(a)
	}
}

func (p *pipe) mayRead() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reading
}

func (p *pipe) hand(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !a.isReply():
		for _, w := range p.waiting {
			if w.q != nil && w.q.shownBy(&a) {
				w.once.Do(func() { close(w.began) })
			}
		}
		return
	case string(a.ID) == "null":
		select {
		case p.nobody <- a:
			return
		default:
		}
	default:
		if w := p.waiting[string(a.ID)]; w != nil {
			select {
			case w.answers <- a:
				return
			default:
			}
		}
	}
	if !p.leaving {
		p.site.found.add("answers", "%s: an answer that nobody waits for: %v", p.site.name, &a)
	}
}

func (p *pipe) answer(w *waiter) (answer, error) {
	select {
	case a := <-w.answers:
		return a, nil
	case <-p.gone:
		return answer{}, errGone
	case <-time.After(p.site.waits):
		return answer{}, errors.New("no answer in " + p.site.waits.String())
	}
}

// once does one thing.
func (p *pipe) once(random *rand.Rand) error {
	q := p.site.pick(random)
	if q.odd != nil && q.odd.nobody {
		return p.onceForNobody(q)
	}
	return p.exchange(q)
}

// exchange sends a request and does with it what its route says.
func (p *pipe) exchange(q *query) error {
	w := p.wait(q.id, q)
	defer p.unwait(q.id)
	p.site.sending(q)
	if err := p.write(q.body()); err != nil {
		return &broken{p.site, q, err}
	}
	if q.silent() {
		p.site.received(q, nil) // an answer is one that nobody waits for
		return nil
	}
	if q.route != nil && q.route.manner != plainly {
		select {
		case <-w.began:
			if err := p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + q.id + `}}`); err != nil {
				return &broken{p.site, q, err}
			}
		case a := <-w.answers:
			w.answers <- a
		case <-p.gone:
			return &broken{p.site, q, errGone}
		case <-time.After(p.site.waits):
			return &broken{p.site, q, errors.New("neither an answer nor progress came")}
		}
	}
	a, err := p.answer(w)
	if err != nil {
		return &broken{p.site, q, err}
	}
	p.site.received(q, []answer{a})
	return nil
}

// onceForNobody sends something that is answered under no id, one at a time.
func (p *pipe) onceForNobody(q *query) error {
	p.null.Lock()
	defer p.null.Unlock()
	p.site.sending(q)
	if err := p.write(q.body()); err != nil {
		return &broken{p.site, q, err}
	}
	a, err := p.answer(&waiter{answers: p.nobody})
	if err != nil {
		return &broken{p.site, q, err}
	}
	p.site.received(q, []answer{a})
	return nil
}

// flush asserts that the server has written nothing more: a ping goes behind all there is.
func (p *pipe) flush() error {
	id := `"flush-` + strconv.FormatUint(p.site.next.Add(1), 10) + `"`
	w := p.wait(id, nil)
	defer p.unwait(id)
	if err := p.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`); err != nil {
		return err
	}
	_, err := p.answer(w)
	return err
}

// slowly has the server write much more than a pipe holds while nobody reads, until the
// others have got so many answers.
func (p *pipe) slowly(many int64, stop <-chan struct{}) error {
	r := tool("big", nil)
	queries := make([]*query, 3)
	waiters := make([]*waiter, len(queries))
	p.mu.Lock()
	again := make(chan struct{})
	p.reading = again
	p.mu.Unlock()
	var failed error
	for i := range queries {
		q := p.site.query(&r, []string{legacy, modern}[i%2])
		queries[i], waiters[i] = q, p.wait(q.id, q)
		p.site.sending(q)
		if err := p.write(q.body()); err != nil {
			failed = &broken{p.site, q, err}
		}
	}
	waitFor(p.site.soak, many, stop)
	close(again)
	for i, q := range queries {
		a, err := p.answer(waiters[i])
		p.unwait(q.id)
		if err != nil {
			return errors.Join(failed, &broken{p.site, q, err})
		}
		p.site.received(q, []answer{a})
	}
	p.site.counts.add("slow readers over stdio")
	return failed
}

// waitFor waits until so many more answers have come to anybody.
func waitFor(s *soak, many int64, stop <-chan struct{}) {
	want := s.answers.Load() + many
	_ = until(func() bool {
		select {
		case <-stop:
			return true
		default:
			return s.answers.Load() >= want
		}
	})
}
