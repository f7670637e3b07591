package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// streamEdge is a connection on which many requests share one way out: stdio, or
// the event stream of the legacy HTTP+SSE transport. Their entries are found by id:
// by the text that mcp-go will answer with.
type streamEdge struct {
	gate *Gate

	mu      sync.Mutex
	gone    []*entry            // forgotten, and not concluded yet
	pending map[string][]*entry // by wire.IDKey; more than one only for ids that decode alike
	waiting int                 // pending entries that will be answered by themselves
	idle    chan struct{}       // told when waiting gets to 0

	joined func(sessionID string) // told the session of the connection; may be nil
}

func newStreamEdge(g *Gate) *streamEdge {
	return &streamEdge{gate: g, pending: make(map[string][]*entry), idle: make(chan struct{}, 1)}
}

// register makes the entry for a message that mcp-go will answer under its id. It
// reads the message as mcp-go's dispatcher does, with the same decoder into the same
// members: one that this cannot decode is answered under the id null, and needs no
// entry.
func (e *streamEdge) register(msg []byte) *entry {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(msg, &m) != nil || m.Method == "" || absent(m.ID) || !absent(m.Result) {
		return nil // also a notification, or an answer of the client
	}
	key, err := wire.RawIDKey(m.ID)
	if err != nil {
		return nil
	}
	n := &entry{rawID: m.ID, about: about{method: mcp.MCPMethod(m.Method)}}
	n.linger = func() { e.linger(n) }
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.pending[key]) >= maxOneID {
		return nil
	}
	e.pending[key] = append(e.pending[key], n)
	// With an error in it, mcp-go may take the message for an answer of the
	// client's to a request of the server, and never answer itself.
	if n.endless = !absent(m.Error); !n.endless {
		e.waiting++
	}
	return n
}

// maxOneID is how many requests may be in flight under one id, which JSON-RPC
// forbids to begin with. Beyond it an answer is held back.
const maxOneID = 64

// linger says that the request will be answered only when the connection ends, so
// that nobody waits for it then.
func (e *streamEdge) linger(n *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !n.endless {
		n.endless = true
		e.settle()
	}
}

// settle counts one request less to wait for. The caller holds e.mu.
func (e *streamEdge) settle() {
	if e.waiting--; e.waiting == 0 {
		select {
		case e.idle <- struct{}{}:
		default:
		}
	}
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }

func (e *streamEdge) open(rawID []byte, about about) *entry {
	key, err := wire.RawIDKey(rawID)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	group := e.pending[key]
	for _, n := range group {
		if !n.opened && n.about.method == about.method && bytes.Equal(n.rawID, rawID) {
			n.opened, n.about = true, about
			return n
		}
	}
	if len(group) == 0 || len(group) >= 2*maxOneID {
		return nil // no answer of that id will leave, or too many want to
	}
	n := &entry{rawID: bytes.Clone(rawID), about: about, opened: true, extra: true}
	e.pending[key] = append(group, n)
	return n
}

