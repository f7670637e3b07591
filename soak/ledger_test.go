package soak_test

import (
	"fmt"
	"slices"
	"sync"
)

// event is one thing that a server says it has done for a request.
type event struct {
	N    uint64 `json:"n"`
	What string `json:"what"`
}

// account is a decision record, as far as it is compared (M2).
type account struct {
	N        uint64 `json:"n"`
	ID       string `json:"id"`
	Verdict  string `json:"verdict"`
	Mode     string `json:"mode"`
	Reason   string `json:"reason"`
	Settings string `json:"settings"`
	Requests uint64 `json:"requests"`
}

// page is all that is known of one request.
type page struct {
	q       *query
	span    span
	outcome outcome // "" while it is on its way
	runs    []string
	records []account
}

// ledger compares a server's own account with what its clients have seen.
type ledger struct {
	found *findings

	mu      sync.Mutex
	pages   map[uint64]*page
	digests map[string]int // settings -> state of the overrides
	closed  int            // pages that were in order
}

func newLedger(f *findings) *ledger {
	return &ledger{found: f, pages: map[uint64]*page{}, digests: map[string]int{}}
}

// learn notes the digest by which records name a state of the overrides.
func (l *ledger) learn(digest string, state int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if had, ok := l.digests[digest]; ok && had != state {
		l.found.add("settings", "states %d and %d of the overrides have one digest", had, state)
	}
	l.digests[digest] = state
}

// open starts the page of a request that is about to be sent.
func (l *ledger) open(q *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[q.n] = &page{q: q}
}

// close notes what became of a request.
func (l *ledger) close(q *query, s span, o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[q.n]
	if p == nil {
		l.found.add("answers", "request %d was answered twice", q.n)
		return
	}
	p.outcome, p.span = o, s
	l.settle(p)
}

// forget drops a request of which the server's account will never come.
func (l *ledger) forget(q *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, q.n)
}

// enter takes what a server has done since the last time.
func (l *ledger) enter(runs []event, records []account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range runs {
		p := l.pages[e.N]
		if p == nil {
			l.found.add("handlers", "%s ran for request %d, which it was not to run for, or not again (G2)", e.What, e.N)
			continue
		}
		p.runs = append(p.runs, e.What)
		l.settle(p)
	}
	for _, a := range records {
		if a.N == 0 {
			a.N = numberOf(a.ID)
		}
		p := l.pages[a.N]
		if p == nil || a.Requests != 1 {
			l.found.add("records", "a record too many (M2): %+v", a)
			continue
		}
		p.records = append(p.records, a)
		l.settle(p)
	}
}

// settle closes a page on which nothing is missing. Whatever comes for it later is too
// much.
func (l *ledger) settle(p *page) {
	if p.outcome == "" || len(p.records) < p.wantRecords() || len(p.runs) < len(p.wantRuns()) {
		return
	}
	delete(l.pages, p.q.n)
	l.closed++
	if err := p.check(l.digests); err != nil {
		l.found.add("ledger", "%s %s, label %s, %s, states %v: %v; it ran %q, records %+v",
			p.q.era, p.q.name(), p.q.labelName(), p.outcome, p.span, err, p.runs, p.records)
	}
}

// left reports every page that is still open, when nothing more will come.
func (l *ledger) left() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pages)
}

// report makes findings of the pages that are still open.
func (l *ledger) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pages {
		l.found.add("ledger", "the account of %s %s, label %s, %s is not whole: it ran %q, records %+v, want %d",
			p.q.era, p.q.name(), p.q.labelName(), p.outcome, p.runs, p.records, p.wantRecords())
	}
	clear(l.pages)
}

func (q *query) name() string {
	if q.odd != nil {
		return q.odd.name
	}
	return q.route.name
}

func (q *query) labelName() string {
	if q.label == nil {
		return "-"
	}
	return q.label.name
}

func (p *page) wantRecords() int {
	q := p.q
	if q.odd != nil && q.odd.recorded && !q.early() || q.odd == nil && (q.route.code != nil || q.route.comes != "") {
		return 1
	}
	return 0
}

