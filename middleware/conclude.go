package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
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
	if r.found != nil {
		f = *r.found
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
	d.origin = r.peerOrigin
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

// details is what a record says of a request besides what was found.
type details struct {
	about  about
	known  bool // the target is the server's own word
	rawID  []byte
	id     any // where the text of the id is not known
	took   time.Duration
	label  *policydecl.Label // nil: nobody has looked for one
	origin func() peerOrigin // nil: unknown
	meta   *mcp.Meta         // of a request whose context says nothing of the protocol yet

	version string // of the protocol, by the HTTP header of the request
}

// tell makes the record, if anybody wants it, and delivers it. Nothing that goes wrong
// here reaches the request.
func (g *Gate) tell(ctx context.Context, st *state, f finding, d details) {
	defer func() {
		if p := recover(); p != nil {
			g.recorder.say(ctx, slog.LevelError, "a decision record could not be made", slog.String("method", escaped(string(d.about.method))))
		}
	}()
	d.about.target = cmp.Or(f.asked, d.about.target)
	rec := decision.Record{Verdict: f.verdict, Mode: f.mode, Reason: f.reason}
	if !g.recorder.wants(ctx, rec.Level()) {
		return
	}
	rec.Time, rec.Took = time.Now(), d.took
	rec.Server, rec.Settings = st.set.URI(), st.digest
	rec.Method, rec.Detail = decision.Text(string(d.about.method)), escaped(f.detail)
	rec.Target, rec.Registered = g.targetName(st, f.target, d)
	if d.label != nil && f.verdict != decision.Unjudged {
		rec.Judged, rec.Class = true, d.label.Class()
	}
	if p := f.decision.Policy(); !p.IsZero() {
		rec.AcceptFrom, rec.Policy = p.Tokens(), p.Digest()
	}
	if f.verdict == decision.Refused {
		rec.Rejected, rec.More = rejectedOf(f.decision, d.label)
	}
	rec.RequestID = requestID(d)
	rec.Client, rec.Protocol, rec.Session = peerIdentity(ctx, d.meta)
	rec.Protocol = cmp.Or(rec.Protocol, decision.Text(cmp.Or(d.version, g.statedVersion(ctx))))
	origin := originUnknown
	if d.origin != nil {
		origin = d.origin()
	}
	rec.FlowOrigin = origin.String()
	g.recorder.record(ctx, rec)
}

// rejectedOf lists whom a policy does not accept.
func rejectedOf(d policydecl.Decision, label *policydecl.Label) (list []decision.Contributor, more int) {
	for i, r := range d.Violation().Rejected {
		if i == decision.MaxRejected {
			return list, len(d.Violation().Rejected) - i
		}
		c := decision.Contributor{Assurance: r.Assurance, Principal: decision.Text(r.Principal)}
		if r.Principal == "" && label != nil {
			c.Unusable = unusable(label, r.Assurance)
		}
		list = append(list, c)
	}
	return list, 0
}

// unusable returns what a contributor of that assurance gave instead of a principal (L5).
func unusable(label *policydecl.Label, assurance string) string {
	for _, c := range label.Contributors() {
		if text, _ := c.Unusable(); text != "" && c.Assurance().String() == assurance {
			return text
		}
	}
	return ""
}

// targetName names what a request is about in the server's own words, as far as there are
// any. A URI that nobody has declared is reduced to its scheme, if the server has anything of that
// scheme: the rest can hold what the model knows.
func (g *Gate) targetName(st *state, k key, d details) (name string, registered bool) {
	if byURI(k.kind) {
		return decision.Text(k.name), true
	}
	if d.about.target == "" {
		return "", false
	}
	kind := policydecl.Tool
	switch d.about.method {
	case mcp.MethodToolsCall:
	case mcp.MethodPromptsGet:
		kind = policydecl.Prompt
	default:
		if k.kind != policydecl.Prompt { // else a completion for a prompt
			return uriName(st, d.about.target)
		}
		kind = policydecl.Prompt
	}
	_, known := g.reg.known.Load(key{kind, d.about.target})
	return decision.Text(d.about.target), known || d.known
}

// uriName is targetName for a URI without a policy of its own.
func uriName(st *state, uri string) (name string, registered bool) {
	names := st.named()
	if found, _, err := names.find(nil, uri, true); err == nil && len(found) > 0 {
		return decision.Text(names.keys[found[0]].name), true
	}
	scheme, _, ok := strings.Cut(uri, ":")
	if scheme = strings.ToLower(scheme); !ok || !names.schemes[scheme] {
		return "", false
	}
	return decision.Text(scheme + ":"), false
}

// requestID is the JSON text of the id.
func requestID(d details) string {
	if d.rawID == nil && d.id != nil {
		d.rawID, _ = json.Marshal(d.id)
	}
	return decision.Text(string(d.rawID))
}

// peerIdentity returns what the peer calls itself, its protocol and the hash of its
// session. meta is that of the request if ctx does not say yet what it holds.
func peerIdentity(ctx context.Context, meta *mcp.Meta) (client, protocol, session string) {
	protocol = server.RequestProtocolVersion(ctx)
	if meta != nil && mcp.IsModernProtocol(meta.ProtocolVersion()) {
		protocol = meta.ProtocolVersion()
		if info := meta.ClientInfo(); info != nil {
			client = info.Name
		}
	}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern && info.ClientInfo != nil {
		client = info.ClientInfo.Name
	}
	if s := server.ClientSessionFromContext(ctx); s != nil {
		if named, ok := s.(server.SessionWithClientInfo); ok && client == "" {
			client = named.GetClientInfo().Name
		}
		if id := s.SessionID(); id != "" {
			session = policydecl.DigestOf(id)
		}
	}
	return decision.Text(client), decision.Text(protocol), session
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
