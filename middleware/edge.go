package middleware

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// edge is a wrapped transport: it keeps the entries of the requests that came by
// it, for the door, the seams and the way out.
type edge interface {
	// open returns the entry of a request that the door sees, or nil when
	// there is none and can be none.
	open(rawID []byte, about about) *entry
	// find returns the entry of the request with the id that mcp-go decoded, and whether
	// it is that for certain. What the request is about helps where ids do not tell
	// requests apart.
	find(id any, about about) (e *entry, sure bool)
}

// about is what a request is about, as far as a door and a Before hook both know.
type about struct {
	method mcp.MCPMethod
	target string // tool or prompt name, or URI; "" where the door does not look
}

type edgeKey struct{ gate *Gate }

// withEdge marks ctx as belonging to a request of a wrapped transport.
func (g *Gate) withEdge(ctx context.Context, e edge) context.Context {
	return context.WithValue(ctx, edgeKey{g}, e)
}

func (g *Gate) edgeOf(ctx context.Context) edge {
	e, _ := ctx.Value(edgeKey{g}).(edge)
	return e
}

// entry is one request at the edge of the server: what the way out knows when
// the answer comes by. The door fills it before anything else can run.
type entry struct {
	rawID     []byte // JSON text of the id, as sent
	about     about
	ctx       context.Context // of the door
	now       *state          // in force then
	mode      Mode            // of the request, as far as the door knows
	gated     bool            // section 5 says that it is gated
	publishes bool            // its result may have to be added to
	doorOnly  bool            // subscribe and listen: the door decides, no seam follows
	finding   *finding        // what the door has found
	verdict   verdict         // of the door, if that stops the request
	declares  peerOrigin      // what an initialize says of the peer
	took      time.Duration
	meta      *mcp.Meta         // of the request, if somebody had to read it
	label     *policydecl.Label // of the request, likewise
	seen      atomic.Bool       // the door saw it; the fields above are set before
	concluded atomic.Bool       // the operator has its record
	standIn   bool              // the door has not seen it, and may not
	rec       atomic.Pointer[record]

	// For a streamEdge, which guards them.
	opened  bool   // the door has asked for it
	extra   bool   // it answers nothing that was read from the stream
	endless bool   // it runs until the connection ends
	linger  func() // sets endless
}

// see publishes what the door has written to the entry.
func (e *entry) see() { e.seen.Store(true) }

// fate says what happens to an answer on its way out.
type fate uint8

const (
	pass   fate = iota // as mcp-go wrote it
	fail               // replaced by the error of a gate that is not in order
	reject             // replaced by an error about the request
	refuse             // replaced by the refusal
)

// outcome is a fate with what its answer has to say.
type outcome struct {
	fate      fate
	violation *flowerrors.Violation // of refuse
	problem   string                // of reject
	publish   mcp.MCPMethod         // of pass: whose result has to be added to, or ""
	entry     *entry                // whose answer it is
	kind      wire.Kind             // of the answer
	shared    bool                  // it may be the answer of another request with the same id
}

// outcome applies the one rule of the way out (G3): refused and any result, or any
// error after a seam of ours has spoken, is the refusal; any other error is the
// server's own; a result of a request that the door never saw, or that no seam
// judged, does not leave, unless the mode lets it (M1). floor is the mode for a request that
// the door never saw.
func (e *entry) outcome(kind wire.Kind, floor Mode) outcome {
	o := e.decide(kind, floor)
	o.entry, o.kind = e, kind
	return o
}

func (e *entry) decide(kind wire.Kind, floor Mode) outcome {
	var held outcome
	mode := floor
	if e.seen.Load() {
		mode = e.mode
	}
	switch {
	case kind == wire.Other:
		return held
	case kind == wire.Result && mode.Or(Enforce) == Enforce:
		held.fate = fail
	}
	switch {
	case !e.seen.Load():
		return held
	case !e.gated:
		if kind == wire.Result && e.publishes {
			return outcome{publish: e.about.method}
		}
		return outcome{}
	}
	switch e.verdict {
	case broken:
		return outcome{fate: fail}
	case refused:
		return outcome{fate: refuse, violation: e.finding.decision.Violation()}
	case invalid:
		return outcome{fate: reject, problem: e.finding.detail}
	}
	r := e.rec.Load()
	switch {
	case r == nil && e.doorOnly, r != nil && e.doorOnly && r.state() == undecided:
		return outcome{} // the door has let it through
	case r == nil:
		return held
	}
	return r.outcome(kind, held)
}

