package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Sizes of messages.
const (
	Small = 400
	Large = 64 << 10
)

// SizeName writes a size as names and tables do.
func SizeName(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

// The ways in.
const (
	ViaHandle = "HandleMessage"
	ViaHTTP   = "HTTP"
)

// GateName returns the name of the group for one kind of request.
func GateName(via string, size int, accept bool) string {
	verdict := "refuse"
	if accept {
		verdict = "accept"
	}
	return fmt.Sprintf("via=%s/size=%s/verdict=%s", via, SizeName(size), verdict)
}

// PartsName is the name of the group that times what the gate does for one small call.
const PartsName = "parts/size=400B"

// The parts of the gate's work for one call that can be timed by themselves.
const (
	PartMessage  = "part=message"  // its bytes are read strictly (L8)
	PartLabel    = "part=label"    // the label is read from decoded JSON
	PartDecision = "part=decision" // and compared with the policy of the tool
)

// partsGroup times the parts of the gate's work for an accepted call.
func partsGroup() Group {
	return Group{
		Section: Gate, Name: PartsName, Batch: time.Millisecond / 2, Weight: 3,
		Make: func() ([]Op, func(), error) {
			m, err := call(Flowgate, true, Small)
			if err != nil {
				return nil, nil, err
			}
			set, err := policydecl.Compile(policydecl.Config{URI: ownURI})
			if err != nil {
				return nil, nil, err
			}
			var decoded any
			if err := json.Unmarshal([]byte(acceptedLabel), &decoded); err != nil {
				return nil, nil, err
			}
			read := policydecl.LabelOf(decoded, true, policydecl.Limits{})
			policy := policydecl.AcceptFrom(toolTokens...)
			return []Op{
				{PartMessage, once(true, func() bool { _, err := wire.ReadRequest(m.raw); return err == nil })},
				{PartLabel, once(true, func() bool { l := policydecl.LabelOf(decoded, true, policydecl.Limits{}); return l.Complete() })},
				{PartDecision, once(true, func() bool { return set.Decide(context.Background(), &read, policy).Accepted() })},
			}, func() {}, nil
		},
	}
}

// gateGroups compares the guards, for every kind of request.
func gateGroups() []Group {
	var all []Group
	for _, via := range []string{ViaHandle, ViaHTTP} {
		for _, size := range []int{Small, Large} {
			for _, accept := range []bool{true, false} {
				weight := 3
				if accept {
					weight = 12 // what the aims are about
				}
				all = append(all, Group{
					Section: Gate,
					Name:    GateName(via, size, accept),
					Batch:   time.Millisecond / 2,
					Weight:  weight,
					Make: func() ([]Op, func(), error) {
						return gateOps(via, size, accept)
					},
				})
			}
		}
	}
	return append(all, partsGroup())
}

func gateOps(via string, size int, accept bool) (ops []Op, done func(), err error) {
	var close cleanup
	for _, guard := range Guards() {
		s, err := newSite(guard, load{})
		if err != nil {
			return nil, nil, close.after(err)
		}
		m, err := call(guard, accept, size)
		if err != nil {
			return nil, nil, close.after(err)
		}
		run, err := s.runner(via, m, 1, &close)
		if err != nil {
			return nil, nil, close.after(err)
		}
		ops = append(ops, Op{"mw=" + string(guard), run})
	}
	return ops, close.run, nil
}

// runner returns what sends m to s, after having tried it once.
func (s *site) runner(via string, m message, clients int, close *cleanup) (func(n int), error) {
	if via == ViaHandle {
		return func(n int) {
			for range n {
				if err := s.handle(m); err != nil {
					panic(err)
				}
			}
		}, s.check(m)
	}
	w, err := s.serve(clients)
	if err != nil {
		return nil, err
	}
	*close = append(*close, w.close)
	return func(n int) { w.posts(m, n, clients) }, nil
}

// cleanup is what is to be done at the end.
type cleanup []func()

func (c *cleanup) run() {
	for _, f := range *c {
		f()
	}
}

// after cleans up after an error, which it returns.
func (c *cleanup) after(err error) error {
	c.run()
	return err
}
