package middleware

import (
	"testing"

	"github.com/mark3labs/mcp-go/server"
)

// TestPeersBalance: mcp-go calls the hooks for a session's registration and its end after
// the fact, so they can overtake each other; whatever their order, what was registered
// and unregistered as often is forgotten.
func TestPeersBalance(t *testing.T) {
	session, other := server.NewInProcessSession("a", nil), server.NewInProcessSession("a", nil)
	for _, c := range []struct {
		order string
		kept  int
		want  peerOrigin
	}{
		{"", 0, originUnknown}, {"j", 1, originDeclared}, {"jl", 0, originUnknown}, {"lj", 0, originUnknown},
		{"ljj", 1, originDeclared}, {"jlj", 1, originDeclared}, {"lljj", 0, originUnknown}, {"jjll", 0, originUnknown},
		{"l", 1, originUnknown},
	} {
		var p peers
		for _, step := range c.order {
			if step == 'j' {
				p.join(session, originDeclared)
			} else {
				p.leave(session)
			}
		}
		if len(p.known) != c.kept || p.of(session) != c.want || p.of(other) != originUnknown || p.of(nil) != originUnknown {
			t.Errorf("%q: %d kept, %v, want %d, %v", c.order, len(p.known), p.of(session), c.kept, c.want)
		}
		if ok := p.set(session, originUndeclared); ok != (c.kept == 1) || p.set(nil, originDeclared) {
			t.Errorf("%q: set reports %v", c.order, ok)
		}
	}
}