// conclude sees to it that the request of an answer which leaves has its record.
func (o outcome) conclude(g *Gate) {
	switch {
	case o.entry == nil:
	case o.fate == fail && !o.entry.seen.Load():
		g.fault(context.Background(), o.entry.about, errUnseen)
	case o.shared && o.fate == pass:
		o.entry.concludeUnbound(g)
	default:
		o.entry.conclude(g, o.fate, o.kind)
	}
}

// singleEdge is a transport that carries one request, so one answer: a POST, or a
// call inside the process. More entries than one come only from an author's code
// that makes requests of its own before the door has seen the one that came in;
// then all of them have to be accepted, because nothing tells them apart for sure.
type singleEdge struct {
	gate *Gate

	mu    sync.Mutex
	first entry
	used  bool
	more  []*entry

	greeted peerOrigin // by an initialize that has succeeded, whose session is not registered yet

	version string // of the protocol, by the header of a POST; set once
}

// statedVersion returns the protocol version that the request's HTTP header states. It is
// what a record says where nothing else is known: at the door of a replica that has not had
// the session's initialize.
func (g *Gate) statedVersion(ctx context.Context) string {
	if s, ok := g.edgeOf(ctx).(*singleEdge); ok {
		return s.version
	}
	return ""
}

func (s *singleEdge) open(rawID []byte, about about) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &s.first
	if e.standIn && bytes.Equal(e.rawID, rawID) {
		e.standIn, e.about = false, about
		return e
	}
	if s.used {
		e = &entry{}
		s.more = append(s.more, e)
	}
	s.used = true
	e.rawID, e.about = bytes.Clone(rawID), about
	return e
}

func (s *singleEdge) find(id any, about about) (e *entry, sure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.more) == 0 {
		return &s.first, true
	}
	key, err := wire.IDKey(id)
	if err != nil {
		return nil, false
	}
	var group []*entry
	for _, e := range append([]*entry{&s.first}, s.more...) {
		if k, err := wire.RawIDKey(e.rawID); err == nil && k == key {
			group = append(group, e)
		}
	}
	return unbound(group, about)
}

// unbound picks the entry of a request from those whose ids mcp-go cannot tell apart: of
// those that the door has seen and that no request has yet the last one that is about the
// same, or else the last. It is sure only if there is no other: a peer may have left one
// behind.
func unbound(group []*entry, about about) (found *entry, sure bool) {
	free := 0
	for _, e := range group {
		if !e.seen.Load() || e.rec.Load() != nil {
			continue
		}
		free++
		if found == nil || e.about == about || found.about != about {
			found = e
		}
	}
	return found, free == 1
}

// answer returns what becomes of an answer, and the id that replaces mcp-go's in
// one of our own: that of the request that the door saw last, or else the answer's.
func (s *singleEdge) answer(resp wire.Response) (o outcome, rawID []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := s.gate.now().floor()
	o, rawID = s.first.outcome(resp.Kind, mode), s.first.rawID
	for _, e := range s.more {
		if next := e.outcome(resp.Kind, mode); next.fate > o.fate {
			o = next
		}
		rawID = e.rawID
	}
	if rawID == nil {
		rawID = resp.ID
	}
	return o, rawID
}

// greet keeps what an initialize has declared until its session is registered.
func (s *singleEdge) greet(o peerOrigin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted = o
}

// greeting returns what greet has kept.
func (s *singleEdge) greeting() peerOrigin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeted
}

// conclude sees to it that every request of the transport has its record when it is done
// with.
func (s *singleEdge) conclude() {
	s.mu.Lock()
	all := append([]*entry{&s.first}, s.more...)
	s.mu.Unlock()
	for _, e := range all {
		e.conclude(s.gate, pass, wire.Other)
	}
}

// free reports that nothing on the way out needs to look at the answer.
func (s *singleEdge) free() bool {
	o, _ := s.answer(wire.Response{Kind: wire.Result})
	return o.fate == pass && o.publish == ""
}
