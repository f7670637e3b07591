package middleware

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// verdict is what the gate thinks of one request. It only ever grows, and
// everything but accepted refuses.
type verdict uint8

const (
	undecided verdict = iota
	accepted
	refused
	invalid // the request names something that cannot be judged, such as a URI over its budget (R4)
	broken  // the gate itself is not in order (G6)
)

// record is what the gate knows of one request. mcp-go makes one context per
// request and asks the propagator of _meta for it; the record is that context,
// so filters, middleware and handlers of the request find it, a request made by
// a handler inside another one has its own, and it needs no map that could leak.
type record struct {
	context.Context
	gate   *Gate
	edge   edge // the transport the request came by, nil when that is not wrapped
	nested bool // made by a handler of another request, so its answer stays inside

	label  policydecl.Label // of the message; not written again
	origin peerOrigin       // that the message itself states, in the protocol that has it do so; not written again

	mu        sync.Mutex
	inner     context.Context // of the Before hook; nil before it
	version   string          // of the protocol, by the HTTP header of the request
	id        any
	rawID     []byte // of id as sent, where the transport is wrapped
	method    mcp.MCPMethod
	target    string
	known     bool // target is the server's own word
	task      bool // mcp-go will see `task` when it routes the call
	verdict   verdict
	applied   bool // a seam has refused because of the verdict
	violation *flowerrors.Violation
	problem   string // what is invalid

	found     finding // the weightiest so far
	hasFound  bool
	concluded bool // the operator has its record
	stopped   bool // and knows that it was stopped
	bound     bool // an entry leads to it, so the way out concludes it at the latest
	took      time.Duration

	registered map[string]*server.ServerResource // a copy, for one that asks of many URIs; its goroutine's own

	now      atomic.Pointer[state] // by which the request is judged
	judgedBy atomic.Pointer[state] // that has judged the URI last
	discreet bool                  // the refusal shows no policy; set before the verdict
}

// recordKey finds a gate's own record in a context.
type recordKey struct{ gate *Gate }

// Value makes the record visible to everything that runs under its context.
func (r *record) Value(key any) any {
	if k, ok := key.(recordKey); ok && k.gate == r.gate {
		return r
	}
	return r.Context.Value(key)
}

// recordOf returns the record of the request that ctx belongs to, or nil.
func (g *Gate) recordOf(ctx context.Context) *record {
	r, _ := ctx.Value(recordKey{g}).(*record)
	return r
}

// bind ties the record to the request whose Before hook is running: it has one
// request and no other. A second request under the same record means that mcp-go
// did not ask for a new one, so neither may run.
//
// ctx is that of the hook, in which mcp-go's own span is open.
func (r *record) bind(ctx context.Context, id any, header http.Header, method mcp.MCPMethod, target string, task bool) {
	var e *entry
	sure := false
	if r.edge != nil && !r.nested {
		e, sure = r.edge.find(id, about{method, target})
	}
	r.mu.Lock()
	if r.method != "" {
		r.mu.Unlock()
		r.fail(decision.ReasonSeams, errTwice)
		return
	}
	r.inner, r.id, r.method, r.target, r.task = ctx, id, method, target, task
	r.version = header.Get(mcp.HeaderProtocolVersion)
	if e != nil && e.rec.CompareAndSwap(nil, r) {
		r.rawID, r.bound = e.rawID, true
		r.took += e.took
		if sure {
			r.concluded = e.concluded.Load()
		}
		if sure && e.now != nil {
			r.now.Store(e.now) // one state from the door on
		}
	} else {
		e = nil
	}
	r.mu.Unlock()
	if e != nil && sure && e.finding != nil {
		r.note(*e.finding) // the door objects, and the mode let it pass
	}
}

// confirm notes that the server has what the request is about.
func (r *record) confirm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = true
}

// about returns what the request is about, as its Before hook has announced it.
func (r *record) about() about {
	r.mu.Lock()
	defer r.mu.Unlock()
	return about{r.method, r.target}
}

// ask says which of several things the request names is judged next.
func (r *record) ask(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

func (r *record) wantsTask() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task
}

func (r *record) dropTask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.task = false
}

// resources returns the server's resources. They are copied once for the request, however
// many URIs it names.
func (r *record) resources() map[string]*server.ServerResource {
	if r.registered == nil {
		r.registered = r.gate.server.ListResources()
	}
	return r.registered
}

// by returns the state by which the request is judged.
func (r *record) by() *state { return r.now.Load() }

// mode is the mode of the request as a whole, for what is not about one policy.
func (r *record) mode() Mode { return r.modeUnder(r.by()) }

func (r *record) modeUnder(st *state) Mode {
	a := r.about()
	return st.requestMode(a.method, a.target)
}

