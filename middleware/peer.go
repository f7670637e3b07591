package middleware

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// peerOrigin says whether the peer of a request has declared the client capability
// flow.origin of the draft: that it labels what it sends. It is there for the operator,
// who can tell a host that never labels from a label that got lost on the way. No verdict
// depends on it, unless Config.DangerouslyReportUndeclared is set.
//
// In the protocol of 2026-07-28 each request says it for itself. In that of 2025-11-25
// and earlier initialize says it for the session; where no initialize of the session has
// come by this gate, because there are no sessions or another replica has had it, the
// answer is unknown.
type peerOrigin uint8

const (
	originUnknown    peerOrigin = iota // nothing says either
	originUndeclared                   // the peer has stated its capabilities, and this is none of them
	originDeclared                     // it is one of them
)

// String returns the state as the operator's log spells it.
func (o peerOrigin) String() string {
	switch o {
	case originUndeclared:
		return "undeclared"
	case originDeclared:
		return "declared"
	}
	return "unknown"
}

// originIn reads a client's capabilities, decoded from a text without two readings. Of
// the draft's two forms, capabilities.flow and the extension (SEP-2133), either
// suffices, and only the literal true counts.
func originIn(capabilities any) peerOrigin {
	caps, _ := capabilities.(map[string]any)
	extensions, _ := caps["extensions"].(map[string]any)
	for _, form := range [...]any{caps[policydecl.CapabilityMember], extensions[policydecl.ExtensionKey]} {
		if flow, _ := form.(map[string]any); flow["origin"] == true {
			return originDeclared
		}
	}
	return originUndeclared
}

// originInText reads the capabilities of an initialize. mcp-go's type for them drops
// capabilities.flow, and its decoder takes names for each other that are not the same
// (L8), so the text is read. A peer whose text has two readings, or is no object, has stated
// nothing.
func originInText(capabilities []byte) peerOrigin {
	var v map[string]any
	if !wire.Unambiguous(capabilities) || json.Unmarshal(capabilities, &v) != nil || v == nil {
		return originUnknown
	}
	return originIn(v)
}

// originInMeta reads the _meta of a request of the 2026-07-28 protocol.
func originInMeta(meta *mcp.Meta) peerOrigin {
	return originIn(meta.AdditionalFields[mcp.MetaKeyClientCapabilities])
}

// peerOrigin returns what is known of the peer of the request.
func (r *record) peerOrigin() peerOrigin {
	if r.origin != originUnknown {
		return r.origin
	}
	return r.gate.peers.of(server.ClientSessionFromContext(r.Context))
}

// peerAtDoor is the peer of a request that has no record yet.
type peerAtDoor struct {
	gate *Gate
	ctx  context.Context
	req  wire.Request
}

// peerOrigin returns what is known of the peer.
func (p *peerAtDoor) peerOrigin() peerOrigin {
	var meta mcp.Meta
	if json.Unmarshal(p.req.MetaObject, &meta) == nil && mcp.IsModernProtocol(meta.ProtocolVersion()) {
		return originInMeta(&meta)
	}
	return p.gate.peers.of(server.ClientSessionFromContext(p.ctx))
}

// peers holds what the peers of this server's sessions have declared, for as long as
// mcp-go itself keeps the session: from its registration until it is unregistered. It is
// keyed by the session and not by its id, because over HTTP a peer may send any id.
//
// It cannot be kept in the session, whose capabilities mcp-go overwrites with those of
// a later request of the 2026-07-28 protocol on the same connection.
type peers struct {
	mu    sync.RWMutex
	known map[server.ClientSession]peer
}

// peer is one session.
type peer struct {
	// registrations is how often mcp-go has registered the session, less how often it
	// has unregistered it: -1 when the hooks for one of each have overtaken each other.
	registrations int
	origin        peerOrigin
}

// identity reports whether the session can be told from any other: an author may have
// made it of a type whose values cannot be compared.
func identity(session server.ClientSession) bool {
	return session != nil && reflect.TypeOf(session).Kind() == reflect.Pointer
}

// join notes that mcp-go has registered a session.
func (p *peers) join(session server.ClientSession, o peerOrigin) {
	p.count(session, 1, o)
}

// leave notes that mcp-go has unregistered a session, and forgets it.
func (p *peers) leave(session server.ClientSession) {
	p.count(session, -1, originUnknown)
}

func (p *peers) count(session server.ClientSession, n int, o peerOrigin) {
	if !identity(session) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n += p.known[session].registrations; n == 0 {
		delete(p.known, session)
		return
	}
	if p.known == nil {
		p.known = make(map[server.ClientSession]peer)
	}
	p.known[session] = peer{n, o}
}

// set notes what the peer of a session has declared, and reports whether mcp-go has
// the session registered.
func (p *peers) set(session server.ClientSession, o peerOrigin) bool {
	if !identity(session) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[session]
	if ok {
		known.origin = o
		p.known[session] = known
	}
	return ok
}

// of returns what the peer of a session has declared.
func (p *peers) of(session server.ClientSession) peerOrigin {
	if !identity(session) {
		return originUnknown
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known[session].origin
}

// joinSession tells a stream which session it serves, and starts to keep what the peer
// of the session declares. mcp-go calls it with the context of the stream, or over
// Streamable HTTP with that of the POST that has brought the initialize, whether that
// has succeeded or not.
func (g *Gate) joinSession(ctx context.Context, session server.ClientSession) {
	declared := originUnknown
	switch e := g.edgeOf(ctx).(type) {
	case *streamEdge:
		if e.joined != nil {
			e.joined(session.SessionID())
		}
	case *singleEdge:
		// A handler may register a session of its own with the context it was given.
		if identity(session) && server.ClientSessionFromContext(ctx) == session {
			declared = e.greeting()
		}
	}
	g.peers.join(session, declared)
}

// leaveSession forgets a session.
func (g *Gate) leaveSession(_ context.Context, session server.ClientSession) {
	g.peers.leave(session)
}

// afterInitialize notes what an initialize has declared that has succeeded. The door
// has read it into the entry of the request; without a wrapped transport there is none,
// and then it is not known. A request that a handler makes itself does not speak for
// the peer.
func (g *Gate) afterInitialize(ctx context.Context, id any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
	if server.ServerFromContext(ctx) != g.server {
		return
	}
	r := g.recordOf(ctx)
	if r == nil || r.nested {
		return
	}
	declared := originUnknown
	if r.edge != nil {
		if e, _ := r.edge.find(id, about{method: mcp.MethodInitialize}); e != nil {
			declared = e.declares
		}
	}
	if !g.peers.set(server.ClientSessionFromContext(ctx), declared) {
		// Over Streamable HTTP mcp-go registers the session after this, and before the
		// way out, which has to add to the answer, tells the client of it.
		if e, ok := r.edge.(*singleEdge); ok {
			e.greet(declared)
		}
	}
}
