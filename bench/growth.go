package bench

import (
	"fmt"
	"time"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Curve is one growth: a group whose Ops are named after a size and a side.
type Curve struct {
	Of     string // what grows
	Sizes  []int
	Sides  []string
	Weight int
	make   func(side string, n int, close *cleanup) (func(n int), error)
}

// OpName names an Op of a curve.
func (c Curve) OpName(side string, n int) string { return fmt.Sprintf("n=%d/%s", n, side) }

// GroupName names the group of a curve.
func (c Curve) GroupName() string { return "of=" + c.Of }

var (
	engineSides = []string{"engine=flowgate", "engine=prototype", "engine=cedar", "engine=opa"}
	gateSides   = []string{"mw=none", "mw=flowgate"}
)

// Curves returns all growth curves.
func Curves() []Curve {
	return []Curve{
		{"contributors", []int{1, 4, 16, 64, 256}, engineSides, 5, func(side string, n int, _ *cleanup) (func(int), error) {
			return engineRun(side, Case{Name: "contributors", Tokens: defaultTokens, Label: label(servers(n)...), Accept: true}, FromPrepared)
		}},
		{"contributors-read", []int{1, 4, 16, 64, 256}, engineSides, 5, func(side string, n int, _ *cleanup) (func(int), error) {
			return engineRun(side, Case{Name: "contributors", Tokens: defaultTokens, Label: label(servers(n)...), Accept: true}, FromDecoded)
		}},
		{"tokens", []int{1, 4, 40, 400}, engineSides, 5, func(side string, n int, _ *cleanup) (func(int), error) {
			return engineRun(side, Case{Name: "tokens", Tokens: tokens(n, partnerURI), Label: label(byTOFU), Accept: true}, FromPrepared)
		}},
		{"tools", []int{10, 100, 1000, 10_000}, gateSides, 6, func(side string, n int, close *cleanup) (func(int), error) {
			return gateRun(side, load{tools: n}, ViaHandle, Small, 1, close)
		}},
		{"templates", []int{10, 100, 1000}, gateSides, 6, templatesRun},
		{"templates-lookup", []int{10, 100, 1000}, []string{"call=Resource"}, 2, func(_ string, n int, _ *cleanup) (func(int), error) {
			return lookUp(n)
		}},
		{"bytes", []int{400, 4 << 10, 64 << 10, 512 << 10, 4 << 20}, gateSides, 8, func(side string, n int, close *cleanup) (func(int), error) {
			return gateRun(side, load{}, ViaHandle, n, 1, close)
		}},
		{"clients", []int{1, 2, 4, 8, 16, 32, 64}, gateSides, 8, func(side string, n int, close *cleanup) (func(int), error) {
			return gateRun(side, load{}, ViaHTTP, Small, n, close)
		}},
	}
}

// growthGroups returns a group for each curve, so that its sizes are timed in turn too.
func growthGroups() []Group {
	var all []Group
	for _, c := range Curves() {
		all = append(all, Group{Section: Growth, Name: c.GroupName(), Weight: c.Weight, Batch: time.Millisecond, Make: c.ops})
	}
	return all
}

func (c Curve) ops() (ops []Op, done func(), err error) {
	var close cleanup
	for _, n := range c.Sizes {
		for _, side := range c.Sides {
			run, err := c.make(side, n, &close)
			if err != nil {
				return nil, nil, close.after(fmt.Errorf("%s %d: %w", c.Of, n, err))
			}
			ops = append(ops, Op{c.OpName(side, n), run})
		}
	}
	return ops, close.run, nil
}

func engineRun(side string, c Case, from Form) (func(int), error) {
	for _, e := range Engines() {
		if "engine="+e.Name == side {
			decide, err := e.Decide(c, from)
			return once(c.Accept, decide), err
		}
	}
	return nil, fmt.Errorf("bench: no such engine: %s", side)
}

// guardOf returns the guard of a side of a curve.
func guardOf(side string) Guard {
	if side == "mw=none" {
		return Bare
	}
	return Flowgate
}

func gateRun(side string, l load, via string, size, clients int, close *cleanup) (func(int), error) {
	s, err := newSite(guardOf(side), l)
	if err != nil {
		return nil, err
	}
	m, err := call(guardOf(side), true, size)
	if err != nil {
		return nil, err
	}
	return s.runner(via, m, clients, close)
}

// templatesRun reads a resource of the middlemost of n templates.
func templatesRun(side string, n int, close *cleanup) (func(int), error) {
	s, err := newSite(guardOf(side), load{templates: n})
	if err != nil {
		return nil, err
	}
	raw, err := request("resources/read", fmt.Sprintf(`"uri":"records://table%d/7"`, n/2), acceptedLabel, 0)
	if err != nil {
		return nil, err
	}
	return s.runner(ViaHandle, message{raw, answerText}, 1, close)
}

// lookUp finds the policies of a URI that one of n templates matches.
func lookUp(n int) (func(int), error) {
	cfg := policydecl.Config{URI: ownURI}
	p := policydecl.AcceptFrom(toolTokens...)
	for i := range n {
		cfg.Targets = append(cfg.Targets, policydecl.Declaration{Kind: policydecl.Template, Name: fmt.Sprintf("records://table%d/{id}", i), Policy: p})
	}
	set, err := policydecl.Compile(cfg)
	uri := fmt.Sprintf("records://table%d/7", n/2)
	buf := make([]policydecl.Policy, 0, 8)
	return func(n int) {
		for range n {
			if found, err := set.Resource(buf, uri); err != nil || len(found) != 1 {
				panic(fmt.Sprint("bench: ", found, err))
			}
		}
	}, err
}