// judge decides on policies, each in its mode, and keeps the weightiest finding of these
// and the earlier ones. It returns the verdict in force.
//
// Matchers and loggers are the author's code, so they run without the record's
// lock: what waits for them is this request alone.
func (r *record) judge(all ...governing) verdict {
	defer r.spend(r.gate.tick())
	var buf [4]policydecl.Policy
	for mode := Enforce; mode <= DangerouslyOff; mode++ {
		if v := r.state(); v > accepted {
			return v
		}
		policies, first := buf[:0], key{}
		for _, g := range all {
			if r.by().effective(g.mode, r.peerOrigin) != mode {
				continue
			}
			if len(policies) == 0 {
				first = g.target
			}
			policies = append(policies, g.policy)
		}
		switch {
		case len(policies) == 0:
		case mode == DangerouslyOff:
			r.note(finding{verdict: decision.Unjudged, mode: mode, target: first})
		default:
			r.decide(mode, first, all, policies)
		}
	}
	return r.state()
}

// decide decides on policies of one mode. Every verdict of the gate is made here, whatever
// the method, the transport and the era (G4).
func (r *record) decide(mode Mode, first key, all []governing, policies []policydecl.Policy) {
	ctx := r.Context
	if r.wantsTask() {
		ctx = context.WithoutCancel(ctx) // a task outlives its request
	}
	by := r.by()
	d := by.set.Decide(ctx, &r.label, policies...)
	f := finding{verdict: decision.Accepted, mode: mode, target: first, decision: d}
	switch {
	// The base answer is yes: this is the latest seam, so the server has said
	// so; what it says later, the way out keeps (P9, G1).
	case policydecl.Restrict(true, d):
	case ctx.Err() != nil:
		f.verdict, f.reason, f.detail = decision.Invalid, decision.ReasonCancelled, errCancelled.Error()
	default:
		f.verdict = decision.Refused
		f.reason, f.detail = whyRefused(r.label.Class(), d)
		for _, g := range all {
			if g.policy == d.Policy() && by.effective(g.mode, r.peerOrigin) == mode {
				f.target = g.target
				break
			}
		}
	}
	r.note(f)
}

// note keeps a finding if it weighs more than the one before, and puts it into force if
// its mode is Enforce. It returns the verdict in force.
func (r *record) note(f finding) verdict {
	if f.mode == DangerouslyOff {
		f = finding{verdict: decision.Unjudged, mode: f.mode, target: f.target, asked: f.asked}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f.asked = cmp.Or(f.asked, r.target)
	if !r.hasFound || f.weight() > r.found.weight() {
		r.found, r.hasFound = f, true
	}
	v := f.inForce()
	if v <= r.verdict {
		return r.verdict
	}
	r.verdict, r.problem = v, f.detail
	if v == refused {
		r.violation = f.decision.Violation()
		if r.discreet {
			r.violation = &flowerrors.Violation{}
		}
	}
	return v
}

// fail marks the request as one that the gate cannot judge.
func (r *record) fail(reason decision.Reason, why error) {
	mode := r.mode()
	if reason == decision.ReasonSeams {
		mode = r.by().floor() // what the request is about is not certain any more
	}
	r.note(finding{verdict: decision.Fault, mode: mode, reason: reason, detail: why.Error()})
}

// reject marks the request as one that names something which cannot be judged.
func (r *record) reject(why error) {
	r.note(finding{verdict: decision.Invalid, mode: r.mode(), reason: decision.ReasonURI, detail: why.Error()})
}

// apply notes that a seam refuses now, and returns the error for mcp-go.
func (r *record) apply() error {
	defer r.concludeRefusal()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applied = true
	switch r.verdict {
	case refused:
		return errRefused
	case invalid:
		return seamError(r.problem)
	}
	r.verdict = broken
	return errBroken
}

// state returns the verdict in force.
func (r *record) state() verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict
}

// judged returns the method that the Before hook has announced, and the verdict in force.
func (r *record) judged() (mcp.MCPMethod, verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.method, r.verdict
}

// outcome says what becomes of an answer of that kind. held is what becomes of one that
// nobody has judged. An error that no seam of ours has caused is somebody else's (X5).
func (r *record) outcome(kind wire.Kind, held outcome) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verdict == accepted {
		return outcome{}
	}
	if kind == wire.Error && !r.applied || r.verdict == undecided {
		return held
	}
	switch r.verdict {
	case refused:
		return outcome{fate: refuse, violation: r.violation}
	case invalid:
		return outcome{fate: reject, problem: r.problem}
	}
	return outcome{fate: fail}
}

// seamError is what a seam returns to mcp-go. On a wrapped transport the way
// out replaces it; elsewhere its text is what the peer reads, and what may end up in the
// text of a task's or an author's result, so it says no more than the draft allows (X5).
type seamError string

func (e seamError) Error() string { return string(e) }

const (
	errRefused seamError = flowerrors.Message
	errBroken  seamError = "The flow gate of this server is not in order"

	errCancelled seamError = "Invalid params: the request was cancelled before it was judged"
)
