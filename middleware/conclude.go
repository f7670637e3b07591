package middleware

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// Every gated request has exactly one decision record (M2). It goes out at the first of
// these: a seam or the door refuses; the last seam before a handler lets it through, so
// before the handler runs; the answer leaves, which is when a request that the server
// itself has turned away gets its record; the connection ends.

// conclude hands the operator the record of the request, once.
func (r *record) conclude() { r.concludeAs(false) }

// concludeAs does so. own says that the server has answered with an error of its own: then
// what the gate has against the request took no effect, in whatever mode (G1).
func (r *record) concludeAs(own bool) {
	r.mu.Lock()
	if r.concluded || r.method == "" {
		r.mu.Unlock()
		return
	}
	r.concluded = true
	f := finding{verdict: decision.Unjudged}
	if r.hasFound {
		f = r.found
	}
	if own && !r.applied && f.verdict.Objects() && f.verdict != decision.Fault {
		f = finding{verdict: decision.Unjudged, mode: f.mode, target: f.target, asked: f.asked}
	}
	if r.verdict == broken && !f.verdict.Objects() {
		f = finding{verdict: decision.Fault, mode: Enforce, reason: decision.ReasonSeams, detail: errUndecided.Error()}
	}
	r.stopped = f.inForce() != accepted
	st := r.by()
	d := details{about: about{r.method, r.target}, known: r.known, rawID: r.rawID, id: r.id, took: r.took, label: &r.label, version: r.version}
	ctx := r.inner
	if ctx == nil {
		ctx = r.Context
	}
	r.mu.Unlock()
	if f.mode == ModeUnset {
		f.mode = r.modeUnder(st)
	}
	d.peer = r
	r.gate.tell(ctx, st, f, d)
}

// concludeRefusal does so where a seam refuses. If the request has its record already,
// because a handler that it had reached has called another as a Go function, or a task is
// stopped later, a plain line says so.
func (r *record) concludeRefusal() {
	r.mu.Lock()
	told, id, method := r.concluded, r.rawID, r.method
	due := told && !r.stopped
	r.stopped = r.stopped || due
	r.mu.Unlock()
	if !told {
		r.conclude()
	}
	if !due {
		return
	}
	r.gate.recorder.say(r.Context, slog.LevelInfo, "request refused by flow policy after its decision record was made",
		slog.String(decision.KeyMethod, decision.Text(string(method))), slog.String(decision.KeyID, decision.Text(string(id))))
}

// skip says that the request is none of those that have a record.
func (r *record) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.concluded = true
}

// conclude does the same for a request whose answer leaves, or that is over without one (kind
// is wire.Other then): one that never got a record of its own, because the door has stopped
// it, or mcp-go before it made a context; and one that the seams and hooks have not concluded.
// fate is what became of the answer.
func (e *entry) conclude(g *Gate, fate fate, kind wire.Kind) {
	if !e.seen.Load() || !e.gated {
		return
	}
	if r := e.rec.Load(); r != nil {
		if fate == fail && r.state() == undecided {
			r.fail(decision.ReasonSeams, errUnseen)
		}
		r.concludeAs(fate == pass && kind == wire.Error)
		return
	}
	e.concludeAs(g, fate)
}

// concludeUnbound does so for a request of a stream that may still be running: what has a
// record is concluded where it runs.
func (e *entry) concludeUnbound(g *Gate) {
	if e.seen.Load() && e.gated && e.rec.Load() == nil {
		e.concludeAs(g, pass)
	}
}

func (e *entry) concludeAs(g *Gate, fate fate) {
	if !e.concluded.CompareAndSwap(false, true) {
		return
	}
	f := finding{verdict: decision.Unjudged, mode: e.mode}
	switch {
	case e.finding != nil:
		f = *e.finding
	case fate == fail:
		f = finding{verdict: decision.Fault, mode: e.mode, reason: decision.ReasonSeams, detail: errUnseen.Error()}
	}
	g.tell(e.ctx, e.now, f, details{about: e.about, rawID: e.rawID, took: e.took, meta: e.meta, label: e.label})
}

