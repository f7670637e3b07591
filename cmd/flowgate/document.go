package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The kinds of document that are no declaration; those are named by inspect.Noun.
const (
	kindPolicy    = "policy"
	kindLabel     = "label"
	kindViolation = "violation"
	kindServer    = "initialize" // the result of initialize or server/discover
)

const kindNames = "tool, resource, template, prompt, policy, label or violation"

// document is what a file holds.
type document struct {
	kind string
	list bool   // a list of declarations of that kind
	at   string // JSON Pointer from the root of the file to raw
	raw  []byte

	faults []policydecl.Fault // found on the way
}

var errUnrecognised = errors.New("cannot tell what this is")

// recognise finds out what a file holds by its members, and takes off what is around
// it: a JSON-RPC response, an error object. kind may be empty. A text that is no JSON is
// a document with a fault; the error is for one that could be several things.
func recognise(raw []byte, kind string) (document, error) {
	d := document{kind: kind, raw: raw}
	obj, err := inspect.ReadObject(raw)
	if err == nil && obj.Has("jsonrpc") {
		d.faults = obj.Duplicates()
		if err := d.unwrap(obj); err != nil {
			return d, err
		}
		obj, err = inspect.ReadObject(d.raw)
	}
	if err != nil {
		if d.kind == "" {
			d.faults = append(d.faults, policydecl.Fault{Pointer: d.at, Rule: policydecl.RuleJSON, ConfigError: &flowerrors.ConfigError{
				Value: string(d.raw), Reason: flowerrors.ReasonType, Detail: err.Error(), Hint: "validate a declaration, a list, a policy, a label or a violation",
			}})
		}
		return d, nil // with a kind, its validator says what is wrong
	}
	if err := d.classify(obj); err != nil {
		return d, err
	}
	if d.kind == kindViolation {
		d.payload(obj)
	}
	return d, nil
}

// unwrap takes off a JSON-RPC response.
func (d *document) unwrap(obj inspect.Object) error {
	result, failure := obj.Get("result"), obj.Get("error")
	switch {
	case result != nil && failure != nil:
		return fmt.Errorf("%w: a JSON-RPC response has a result or an error, not both", errUnrecognised)
	case result != nil:
		d.at, d.raw = "/result", result
	case failure != nil:
		d.at, d.raw = "/error", failure
	default:
		return fmt.Errorf("%w: a JSON-RPC message, but no response; validate the answer of a server", errUnrecognised)
	}
	return nil
}

// telling are the members by which a document is recognised, the most telling first.
var telling = []struct {
	member, kind string
	list         bool
}{
	{"capabilities", kindServer, false},
	{"rejected", kindViolation, false},
	{flowerrors.ViolationKey, kindViolation, false},
	{"acceptFrom", kindPolicy, false},
	{"contributors", kindLabel, false},
	{"inputSchema", "tool", false},
	{"outputSchema", "tool", false},
	{"uriTemplate", "template", false},
	{"uri", "resource", false},
	{"tools", "tool", true},
	{"resources", "resource", true},
	{"resourceTemplates", "template", true},
	{"prompts", "prompt", true},
	{"code", kindViolation, false}, // an error object
}

// classify finds out the kind, unless it was given, and whether it is a list.
func (d *document) classify(obj inspect.Object) error {
	if target, ok := inspect.KindOf(d.kind); ok {
		d.list = obj.Has(inspect.ListMember(target)) && !obj.Has("name")
		return nil
	}
	if d.kind != "" {
		return nil
	}
	for _, t := range telling {
		if obj.Has(t.member) {
			d.kind, d.list = t.kind, t.list
			return nil
		}
	}
	switch {
	case obj.Has("name") && obj.Has("arguments"):
		d.kind = "prompt"
		return nil
	case obj.Has("name"):
		return fmt.Errorf("%w: with a name alone it may be a tool without inputSchema or a prompt; say -kind tool or -kind prompt", errUnrecognised)
	}
	return fmt.Errorf("%w: it has %s; say with -kind whether it is a %s", errUnrecognised, memberNames(obj), kindNames)
}

// memberNames shows what an object has, for a message.
func memberNames(obj inspect.Object) string {
	if len(obj) == 0 {
		return "no members"
	}
	names := make([]string, 0, 5)
	for _, m := range obj[:min(len(obj), 5)] {
		names = append(names, clean(m.Name, 40))
	}
	if len(obj) > 5 {
		names = append(names, "...")
	}
	return "the members " + strings.Join(names, ", ")
}

// payload goes from an error object, or its data, to the violation in it (X2). What is
// around it is not looked at further but for the key: peers go by nothing else.
func (d *document) payload(obj inspect.Object) {
	if data := obj.Get("data"); data != nil && !obj.Has("rejected") {
		d.step("data", data)
		obj, _ = inspect.ReadObject(data)
	} else if obj.Has("code") && !obj.Has("rejected") {
		obj = nil
	}
	if obj.Has("rejected") || obj.Has("acceptFrom") {
		return
	}
	if v := obj.Get(flowerrors.ViolationKey); v != nil {
		d.faults = append(d.faults, inspect.Under(d.at, obj.Duplicates())...)
		d.step(flowerrors.ViolationKey, v)
		return
	}
	d.kind = ""
	d.faults = append(d.faults, policydecl.Fault{Pointer: d.at, Rule: "X2", ConfigError: &flowerrors.ConfigError{
		Reason: flowerrors.ReasonMissing, Detail: "no refusal by a flow policy: there is no " + flowerrors.ViolationKey + " in data",
	}})
}

func (d *document) step(name string, v []byte) {
	d.at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	d.raw = v
}

// report validates the document. The pointers start at the root of the file.
func (d *document) report(ctx context.Context) (*inspect.Report, error) {
	r := &inspect.Report{}
	faults := d.faults
	switch d.kind {
	case "": // what is wrong is known already
	case kindPolicy:
		faults = append(faults, d.under(policydecl.ValidatePolicy(d.raw))...)
	case kindLabel:
		faults = append(faults, d.under(policydecl.ValidateLabel(d.raw, policydecl.Limits{}))...)
	case kindViolation:
		faults = append(faults, d.under(policydecl.ValidateViolation(d.raw))...)
	case kindServer:
		_, found := inspect.ReadServer(d.raw)
		faults = append(faults, d.under(found)...)
	default:
		target, _ := inspect.KindOf(d.kind)
		if d.list {
			if err := r.AddList(ctx, target, d.raw); err != nil {
				return r, err
			}
		} else {
			r.AddDeclaration(target, d.raw)
		}
	}
	for i := range r.Other {
		r.Other[i].Pointer = d.at + r.Other[i].Pointer
	}
	for _, f := range faults {
		r.Other = append(r.Other, inspect.Finding{Fault: f})
	}
	return r, nil
}

func (d *document) under(faults []policydecl.Fault) []policydecl.Fault {
	return inspect.Under(d.at, faults)
}