func (e *streamEdge) find(id any, about about) (n *entry, sure bool) {
	key, err := wire.IDKey(id)
	if err != nil {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return unbound(e.pending[key], about)
}

// answer decides on one answer, msg, and forgets its request. It returns what takes the
// place of the answer (X1), or nil: then it leaves as it is (G5). Of several requests
// whose ids mcp-go cannot tell apart, the one with the worst fate decides, and goes on
// doing so while there are others: nothing says whose answer this one was. An answer
// cannot be that of a request which the door has not seen while there is another.
func (e *streamEdge) answer(msg []byte, resp wire.Response) (replacement []byte) {
	o, rawID, gone := e.settleAnswer(resp)
	o.conclude(e.gate)
	for _, n := range gone {
		if n != o.entry {
			n.concludeUnbound(e.gate)
		}
	}
	if o.fate == pass {
		if o.publish != "" {
			return e.gate.publish(o, msg, "result")
		}
		return nil
	}
	return e.gate.appendAnswer(nil, rawID, o)
}

// conclude sees to it that every request has its record when the connection ends.
func (e *streamEdge) conclude() {
	e.mu.Lock()
	all := e.gone
	for _, group := range e.pending {
		all = append(all, group...)
	}
	e.mu.Unlock()
	for _, n := range all {
		n.concludeUnbound(e.gate)
	}
}

// settleAnswer returns what becomes of an answer, its id, and the requests that are
// forgotten with it.
func (e *streamEdge) settleAnswer(resp wire.Response) (o outcome, rawID []byte, gone []*entry) {
	mode := e.gate.now().floor()
	e.mu.Lock()
	defer e.mu.Unlock()
	key := string(resp.ID)
	shared := len(e.pending[key]) > 1
	defer func() {
		o.shared = shared
		gone, e.gone = e.gone, nil
	}()
	chosen := &entry{rawID: resp.ID} // of an answer that nobody asked for
	if group := e.pending[key]; len(group) > 0 {
		chosen = group[0]
		var harmless *entry
		worst, first := pass, true
		for _, n := range group {
			if !n.seen.Load() {
				continue
			}
			f := n.outcome(resp.Kind, mode).fate
			if first || f > worst || f == worst && n.likelier(chosen, resp.Kind) {
				chosen, worst, first = n, f, false
			}
			if f == pass && !n.extra {
				harmless = n
			}
		}
		if worst == fail && harmless != nil {
			// It may be the answer of the one that is not judged yet.
			e.drop(key, harmless, false)
			return outcome{fate: reject, problem: errSameID}, harmless.rawID, nil
		}
	}
	o = chosen.outcome(resp.Kind, mode)
	if !chosen.extra {
		e.drop(key, chosen, o.fate != pass)
		return o, chosen.rawID, nil
	}
	// The answer is that of a request which was read.
	group := e.pending[key]
	i := slices.IndexFunc(group, func(m *entry) bool { return !m.extra && m.seen.Load() })
	if i < 0 {
		i = slices.IndexFunc(group, func(m *entry) bool { return !m.extra })
	}
	answered := group[i] // a group holds one that was read
	e.drop(key, answered, false)
	return o, answered.rawID, nil
}

// likelier reports whether an answer is sooner that of n than that of other: a stream that
// goes on has none yet, an error may come before there is a record, and a result cannot.
func (n *entry) likelier(other *entry, kind wire.Kind) bool {
	if n.endless != other.endless {
		return other.endless
	}
	bound, otherBound := n.rec.Load() != nil, other.rec.Load() != nil
	return bound != otherBound && bound == (kind == wire.Result)
}

// drop forgets an entry that was read from the stream, and with the last one all
// others of its key. With stay it goes on deciding about those others, as one that is
// extra. The caller holds e.mu.
func (e *streamEdge) drop(key string, n *entry, stay bool) {
	group := e.pending[key]
	i := slices.Index(group, n)
	if i < 0 {
		return
	}
	if !n.endless {
		n.endless = true
		e.settle()
	}
	if n.extra = stay; !stay {
		group = slices.Delete(group, i, i+1)
		e.gone = append(e.gone, n)
	}
	if slices.IndexFunc(group, func(m *entry) bool { return !m.extra }) < 0 {
		e.gone = append(e.gone, group...)
		delete(e.pending, key)
	} else {
		e.pending[key] = group
	}
}

// errSameID answers a request that JSON-RPC forbids, or that mcp-go reads as such.
const errSameID = "Invalid Request: its id is that of another request in flight, or is read as the same number"

// withdraw forgets a message that mcp-go has not taken.
func (e *streamEdge) withdraw(n *entry) {
	key, err := wire.RawIDKey(n.rawID)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(key, n, false)
}

// drain waits until every request that was read has its answer, but no longer than
// drainGrace.
func (e *streamEdge) drain(ctx context.Context) {
	timer := time.NewTimer(drainGrace)
	defer timer.Stop()
	for {
		e.mu.Lock()
		n := e.waiting
		e.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-e.idle:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}
