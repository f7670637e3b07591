package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// door is the first seam, a hook that mcp-go runs for every message with an id,
// on every transport, before it does anything else with it. It has the raw
// bytes, so it is the place for what decoding hides (L8); and it is the only
// place that can stop a subscription before somebody counts it (G2).
//
// It runs after the author's own initialisation hooks. What it returns becomes
// an invalid-request error.
func (g *Gate) door(ctx context.Context, id any, message any) (err error) {
	if server.ServerFromContext(ctx) != g.server {
		return nil // another server that shares these hooks
	}
	v := visit{gate: g, ctx: ctx, id: id, began: g.tick(), now: g.now()}
	v.mode = v.now.floor()
	defer func() {
		if p := recover(); p != nil {
			err = v.object(decision.Fault, decision.ReasonPanic, fmt.Errorf("the door panicked: %v", p))
		}
		v.leave()
	}()
	raw, ok := message.(json.RawMessage)
	if !ok {
		return v.object(decision.Fault, decision.ReasonSeams, fmt.Errorf("mcp-go handed the door a %T", message))
	}
	v.req, v.err = wire.ReadRequest(raw)
	if v.err != nil {
		v.asRun(raw)
	}
	v.enter()
	return v.judge()
}

// visit is one message at the door.
type visit struct {
	gate  *Gate
	ctx   context.Context
	now   *state
	mode  Mode // of the request, as far as the door knows
	id    any  // as mcp-go has decoded it
	began time.Time
	req   wire.Request
	err   error  // why the message cannot be read
	found *entry // that of a wrapped transport
	spare entry  // where there is none: nobody reads it, and it takes no memory of its own
}

// entry returns the entry of the message.
func (v *visit) entry() *entry {
	if v.found != nil {
		return v.found
	}
	return &v.spare
}

// asRun takes for the id and the method of an ambiguous message what mcp-go has read, which is
// what it would run, and answer.
func (v *visit) asRun(raw []byte) {
	var message struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(raw, &message) == nil {
		v.req.Method = message.Method
	}
	if id, err := json.Marshal(v.id); err == nil {
		v.req.ID = id
	}
}

// enter finds the entry of the message and notes what the way out has to know.
func (v *visit) enter() {
	g := v.gate
	if v.err == nil || v.mode != Enforce {
		// The id of a message that is refused as ambiguous is as doubtful as the rest, so
		// its entry stays unseen.
		v.found = g.openEntry(v.ctx, &v.req)
	}
	e := v.entry()
	e.ctx, e.now = v.ctx, v.now
	if !gated(v.req.Method) {
		e.publishes = publishes(mcp.MCPMethod(v.req.Method)) && v.now.publishes()
		if mcp.MCPMethod(v.req.Method) == mcp.MethodInitialize {
			e.declares = originInText(v.req.Capabilities)
		}
	} else {
		e.gated = true
		if v.err == nil {
			v.mode = v.now.requestMode(mcp.MCPMethod(v.req.Method), v.req.Name)
		}
	}
	e.mode = v.mode
}

// leave hands the entry over to the seams and the way out.
func (v *visit) leave() {
	e := v.entry()
	if !v.began.IsZero() {
		e.took += time.Since(v.began)
	}
	e.see()
}

// judge looks for what the door alone can see, and decides on the two methods that no
// later seam covers.
func (v *visit) judge() error {
	if v.err != nil {
		return v.object(decision.Invalid, decision.ReasonAmbiguous, v.err)
	}
	if !v.entry().gated {
		return nil
	}
	var err error
	switch {
	case v.req.IDKind != wire.IDString && v.req.IDKind != wire.IDNumber:
		err = v.object(decision.Invalid, decision.ReasonID, errBadID)
	case !v.req.Meta:
		err = v.object(decision.Invalid, decision.ReasonMeta, errBadMeta)
	case !v.gate.hooksIntact():
		v.mode = v.now.floor() // what it names may not be what will run
		err = v.object(decision.Fault, decision.ReasonSeams, errHooks)
	}
	if err == nil {
		err = v.judgeSubscription()
	}
	return err
}

var (
	errBadID   = errors.New("the id of a request must be a string or a number")
	errBadMeta = errors.New("params._meta must be an object")
)

// object records that the door has something against the message. It returns the error
// for mcp-go, or nil if the mode lets the message pass all the same; then the record is
// made further in, if the message is one that has a record.
func (v *visit) object(what decision.Verdict, reason decision.Reason, why error) error {
	if v.mode == DangerouslyOff {
		return nil
	}
	f := finding{verdict: what, mode: v.mode, reason: reason, detail: why.Error()}
	e := v.entry()
	e.finding = &f
	stopped := f.inForce()
	if stopped == accepted {
		if reason == decision.ReasonAmbiguous && v.found != nil && e.concluded.CompareAndSwap(false, true) {
			// No seam need find out what the message was about.
			v.gate.tell(v.ctx, v.now, f, v.details(nil))
		}
		return nil
	}
	if e.concluded.CompareAndSwap(false, true) {
		v.gate.tell(v.ctx, v.now, f, v.details(nil))
	}
	switch {
	case stopped == broken:
		e.verdict, why = broken, errBroken
	case reason == decision.ReasonTooMany:
		e.verdict = invalid // mcp-go would call it another kind of error
	}
	return why
}