// wantRuns is what the server has to have done.
func (p *page) wantRuns() []string {
	switch {
	case p.outcome != ran:
		return nil
	case p.q.odd != nil:
		return []string{"anything"}
	case p.q.route.comes != "":
		return []string{"come"}
	}
	return p.q.route.runs
}

// check compares a page that is whole with the state by which the server has judged it.
func (p *page) check(digests map[string]int) error {
	if p.q.route != nil && p.q.route.comes == "" && !sameSet(p.runs, p.wantRuns()) {
		return fmt.Errorf("want it to run %q (G2)", p.wantRuns())
	}
	if len(p.runs) > len(p.wantRuns()) || len(p.records) > p.wantRecords() {
		return fmt.Errorf("the server has done too much")
	}
	if len(p.records) == 0 {
		return nil
	}
	r := p.records[0]
	state, known := digests[r.Settings]
	if !known || !slices.Contains(p.span.overrides, state) {
		return fmt.Errorf("it was judged by state %d of the overrides, which was not in force", state)
	}
	if want := p.wantVerdicts(state); !slices.Contains(want, r.Verdict+" "+r.Mode) {
		return fmt.Errorf("the record has another verdict, want one of %q", want)
	}
	switch {
	case p.q.odd != nil && p.outcome == ran && variants[state].mode == modeEnforce:
		return fmt.Errorf("it ran although the state by which it was judged enforces")
	case p.q.odd != nil:
		return nil
	case p.q.route.comes != "":
		return p.checkComing(state)
	}
	if no, _ := variants[state].judge(p.q.route.code, p.q.route.also, p.q.label); (len(no) == 0) != (p.outcome == ran) {
		return fmt.Errorf("state %d, by which it was judged, does not say so", state)
	}
	return nil
}

// checkComing asserts that the very handler that ran had a policy that accepts (D4).
func (p *page) checkComing(state int) error {
	if p.outcome != ran {
		return nil
	}
	for c := 1; c < len(coming); c++ {
		if p.runs[0] == p.q.route.comes+fmt.Sprint(c) {
			if !slices.Contains(p.span.coming, c) || !p.q.runsIn(state, c) {
				return fmt.Errorf("it ran without its policy (D4)")
			}
			return nil
		}
	}
	return fmt.Errorf("something else ran")
}

// wantVerdicts is what the record may say of a request that was judged by a state.
func (p *page) wantVerdicts(state int) []string {
	switch {
	case p.q.odd != nil && variants[state].mode == modeEnforce:
		return []string{"invalid enforce"}
	case p.q.odd != nil && variants[state].mode == modeReport:
		return []string{"invalid report", "unjudged report"} // the latter if mcp-go cannot read it either
	case p.q.odd != nil || p.modeOf(state) == modeOff:
		return []string{"unjudged off"}
	}
	if p.outcome == notThere {
		want := []string{"unjudged " + p.modeOf(state)}
		if p.q.route.comes == "resource" {
			// The policy of a URI is there also while the resource is not.
			want = append(want, "accepted "+p.modeOf(state))
		}
		return want
	}
	if p.outcome == refused {
		return []string{"refused enforce"}
	}
	var want []string
	states := []int{0}
	if p.q.route.comes != "" {
		states = p.span.coming
	}
	if p.q.route.comes == "resource" {
		states = append([]int{p.span.stays}, states...)
	}
	for _, c := range states {
		if _, reported := variants[state].judge(p.q.declarations(c), p.q.route.also, p.q.label); len(reported) > 0 {
			want = append(want, "refused report")
		} else {
			want = append(want, "accepted "+p.modeOf(state))
		}
	}
	return want
}

// modeOf is the mode in which a state judges the route.
func (p *page) modeOf(state int) string {
	if v := &variants[state]; len(p.q.route.code) == 1 {
		return v.modeOf(p.q.route.code[0].target)
	} else {
		return v.mode
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
