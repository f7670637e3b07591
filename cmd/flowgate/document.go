package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The kinds of document that are no declaration; those are named by inspect.Noun.
const (
	kindPolicy    = "policy"
	kindLabel     = "label"
	kindViolation = "violation"
	kindServer    = "initialize" // the result of initialize or server/discover
	kindFlow      = "capability" // capabilities.flow, or the capabilities around it
	kindOverrides = "overrides"  // of a server, see validateOverrides
)

const kindNames = "tool, resource, template, prompt, policy, label, violation or overrides"

// document is what a file holds.
type document struct {
	kind string
	list bool   // a list of declarations of that kind
	at   string // JSON Pointer from the root of the file to raw
	raw  []byte

	frame  frame              // for a part of a message
	judged bool               // all that is wrong is known already
	faults []policydecl.Fault // found on the way
}

// frame is what has to be put around a part of a message to make it one, and the
// pointer to the part in it.
type frame struct{ before, after, at string }

// errUnrecognised is for a text of which the program cannot tell what it is, any other
// error of recognise for one that cannot be read. What is recognised is judged, and what
// is wrong with it is a finding; that is the line between the exit statuses 2 and 1.
var errUnrecognised = errors.New("cannot tell what this is")

// recognise finds out what a file holds by its members, and takes off what is around
// it: a JSON-RPC response, an error object, a request around a label. kind may be empty.
func recognise(raw []byte, kind string) (document, error) {
	d := document{kind: kind, raw: raw}
	if err := readable(raw); err != nil {
		return d, err
	}
	obj, err := rawjson.ReadObject(raw)
	if err == nil && obj.Has("jsonrpc") && !obj.Has("method") {
		d.faults = inspect.Duplicates(obj)
		if err := d.unwrap(obj); err != nil {
			return d, err
		}
		obj, err = rawjson.ReadObject(d.raw)
	}
	if err != nil {
		return d, d.noObject()
	}
	if err := d.classify(obj); err != nil {
		return d, err
	}
	d.descend(obj)
	return d, nil
}

// descend goes to the part that the kind is about.
func (d *document) descend(obj rawjson.Object) {
	switch d.kind {
	case kindViolation:
		d.payload(obj)
	case kindPolicy:
		if !obj.Has(memberAcceptFrom) {
			d.follow(obj, policyWays)
		}
	case kindLabel:
		if !obj.Has(memberContributors) {
			d.follow(obj, labelWays)
		}
	case kindFlow:
		const capabilities, flow = "/capabilities", "/" + policydecl.CapabilityMember
		d.frame = frame{`{"capabilities":`, `}`, capabilities}
		if isFlow(obj) {
			d.frame = frame{`{"capabilities":{"` + policydecl.CapabilityMember + `":`, `}}`, capabilities + flow}
		}
	}
}

// isFlow reports whether an object is the capability itself.
func isFlow(obj rawjson.Object) bool {
	kind := obj.Get("policy").Kind()
	return kind == 't' || kind == 'f'
}

// unwrap takes off a JSON-RPC response.
func (d *document) unwrap(obj rawjson.Object) error {
	result, failure := obj.Get("result"), obj.Get("error")
	switch {
	case result != nil && failure != nil:
		return fmt.Errorf("%w: a JSON-RPC response has a result or an error, not both", errUnrecognised)
	case result != nil:
		d.at, d.raw = "/result", result
	case failure != nil:
		d.at, d.raw = "/error", failure
	default:
		return fmt.Errorf("%w: a JSON-RPC message without a result or an error", errUnrecognised)
	}
	return nil
}

// payload goes from an error object, or its data, to the violation in it (X2). What is
// around it is not looked at further but for the key: peers go by nothing else.
func (d *document) payload(obj rawjson.Object) {
	if data := obj.Get("data"); data != nil && !obj.Has("rejected") {
		d.step("data", data)
		obj, _ = rawjson.ReadObject(data)
	} else if obj.Has("code") && !obj.Has("rejected") {
		obj = nil
	}
	if obj.Has("rejected") || obj.Has("acceptFrom") {
		return
	}
	if v := obj.Get(flowerrors.ViolationKey); v != nil {
		d.faults = append(d.faults, inspect.Under(d.at, inspect.Duplicates(obj))...)
		d.step(flowerrors.ViolationKey, v)
		return
	}
	d.judged = true
	d.faults = append(d.faults, policydecl.Fault{Pointer: d.at, Rule: "X2", ConfigError: &flowerrors.ConfigError{
		Reason: flowerrors.ReasonMissing, Detail: "no refusal by a flow policy: there is no " + flowerrors.ViolationKey + " in data",
	}})
}

func (d *document) step(name string, v []byte) {
	d.at = string(jsontext.Pointer(d.at).AppendToken(name))
	d.raw = v
}

// report validates the document. The pointers start at the root of the file.
func (d *document) report(ctx context.Context) (*inspect.Report, error) {
	r := &inspect.Report{}
	var faults []policydecl.Fault
	raw := d.raw
	if d.frame.at != "" {
		raw = slices.Concat([]byte(d.frame.before), raw, []byte(d.frame.after))
	}
	switch target, declaration := inspect.KindOf(d.kind); {
	case d.judged:
	case d.kind == kindPolicy:
		faults = policydecl.ValidatePolicy(raw)
	case d.kind == kindLabel:
		faults = policydecl.ValidateLabel(raw, policydecl.Limits{})
	case d.kind == kindViolation:
		faults = policydecl.ValidateViolation(raw)
	case d.kind == kindServer, d.kind == kindFlow:
		_, faults = inspect.ReadServer(raw)
	case declaration && d.list:
		if err := r.AddList(ctx, target, raw); err != nil {
			return r, err
		}
	case declaration:
		r.AddDeclaration(target, raw)
	}
	for i := range r.Other {
		r.Other[i].Pointer = d.fromRoot(r.Other[i].Pointer)
	}
	for _, f := range d.faults {
		r.Other = append(r.Other, inspect.Finding{Fault: f})
	}
	for _, f := range faults {
		f.Pointer = d.fromRoot(f.Pointer)
		r.Other = append(r.Other, inspect.Finding{Fault: f})
	}
	return r, nil
}

// fromRoot turns a pointer into what was validated into one from the root of the file.
func (d *document) fromRoot(pointer string) string {
	return d.at + strings.TrimPrefix(pointer, d.frame.at)
}
