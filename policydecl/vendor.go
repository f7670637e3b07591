package policydecl

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Matcher decides whether a vendor token, given as it was written, matches a
// contributor (P3). It is called only for tokens of the prefix it is registered for, and
// only if no other token of the policy accepts the contributor. It can be called for the
// synthetic contributor of an incomplete label (L6), which withholds its principal.
//
// It must be safe for concurrent use, must give the same answer for the same arguments
// while a policy is in force (P8), and must return when ctx ends. One that
// returns an error, panics, or is not back when ctx ends matches nothing.
type Matcher func(ctx context.Context, token string, c Contributor) (bool, error)

// DefaultMatcherBudget is how long the matchers may take in one decision, all together,
// unless [Config] says otherwise.
const DefaultMatcherBudget = 100 * time.Millisecond

// session is the use of matchers by one decision. It is made when the first one is
// asked, so that a decision which needs none pays nothing.
type session struct {
	ctx    context.Context
	cancel context.CancelFunc
	fault  error // the first failure
}

// newSession starts the clock.
func (s *Set) newSession(ctx context.Context) *session {
	ctx, cancel := context.WithTimeout(ctx, s.budget)
	return &session{ctx: ctx, cancel: cancel}
}

// end releases the session. A nil session has nothing to release.
func (v *session) end() {
	if v != nil {
		v.cancel()
	}
}

// failure returns the first failure of a matcher, if any.
func (v *session) failure() error {
	if v == nil {
		return nil
	}
	return v.fault
}

// accepts asks the matchers of r's vendor tokens, in order, until one matches c.
func (v *session) accepts(matchers map[string]Matcher, r *rules, c Contributor) bool {
	for _, t := range r.vendor {
		m := matchers[t.prefix]
		if m == nil {
			continue // P3: inert
		}
		ok, err := v.ask(m, t.text, c)
		if err != nil && v.fault == nil {
			v.fault = fmt.Errorf("policydecl: matcher for %q: %w", t.prefix, err)
		}
		if ok {
			return true
		}
	}
	return false
}

// The failures of a matcher that are not its own error.
var (
	errPanic = errors.New("panicked")
	errExit  = errors.New("ended its goroutine")
)

// answer is what a matcher said.
type answer struct {
	ok  bool
	err error
}

// ask calls m on a goroutine of its own, so that one that ignores its context
// delays nobody. An answer that comes too late does not count.
func (v *session) ask(m Matcher, token string, c Contributor) (bool, error) {
	if err := v.ctx.Err(); err != nil {
		return false, err
	}
	answers := make(chan answer, 1) // one that is late must not wait for a reader
	go func() {
		a := answer{err: errExit} // what runtime.Goexit leaves
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("%w: %v", errPanic, p)}
			}
			answers <- a
		}()
		ok, err := m(v.ctx, token, c)
		a = answer{ok, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-v.ctx.Done():
	}
	if err := v.ctx.Err(); err != nil {
		return false, err
	}
	return a.ok && a.err == nil, a.err
}
