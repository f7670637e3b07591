package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// ledger is the twin of a partition: who had answered by when.
type ledger struct {
	mu       sync.Mutex
	answered map[string]bool
	order    []string
}

func (l *ledger) note(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.answered[uri] {
		l.answered[uri], l.order = true, append(l.order, uri)
	}
}

func (l *ledger) so() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.order[:len(l.order):len(l.order)]
}

// H1, H3: whatever had come when a label is built is in it, with 50 requests at a time in
// one partition and its sub-partitions.
func TestManyAtOnce(t *testing.T) {
	const workers, rounds = 50, 20
	b := newBench(t, host.Config{DangerouslyIgnoreCeiling: true})
	var conns []*host.Connection
	for i := range workers {
		uri := fmt.Sprintf("https://s%d.example/mcp", i)
		assurances[uri] = policydecl.Assurance(i % 3)
		conns = append(conns, b.open(uri))
	}
	turn := b.turn("user")
	twin := &ledger{answered: map[string]bool{}}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			p, mine := turn, &ledger{answered: map[string]bool{}}
			if w%3 == 0 {
				before := twin.so()
				p = turn.Sub(host.Turn{})
				mine.order = before
			}
			for range rounds {
				c := conns[random.IntN(workers)]
				before := twin.so()
				if p != turn {
					before = mine.so()
				}
				oneOfMany(t, c, p, before, random.IntN(5))
				mine.note(c.Server().URI)
				twin.note(c.Server().URI)
			}
		})
	}
	group.Wait()
	covers(t, turn.Sources().Label(false), twin.so())
	equal(t, "records", b.count(), workers*rounds)
	for _, c := range conns {
		equal(t, "requests under way", host.InFlight(c), 0)
	}
}

// oneOfMany sends a request, whose label has to name all who had answered before, and has
// something come back in one of five ways.
func oneOfMany(t *testing.T, c *host.Connection, p *host.Partition, before []string, how int) {
	ctx := context.Background()
	r, err := c.Prepare(ctx, p, "tools/call", json.RawMessage(`{"name":"x"}`))
	if err != nil {
		t.Error(err)
		return
	}
	covers(t, labelIn(t, "tools/call", r.Params), before)
	switch how {
	case 0:
		r.Failed(ctx, nil)
	case 1:
		_ = r.Error(ctx, json.RawMessage(refusalText))
	case 2:
		c.Heard(nil)
		covers(t, p.Sources().Label(false), []string{c.Server().URI})
		r.Answered(ctx)
	case 3:
		c.Heard(p)
		go r.Failed(ctx, nil)
		r.Answered(ctx)
	default:
		r.Answered(ctx)
	}
	covers(t, p.Sources().Label(false), append(before, c.Server().URI))
}

// covers checks that a label names all of the given.
func covers(t *testing.T, l policydecl.Label, want []string) {
	t.Helper()
	names := map[string]bool{}
	for _, c := range l.Contributors() {
		names[c.Principal()] = true
	}
	for _, uri := range want {
		if !names[uri] {
			t.Errorf("%s had come and is not in the label", uri)
		}
	}
}

// Everything that a connection and a host offer may be called at once.
func TestEverythingAtOnce(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, host.Config{})
	b.agree = func(a host.Approval) bool { return len(a.Target)%2 == 0 }
	conns := []*host.Connection{b.open(recordsURI), b.open(partnerURI), b.open(recordsURI)}
	open := b.Open(host.Turn{})
	var group sync.WaitGroup
	for w := range 12 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(w)))
			c := conns[w%len(conns)]
			for range 100 {
				tokens := []string{`"user"`, `"host"`, `"verified"`, `"tofu"`}[:random.IntN(5)]
				policy := `"flowPolicy":{"acceptFrom":[` + join(tokens) + `]}`
				switch random.IntN(9) {
				case 0:
					_ = c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":[`+join(tokens)+`]}}}}`))
				case 1:
					_ = c.Page(context.Background(), policydecl.Tool, []byte(`{"tools":[{"name":"a",`+policy+`},{"name":"bb"}]}`), true)
				case 2:
					_ = c.Page(context.Background(), policydecl.Template, []byte(`{"resourceTemplates":[{"uriTemplate":"x://{y}",`+policy+`}]}`), true)
				case 3:
					for _, a := range c.Pending() {
						c.Approve(a)
					}
				case 4:
					c.Stale(policydecl.Resource)
					c.Fresh(policydecl.Resource)
				case 5:
					c.NeedsList(open, "tools/call", json.RawMessage(`{"name":"a"}`))
				case 6:
					c.Heard(nil)
				case 7:
					b.Open(host.Turn{Shown: conns}).Sub(host.Turn{}).Incomplete()
				default:
					if r, err := c.Prepare(ctx, open, "resources/read", json.RawMessage(`{"uri":"x://1"}`)); err == nil {
						r.Answered(ctx)
					}
				}
			}
			if w == 11 {
				c.Close()
			}
		})
	}
	group.Wait()
}

func join(list []string) string {
	s := ""
	for i, e := range list {
		if i > 0 {
			s += ","
		}
		s += e
	}
	return s
}
