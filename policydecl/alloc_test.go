package policydecl_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// wireLabel is a label of n contributors as mcp-go hands it over: the user, the host,
// and servers.
func wireLabel(n int) map[string]any {
	list := make([]any, 0, n)
	for i := range n {
		switch i {
		case 0:
			list = append(list, map[string]any{"principal": policydecl.PrincipalUser, "assurance": "user"})
		case 1:
			list = append(list, map[string]any{"principal": policydecl.PrincipalHost, "assurance": "host"})
		default:
			list = append(list, map[string]any{"principal": fmt.Sprintf("https://mcp%d.partner.example/mcp", i), "assurance": "verified"})
		}
	}
	return map[string]any{"contributors": list, "complete": true}
}

// manyTokens returns n tokens, the last of which accept the servers of wireLabel.
func manyTokens(n int) []string {
	tokens := []string{"user", "host", "self"}
	for i := len(tokens); i < n; i++ {
		tokens = append(tokens, fmt.Sprintf("https://mcp%d.partner.example/mcp", i-1))
	}
	return tokens
}

// The hot path: one allocation to read a label of canonical principals, none to accept
// it, and none to find the policies.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ctx := context.Background()
	set := recordsServer(t)
	v := wireLabel(4)
	l := policydecl.LabelOf(v, true, defaultLimits)
	partners := policydecl.AcceptFrom(manyTokens(400)...)
	buf := make([]policydecl.Policy, 0, 8)
	for _, row := range []struct {
		name string
		want float64
		run  func()
	}{
		{"LabelOf", 1, func() { policydecl.LabelOf(v, true, defaultLimits) }},
		{"LabelOf absent", 0, func() { policydecl.LabelOf(nil, false, defaultLimits) }},
		{"LabelOf malformed", 0, func() { policydecl.LabelOf("no label", true, defaultLimits) }},
		{"Decide by assurance", 0, func() {
			if d := set.Decide(ctx, &l, policydecl.Policy{}); !d.Accepted() {
				t.Fatal(d.Violation())
			}
		}},
		{"Decide by principal", 0, func() {
			if d := set.Decide(ctx, &l, partners); !d.Accepted() {
				t.Fatal(d.Violation())
			}
		}},
		{"Decide under several", 0, func() {
			if d := set.Decide(ctx, &l, partners, policydecl.Policy{}, partners); !d.Accepted() {
				t.Fatal(d.Violation())
			}
		}},
		{"Resource", 0, func() {
			if ps, err := set.Resource(buf[:0], "file:///secret/plans"); err != nil || len(ps) == 0 {
				t.Fatal(ps, err)
			}
		}},
		{"Restrict", 0, func() { policydecl.Restrict(true, policydecl.Decision{}) }},
	} {
		if got := testing.AllocsPerRun(100, row.run); got != row.want {
			t.Errorf("%s: %v allocations, want %v", row.name, got, row.want)
		}
	}
}
