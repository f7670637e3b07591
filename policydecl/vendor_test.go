package policydecl_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

const gold = "com.example.tier:gold"

func withMatcher(t testing.TB, m policydecl.Matcher) *policydecl.Set {
	return mustCompile(t, policydecl.Config{Matchers: map[string]policydecl.Matcher{"com.example.tier": m}})
}

// P3: a registered matcher decides its tokens, and is given what it needs.
func TestP3MatcherDecides(t *testing.T) {
	type call struct {
		token string
		c     policydecl.Contributor
	}
	var calls []call
	s := withMatcher(t, func(ctx context.Context, token string, c policydecl.Contributor) (bool, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the context has no deadline")
		}
		calls = append(calls, call{token, c})
		return c.CanonicalPublisher() == publisher, nil
	})
	partner := policydecl.NewContributor(partnerURI, policydecl.TOFU, publisher)
	l := label(user(), partner)
	d := s.Decide(t.Context(), &l, policydecl.AcceptFrom("user", gold))
	if !d.Accepted() || d.Cause() != nil {
		t.Errorf("accepted %v, cause %v, %v", d.Accepted(), d.Cause(), d.Violation())
	}
	// The user was accepted without it.
	if len(calls) != 1 || calls[0] != (call{gold, partner}) {
		t.Errorf("calls %v", calls)
	}
	l = label(user(), server(partnerURI, policydecl.TOFU))
	d = s.Decide(t.Context(), &l, policydecl.AcceptFrom("user", gold))
	if d.Accepted() || d.Cause() != nil || len(d.Violation().Rejected) != 1 {
		t.Errorf("accepted %v, cause %v, %v", d.Accepted(), d.Cause(), d.Violation())
	}
}

// P3: only the prefix counts, and all of it.
func TestP3PrefixIsExact(t *testing.T) {
	s := withMatcher(t, yes)
	l := label(server(partnerURI, policydecl.TOFU))
	for token, want := range map[string]bool{
		gold: true, "com.example.tier:x:y": true, "com.example:tier": false, "com.example.tier.more:gold": false, "com.example.tiers:gold": false,
	} {
		d := s.Decide(t.Context(), &l, policydecl.AcceptFrom(token))
		if d.Accepted() != want {
			t.Errorf("%s: %v, want %v", token, d.Accepted(), want)
		}
	}
}

// L6: the synthetic contributor is the matcher's business too.
func TestP3SyntheticContributor(t *testing.T) {
	var asked atomic.Int32
	s := withMatcher(t, func(_ context.Context, _ string, c policydecl.Contributor) (bool, error) {
		asked.Add(1)
		return c != policydecl.Contributor{}, nil
	})
	l := policydecl.BuildLabel(false, user())
	if d := s.Decide(t.Context(), &l, policydecl.AcceptFrom("user", gold)); d.Accepted() || asked.Load() != 1 {
		t.Errorf("accepted %v after %d calls", d.Accepted(), asked.Load())
	}
}

// P3 and case 36: whatever goes wrong matches nothing, the reason is kept, and a token that
// follows still counts.
func TestP3MatcherFails(t *testing.T) {
	broken := errors.New("directory unreachable")
	for name, row := range map[string]struct {
		m     policydecl.Matcher
		cause string
	}{
		"error":      {func(context.Context, string, policydecl.Contributor) (bool, error) { return false, broken }, broken.Error()},
		"yes, error": {func(context.Context, string, policydecl.Contributor) (bool, error) { return true, broken }, broken.Error()},
		"panic":      {func(context.Context, string, policydecl.Contributor) (bool, error) { panic("boom") }, "panicked: boom"},
		"nil panic":  {func(context.Context, string, policydecl.Contributor) (bool, error) { panic(nil) }, "panicked"},
		"goexit": {func(context.Context, string, policydecl.Contributor) (bool, error) {
			runtime.Goexit()
			return true, nil
		}, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, policydecl.Config{Matchers: map[string]policydecl.Matcher{
				"com.example.tier": row.m, "com.example.other": yes,
			}})
			l := label(server(partnerURI, policydecl.TOFU))
			d := s.Decide(t.Context(), &l, policydecl.AcceptFrom(gold))
			if d.Accepted() || d.Cause() == nil || !strings.Contains(d.Cause().Error(), row.cause) || !strings.Contains(d.Cause().Error(), "com.example.tier") {
				t.Errorf("accepted %v, cause %v", d.Accepted(), d.Cause())
			}
			if d = s.Decide(t.Context(), &l, policydecl.AcceptFrom(gold, "com.example.other:x")); !d.Accepted() || d.Cause() != nil {
				t.Errorf("with another token: accepted %v, cause %v", d.Accepted(), d.Cause())
			}
			if d = s.Decide(t.Context(), &l, policydecl.AcceptFrom(gold, "tofu")); !d.Accepted() {
				t.Errorf("with a plain token: %v", d.Cause())
			}
		})
	}
}

