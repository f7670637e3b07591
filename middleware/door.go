package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

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
func (g *Gate) door(ctx context.Context, _ any, message any) (err error) {
	if server.ServerFromContext(ctx) != g.server {
		return nil // another server that shares these hooks
	}
	defer func() {
		if p := recover(); p != nil {
			g.logFault(ctx, about{}, fmt.Errorf("the door panicked: %v", p))
			err = errBroken
		}
	}()
	raw, ok := message.(json.RawMessage)
	if !ok {
		g.logFault(ctx, about{}, fmt.Errorf("mcp-go handed the door a %T", message))
		return errBroken
	}
	req, err := wire.ReadRequest(raw)
	if err != nil {
		return err // its id is as doubtful as the rest, so its entry stays unseen
	}
	e := g.openEntry(ctx, &req)
	if e == nil {
		e = new(entry) // nobody reads it
	}
	defer e.see()
	if !gated(req.Method) {
		if mcp.MCPMethod(req.Method) == mcp.MethodInitialize {
			e.declares = originInText(req.Capabilities)
		}
		return nil
	}
	e.gated = true
	if req.IDKind != wire.IDString && req.IDKind != wire.IDNumber {
		return errors.New("the id of a request must be a string or a number")
	}
	if !req.Meta {
		return errors.New("params._meta must be an object")
	}
	if !g.hooksIntact() {
		g.logFault(ctx, aboutRequest(&req), errHooks)
		e.faulty = true
		return errBroken
	}
	return g.doorVerdict(ctx, &req, e)
}

// maxListen is how many different URIs one subscriptions/listen may name. Each is
// looked up in all its readings, so a list without an end would let a peer keep the
// server busy.
const maxListen = 256

// doorVerdict decides on the two methods that no later seam covers.
func (g *Gate) doorVerdict(ctx context.Context, req *wire.Request, e *entry) error {
	var uris []string
	switch mcp.MCPMethod(req.Method) {
	case mcp.MethodResourcesSubscribe:
		e.doorOnly = true
		if req.URI == "" {
			return nil // mcp-go asks for the uri itself
		}
		uris = []string{req.URI}
	case mcp.MethodSubscriptionsListen:
		e.doorOnly = true
		slices.Sort(req.Subscriptions)
		uris = slices.Compact(req.Subscriptions) // none listed: not gated
	}
	var err error
	if len(uris) > 0 {
		err = g.judgeAtDoor(ctx, req, uris, e)
	}
	if err == nil && e.linger != nil && mcp.MCPMethod(req.Method) == mcp.MethodSubscriptionsListen {
		e.linger()
	}
	return err
}

// judgeAtDoor decides on the URIs of a subscription: all must be accepted.
func (g *Gate) judgeAtDoor(ctx context.Context, req *wire.Request, uris []string, e *entry) error {
	if len(uris) > maxListen {
		return e.reject("Invalid params: notifications: more than " + strconv.Itoa(maxListen) + " different resource subscriptions")
	}
	label := g.decodeLabel(req.Label)
	set := g.set()
	var policies []policydecl.Policy
	for _, uri := range uris {
		at := about{mcp.MCPMethod(req.Method), uri}
		var err error
		policies, err = g.resourcePolicies(ctx, set, policies[:0], uri)
		if unreadable := (*uriError)(nil); errors.As(err, &unreadable) {
			g.logInvalid(ctx, at, err)
			return e.reject(unreadable.Error())
		} else if err != nil {
			g.logFault(ctx, at, err)
			e.faulty = true
			return errBroken
		}
		d := set.Decide(ctx, &label, policies...)
		if policydecl.Restrict(true, d) {
			continue
		}
		if ctx.Err() != nil {
			return e.reject(errCancelled.Error())
		}
		g.logRefusal(ctx, at, label.Class(), g.peerAtDoor(ctx, req), d)
		e.refusal = d.Violation()
		return errRefused
	}
	return nil
}

// reject notes what about a request cannot be judged, and returns the error for
// mcp-go.
func (e *entry) reject(problem string) error {
	e.problem = problem
	return seamError(problem)
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

// appendAnswer appends the answer that replaces mcp-go's.
func (g *Gate) appendAnswer(dst []byte, rawID []byte, o outcome) []byte {
	return wire.AppendError(dst, rawID, g.errorObject(o))
}

// errorObject returns the JSON-RPC error object of an outcome other than pass.
func (g *Gate) errorObject(o outcome) []byte {
	switch o.fate {
	case refuse:
		return o.violation.AppendError(nil, g.code, g.detail)
	case reject:
		return plainError(mcp.INVALID_PARAMS, o.problem)
	}
	if !o.logged {
		g.logFault(context.Background(), about{}, errUnseen)
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