// afterSuccess and afterError conclude a request that the server has answered before the
// last seam, in the request's own goroutine. What the way out might still stop, because no
// seam has judged it, is left to the way out, where there is one.
func (g *Gate) afterSuccess(ctx context.Context, id any, method mcp.MCPMethod, _ any, _ any) {
	if r := g.gatedRecord(ctx, id, method); r != nil && (!r.isBound() || r.state() != undecided || r.mode() != Enforce) {
		r.conclude()
	}
}

func (g *Gate) afterError(ctx context.Context, id any, method mcp.MCPMethod, _ any, _ error) {
	if r := g.gatedRecord(ctx, id, method); r != nil {
		r.concludeAs(true)
	}
}

// gatedRecord returns the record of a request that section 5 names, or nil.
func (g *Gate) gatedRecord(ctx context.Context, id any, method mcp.MCPMethod) *record {
	if !gated(string(method)) || server.ServerFromContext(ctx) != g.server {
		return nil
	}
	r := g.recordOf(ctx)
	if r != nil && (r.edge == nil || r.nested) {
		r.name(id, method)
	}
	return r
}

// name says what a request is whose Before hook has not run, because mcp-go could not read
// its parameters or does not know the method in that protocol. On a wrapped transport
// the way out knows.
func (r *record) name(id any, method mcp.MCPMethod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.method == "" {
		r.id, r.method = id, method
	}
}

func (r *record) isBound() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bound
}

// orphan reports a request that reached a seam without a record (G6), and whether it has
// to be stopped. On a wrapped transport the way out makes its decision record.
func (g *Gate) orphan(ctx context.Context, a about, why error) (stop bool) {
	st := g.now()
	f := faultIn(st.floor(), why)
	if g.edgeOf(ctx) == nil {
		g.tell(ctx, st, f, details{about: a})
	} else if f.verdict == decision.Fault {
		g.fault(ctx, a, why)
	}
	return f.inForce() != accepted
}

// faultIn is the finding that the gate is not in order, in a mode.
func faultIn(mode Mode, why error) finding {
	if mode == DangerouslyOff {
		return finding{verdict: decision.Unjudged, mode: mode}
	}
	return finding{verdict: decision.Fault, mode: mode, reason: decision.ReasonSeams, detail: why.Error()}
}

// unrecorded is orphan for a Before hook, which knows the id of the request: it tells the
// way out of a wrapped transport what to record. Where the door has seen why there can be no
// record, because _meta is no object, that stands.
func (g *Gate) unrecorded(ctx context.Context, id any, a about) (stop bool) {
	edge := g.edgeOf(ctx)
	if edge == nil {
		return g.orphan(ctx, a, errNoRecord)
	}
	e, sure := edge.find(id, a)
	if e == nil || !sure {
		return g.orphan(ctx, a, errNoRecord)
	}
	if e.finding != nil && e.finding.reason == decision.ReasonMeta {
		return e.finding.inForce() != accepted
	}
	st := e.now
	if st == nil {
		st = g.now()
	}
	f := faultIn(st.floor(), errNoRecord)
	if e.finding = &f; f.verdict == decision.Fault {
		g.fault(ctx, a, errNoRecord)
	}
	return f.inForce() != accepted
}

// fault logs that the gate is not in order, where there is no request to record, or where
// its record comes later.
func (g *Gate) fault(ctx context.Context, a about, why error) {
	g.recorder.say(ctx, slog.LevelError, "the flow gate is not in order",
		slog.String("method", escaped(string(a.method))), slog.String("fault", escaped(why.Error())))
}

// tick starts a measurement of the gate's own time, if somebody wants it.
func (g *Gate) tick() time.Time {
	if len(g.recorder.lanes) == 0 {
		return time.Time{}
	}
	return time.Now()
}

// spend adds the time since began to the gate's own.
func (r *record) spend(began time.Time) {
	if !began.IsZero() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.took += time.Since(began)
	}
}

// escaped makes text from a peer printable ASCII of bounded length (M3).
func escaped(s string) string { return plain.Escape(s, decision.MaxText) }

// errTwice is the fault of a second request under one record.
var errTwice = errors.New("two requests share one record: the propagator of _meta was replaced; pass yours in Config.MetaPropagator")