// P3 and case 36: one that overruns matches nothing and delays nobody beyond the budget,
// which all calls of a decision share.
func TestP3MatcherOverruns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		s := mustCompile(t, policydecl.Config{
			MatcherBudget: 3 * time.Second,
			Matchers: map[string]policydecl.Matcher{"com.example.tier": func(context.Context, string, policydecl.Contributor) (bool, error) {
				calls.Add(1)
				<-release // deaf to its context
				return true, nil
			}},
		})
		l := label(server(partnerURI, policydecl.TOFU), server(fetchURI, policydecl.TOFU))
		start := time.Now()
		d := s.Decide(t.Context(), &l, policydecl.AcceptFrom(gold))
		if d.Accepted() || !errors.Is(d.Cause(), context.DeadlineExceeded) || len(d.Violation().Rejected) != 2 {
			t.Errorf("accepted %v, cause %v, %v", d.Accepted(), d.Cause(), d.Violation())
		}
		synctest.Wait() // for a second call that must not have been started
		if took := time.Since(start); took != 3*time.Second || calls.Load() != 1 {
			t.Errorf("took %v for %d calls", took, calls.Load())
		}
		close(release)
	})
}

// P3: an answer that comes with the end of the budget does not count.
func TestP3LateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withMatcher(t, func(ctx context.Context, _ string, _ policydecl.Contributor) (bool, error) {
			<-ctx.Done()
			return true, nil
		})
		l := label(server(partnerURI, policydecl.TOFU))
		start := time.Now()
		d := s.Decide(t.Context(), &l, policydecl.AcceptFrom(gold))
		if d.Accepted() || !errors.Is(d.Cause(), context.DeadlineExceeded) {
			t.Errorf("accepted %v, cause %v", d.Accepted(), d.Cause())
		}
		if took := time.Since(start); took != policydecl.DefaultMatcherBudget {
			t.Errorf("took %v", took)
		}
	})
}

// Case 36: a request cancelled while a matcher runs is refused, even if it says yes.
func TestP3CancelledDuringEvaluation(t *testing.T) {
	for name, wait := range map[string]bool{"it returns at once": false, "it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := withMatcher(t, func(ctx context.Context, _ string, _ policydecl.Contributor) (bool, error) {
					cancel()
					if wait {
						<-ctx.Done()
					}
					return true, nil
				})
				l := label(user(), server(partnerURI, policydecl.TOFU))
				d := s.Decide(ctx, &l, policydecl.AcceptFrom("user", gold))
				if d.Accepted() || !errors.Is(d.Cause(), context.Canceled) {
					t.Errorf("accepted %v, cause %v", d.Accepted(), d.Cause())
				}
			})
		})
	}
}

// lateCancel is a context that ends after its error has been asked for once.
type lateCancel struct {
	context.Context
	asked atomic.Int32
}

func (c *lateCancel) Err() error {
	if c.asked.Add(1) > 1 {
		return context.Canceled
	}
	return nil
}

// The same, where everybody has been accepted by the time it is cancelled.
func TestP3CancelledAtTheEnd(t *testing.T) {
	s := withMatcher(t, yes)
	l := label(server(partnerURI, policydecl.TOFU))
	d := s.Decide(&lateCancel{Context: context.Background()}, &l, policydecl.AcceptFrom(gold))
	if d.Accepted() || !errors.Is(d.Cause(), context.Canceled) || len(d.Violation().Rejected) != 1 {
		t.Errorf("accepted %v, cause %v, %v", d.Accepted(), d.Cause(), d.Violation())
	}
}
