package middleware

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

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
	method    mcp.MCPMethod
	target    string
	task      bool // mcp-go will see `task` when it routes the call
	verdict   verdict
	applied   bool // a seam has refused because of the verdict
	violation *flowerrors.Violation
	problem   string // what is invalid
	refusal   policydecl.Decision
	reported  bool // the operator knows of the refusal

	judgedBy atomic.Pointer[policydecl.Set] // that has judged the URI last
	discreet bool                           // the refusal shows no policy; set before the verdict
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

// propagator is the gate's place in mcp-go's one slot for a propagator of
// _meta. mcp-go calls it once for every request, after the door and with the
// _meta that it decoded itself, so the label that is judged is the label of the
// message that runs.
type propagator struct {
	gate *Gate
	next tracing.MetaPropagator
}

// InjectMeta is the outgoing half of the propagator; it is the author's.
func (p propagator) InjectMeta(ctx context.Context, meta *mcp.Meta) *mcp.Meta {
	return p.next.InjectMeta(ctx, meta)
}

// ExtractMeta gives the request its record.
func (p propagator) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	r := &record{gate: p.gate, edge: p.gate.edgeOf(ctx)}
	if outer := p.gate.recordOf(ctx); outer != nil {
		r.nested = outer.edge == r.edge
	}
	if meta != nil {
		// Before the author's propagator, which may edit the map.
		if v, ok := meta.AdditionalFields[policydecl.LabelKey]; ok {
			r.label = policydecl.LabelOf(v, true, p.gate.limits)
		}
		if server.IsModernRequest(ctx) {
			r.origin = originInMeta(meta)
		}
	}
	r.Context = p.next.ExtractMeta(ctx, meta)
	return r
}

// bind ties the record to the request whose Before hook is running: it has one
// request and no other. A second request under the same record means that mcp-go
// did not ask for a new one, so neither may run.
func (r *record) bind(id any, method mcp.MCPMethod, target string, task bool) {
	var e *entry
	if r.edge != nil && !r.nested {
		e = r.edge.find(id, about{method, target})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.method != "" {
		r.verdict = broken
		return
	}
	r.method, r.target, r.task = method, target, task
	if e != nil {
		e.rec.CompareAndSwap(nil, r)
	}
}

// about returns what the request is about, as its Before hook has announced it.
func (r *record) about() about {
	r.mu.Lock()
	defer r.mu.Unlock()
	return about{r.method, r.target}
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

// judge decides on policies and keeps the stricter of the new and the earlier
// verdict. It returns the verdict in force.
//
// Matchers and loggers are the author's code, so they run without the record's
// lock: what waits for them is this request alone.
func (r *record) judge(policies ...policydecl.Policy) verdict {
	if v := r.state(); v > accepted {
		return v
	}
	ctx := r.Context
	if r.wantsTask() {
		ctx = context.WithoutCancel(ctx) // a task outlives its request
	}
	d := r.gate.set().Decide(ctx, &r.label, policies...)
	// The base answer is yes: this is the latest seam, so the server has said
	// so; what it says later, the way out keeps (P9, G1).
	if policydecl.Restrict(true, d) {
		return r.settle(accepted, "")
	}
	if ctx.Err() != nil {
		return r.settle(invalid, errCancelled.Error())
	}
	violation := d.Violation()
	if r.discreet {
		violation = &flowerrors.Violation{}
	}
	return r.refuse(d, violation)
}

// refuse settles a refusal and keeps what there is to report of it, if it is the
// verdict in force.
func (r *record) refuse(d policydecl.Decision, violation *flowerrors.Violation) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verdict < refused {
		r.verdict, r.violation, r.refusal = refused, violation, d
	}
	return r.verdict
}

// report tells the operator of a refusal, once, when it takes effect: a request that
// the server itself refuses has not been refused by flow policy (G1).
func (r *record) report() {
	r.mu.Lock()
	due := r.verdict == refused && !r.reported
	r.reported = r.reported || due
	d := r.refusal
	r.mu.Unlock()
	if due {
		r.gate.logRefusal(r.Context, r.about(), r.label.Class(), r.peerOrigin(), d)
	}
}

// settle takes over a verdict unless the one in force is stricter, and returns the
// one in force then.
func (r *record) settle(v verdict, problem string) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v > r.verdict {
		r.verdict, r.problem = v, problem
	}
	return r.verdict
}

// fail marks the request as one that the gate cannot judge.
func (r *record) fail(why error) {
	if r.state() != broken {
		r.gate.logFault(r.Context, r.about(), why)
		r.settle(broken, "")
	}
}

// reject marks the request as one that names something which cannot be judged.
func (r *record) reject(why error) {
	if r.state() < invalid {
		r.gate.logInvalid(r.Context, r.about(), why)
		r.settle(invalid, why.Error())
	}
}

// apply notes that a seam refuses now, and returns the error for mcp-go.
func (r *record) apply() error {
	defer r.report()
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

// outcome says what becomes of an answer of that kind.
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
		return outcome{fate: refuse, violation: r.violation, rec: r}
	case invalid:
		return outcome{fate: reject, problem: r.problem}
	}
	return outcome{fate: fail, logged: true}
}

// seamError is what a seam returns to mcp-go. On a wrapped transport the way
// out replaces it; elsewhere its text is what the peer reads, so it says no more
// than the draft allows.
type seamError string

func (e seamError) Error() string { return string(e) }

const (
	errRefused seamError = flowerrors.Message
	errBroken  seamError = "The flow gate of this server is not in order"

	errCancelled seamError = "Invalid params: the request was cancelled before it was judged"
)
