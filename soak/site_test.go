package soak_test

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// soak is what all of one test share.
type soak struct {
	found   *findings
	counts  *counts
	seen    *counts       // of cells
	next    atomic.Uint64 // number of the next request
	answers atomic.Int64  // so far, from whomever
	bug     string
	least   int64         // answers that there have to be after the time of a phase
	settle  time.Duration // how long servers have to be as they were when nothing happens
	waits   time.Duration // how long a client waits for an answer over stdio
}

func newSoak(bug string) *soak {
	return &soak{found: newFindings(), counts: &counts{}, seen: &counts{}, bug: bug, settle: patience, waits: patience}
}

// site is one server in the eyes of its clients.
type site struct {
	*soak
	name   string
	over   string // overHTTP or overStdio
	times  *times
	ledger *ledger // nil for a server that is killed, whose account dies with it
}

func (s *soak) site(name, over string, lives bool) *site {
	st := &site{soak: s, name: name, over: over, times: newTimes()}
	if lives {
		st.ledger = newLedger(s.found)
	}
	return st
}

// pick makes the next request of a client.
func (s *site) pick(random *rand.Rand) *query {
	eras := []string{legacy, modern}
	q := &query{n: s.next.Add(1), over: s.over, era: eras[random.IntN(2)]}
	q.id = idOf(q.n)
	switch dice := random.IntN(100); {
	case dice < 8:
		q.odd = &odds[random.IntN(len(odds))]
		return q
	case dice < 18:
		q.route = &open[random.IntN(len(open))]
	case dice < 20:
		q.route = &gated[len(gated)-1-random.IntN(seldom)]
	default:
		q.route = &gated[random.IntN(len(gated)-seldom)]
	}
	return s.with(q, &labels[random.IntN(len(labels))])
}

// with gives a request a label and the era that its route asks for.
func (s *site) with(q *query, l *label) *query {
	q.label = l
	if q.route.only != "" {
		q.era = q.route.only
	}
	return q
}

// query makes a request of one's own choice.
func (s *site) query(r *route, era string) *query {
	n := s.next.Add(1)
	return s.with(&query{n: n, over: s.over, id: idOf(n), era: era, route: r}, &labels[0])
}

// sending notes that a request is about to be sent.
func (s *site) sending(q *query) {
	q.from = s.times.now()
	if s.ledger != nil && !q.silent() {
		s.ledger.open(q)
	}
}

// silent reports whether nothing is to come of the message, at either end.
func (q *query) silent() bool { return q.odd != nil && q.odd.code == 0 }

// received checks what came for a request: exactly one answer, and the right one.
func (s *site) received(q *query, got []answer) {
	sp := s.times.since(q)
	if q.silent() {
		if len(got) > 0 {
			s.found.add("answers", "%s: an answer to a message without an id: %v", s.name, &got[0])
		}
		s.done(q, unnoticed)
		return
	}
	if len(got) != 1 {
		s.found.add("answers", "%s: %d answers to %s %s", s.name, len(got), q.era, cut(q.body()))
		s.drop(q)
		return
	}
	o, err := check(q, sp, &got[0])
	if err != nil {
		kind := "verdicts"
		if errors.Is(err, errList) {
			kind = "lists"
		}
		s.found.add(kind, "%s: %s %s: %v: %v", s.name, q.era, cut(q.body()), err, &got[0])
		s.drop(q)
		return
	}
	if s.ledger != nil {
		s.ledger.close(q, sp, o)
	}
	s.done(q, o)
}

func (s *site) done(q *query, o outcome) {
	kind := q.name()
	if q.odd != nil {
		kind = "odd: " + kind
	}
	s.counts.add("requests  " + kind + ": " + string(o))
	s.counts.add("answers checked")
	s.seen.add(q.cell(o))
	s.answers.Add(1)
}

// leftAlone notes that the client has gone after the handler had begun.
func (s *site) leftAlone(q *query, how string) {
	if sp := s.times.since(q); !q.mayRun(sp) {
		s.found.add("verdicts", "%s: %s %s began in states %v", s.name, q.era, cut(q.body()), sp)
	} else if s.ledger != nil {
		s.ledger.close(q, sp, ran)
	}
	s.counts.add("requests  " + q.name() + ": " + how)
	s.seen.add(q.cell(ran))
	s.answers.Add(1)
}

// drop forgets a request about which there is a finding already.
func (s *site) drop(q *query) {
	if s.ledger != nil {
		s.ledger.forget(q)
	}
}

// failed notes that a request got no answer: because its server was killed, or else that is
// a finding.
func (s *site) failed(q *query, killed bool, err error) {
	s.drop(q)
	if killed {
		s.counts.add("requests lost with their server")
		return
	}
	s.found.add("answers", "%s: no answer to %s %s: %v", s.name, q.era, cut(q.body()), err)
}