// details is what the record of a message says that the door stops.
func (v *visit) details(label *policydecl.Label) details {
	d := details{about: aboutRequest(&v.req), rawID: v.req.ID, id: v.id, label: label}
	if !v.began.IsZero() {
		d.took = time.Since(v.began)
	}
	if v.err != nil {
		d.about.target = "" // it has two readings, and so has what it says of the peer
		return d
	}
	d.peer = &peerAtDoor{v.gate, v.ctx, v.req}
	var meta mcp.Meta
	if json.Unmarshal(v.req.MetaObject, &meta) == nil {
		d.meta = &meta
	}
	return d
}

// maxListen is how many different URIs one subscriptions/listen may name. Each is
// looked up in all its readings, so a list without an end would let a peer keep the
// server busy.
const maxListen = 256

var errTooMany = seamError("Invalid params: notifications: more than " + strconv.Itoa(maxListen) + " different resource subscriptions")

// judgeSubscription decides on the two methods that no later seam covers.
func (v *visit) judgeSubscription() error {
	var uris []string
	e := v.entry()
	switch mcp.MCPMethod(v.req.Method) {
	case mcp.MethodResourcesSubscribe:
		e.doorOnly = true
		if v.req.URI == "" {
			return nil // mcp-go asks for the uri itself
		}
		uris = []string{v.req.URI}
	case mcp.MethodSubscriptionsListen:
		e.doorOnly = true
		slices.Sort(v.req.Subscriptions)
		uris = slices.Compact(v.req.Subscriptions)
		if len(uris) == 0 {
			e.concluded.Store(true) // none listed: not gated
		}
	default:
		return nil
	}
	if err := v.judgeURIs(uris); err != nil {
		return err
	}
	if e.linger != nil && mcp.MCPMethod(v.req.Method) == mcp.MethodSubscriptionsListen {
		e.linger()
	}
	return nil
}

// judgeURIs decides on the URIs of a subscription: all must be accepted. It asks as any
// later seam does, with a record that lives no longer than this.
func (v *visit) judgeURIs(uris []string) error {
	if len(uris) > maxListen {
		return v.object(decision.Invalid, decision.ReasonTooMany, errTooMany)
	}
	e := v.entry()
	at := &record{Context: v.ctx, gate: v.gate, label: v.gate.decodeLabel(v.req.Label), method: mcp.MCPMethod(v.req.Method)}
	at.now.Store(v.now)
	if v.now.undeclared {
		at.origin = (&peerAtDoor{v.gate, v.ctx, v.req}).peerOrigin()
	}
	e.label = &at.label
	for _, uri := range uris {
		at.target = uri
		v.gate.judgeURI(v.ctx, at, uri)
		if at.state() != accepted {
			break
		}
	}
	if at.hasFound && (e.finding == nil || at.found.weight() > e.finding.weight()) {
		e.finding = &at.found
	}
	if at.verdict <= accepted {
		return nil
	}
	e.verdict = at.verdict
	if e.concluded.CompareAndSwap(false, true) {
		d := v.details(&at.label)
		d.about.target = at.target
		v.gate.tell(v.ctx, v.now, at.found, d)
	}
	switch at.verdict {
	case refused:
		return errRefused
	case invalid:
		return seamError(at.problem)
	}
	return errBroken
}

// decodeLabel reads a label's JSON text as mcp-go would, so that a subscription is
// judged by the same reading of a label as a read (G4). The door has found the text
// to be unambiguous.
func (g *Gate) decodeLabel(raw []byte) policydecl.Label {
	if raw == nil {
		return policydecl.Label{}
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		v = "" // a number that nobody can hold: malformed
	}
	return policydecl.LabelOf(v, true, g.limits)
}

// aboutRequest returns what a message is about, as far as its raw text says.
func aboutRequest(req *wire.Request) about {
	return about{mcp.MCPMethod(req.Method), cmp.Or(req.Name, req.URI)}
}

// openEntry returns the edge's entry for a message that came over a wrapped
// transport, and nil for any other.
func (g *Gate) openEntry(ctx context.Context, req *wire.Request) *entry {
	if edge := g.edgeOf(ctx); edge != nil {
		if r := g.recordOf(ctx); r == nil || r.edge != edge {
			if e := edge.open(req.ID, aboutRequest(req)); e != nil {
				return e
			}
		}
	}
	return nil
}

// appendAnswer appends the answer that replaces mcp-go's: a JSON-RPC error with the id of
// the request as it was written, whatever mcp-go was about to say (X1).
func (g *Gate) appendAnswer(dst []byte, rawID []byte, o outcome) []byte {
	return wire.AppendError(dst, rawID, g.errorObject(o))
}

// errorObject returns the JSON-RPC error object of an outcome other than pass. A refusal
// alone has the key of one (X5).
func (g *Gate) errorObject(o outcome) []byte {
	switch o.fate {
	case refuse:
		return o.violation.AppendError(nil, g.code, g.detail)
	case reject:
		return plainError(mcp.INVALID_PARAMS, o.problem)
	}
	return plainError(mcp.INTERNAL_ERROR, string(errBroken))
}

// plainError is an error object without data. message is the gate's own text,
// printable ASCII.
func plainError(code int, message string) []byte {
	b := append([]byte(`{"code":`), strconv.Itoa(code)...)
	b = append(b, `,"message":`...)
	b = strconv.AppendQuote(b, message)
	return append(b, '}')
}
