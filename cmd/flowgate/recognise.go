package main

import (
	"fmt"
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// tell is what a member tells of the document that it is in.
type tell struct {
	member, kind string
	list         bool
}

// telling are the members by which a document is recognised.
var telling = []tell{
	{"capabilities", kindServer, false},
	{"rejected", kindViolation, false},
	{flowerrors.ViolationKey, kindViolation, false},
	{memberAcceptFrom, kindPolicy, false},
	{memberContributors, kindLabel, false},
	{"inputSchema", "tool", false},
	{"outputSchema", "tool", false},
	{"uriTemplate", "template", false},
	{policydecl.CapabilityMember, kindFlow, false},
	{"tools", "tool", true},
	{"resources", "resource", true},
	{"resourceTemplates", "template", true},
	{"prompts", "prompt", true},
	{"uri", "resource", false},
	{"code", kindViolation, false}, // an error object
}

// tells returns what the members of a document tell, each thing once. More than one is for
// the reader to decide: what is taken for the wrong thing is not judged, and would pass.
func tells(obj rawjson.Object) []tell {
	var found []tell
	add := func(t tell) {
		if !slices.ContainsFunc(found, func(f tell) bool { return f.kind == t.kind && f.list == t.list }) {
			found = append(found, t)
		}
	}
	for _, t := range telling {
		if obj.Has(t.member) && !isPart(obj, t) {
			add(t)
		}
	}
	if wayIn(obj, labelWays) != nil {
		add(tell{"_meta", kindLabel, false})
	}
	if obj.Has(policydecl.PolicyMember) && !slices.ContainsFunc(found, tell.declares) && len(found) > 0 {
		add(tell{policydecl.PolicyMember, kindPolicy, false})
	}
	return found
}

// declares reports whether it is a declaration, which may have a policy.
func (t tell) declares() bool {
	_, ok := inspect.KindOf(t.kind)
	return ok && !t.list
}

// isPart reports whether a member tells nothing, because it belongs to something else that
// the document is: the tokens of a violation, the lists among capabilities, the URI of a
// request with its label, the code of what is no error object.
func isPart(obj rawjson.Object, t tell) bool {
	switch {
	case t.member == memberAcceptFrom:
		return obj.Has("rejected")
	case t.list:
		return obj.Get(t.member).Kind() != '[' && (obj.Has(policydecl.CapabilityMember) || obj.Has("capabilities"))
	case t.member == "uri":
		return wayIn(obj, labelWays) != nil
	case t.member == "code":
		return len(obj) > 1 && !obj.Has("message") && !obj.Has("data")
	}
	return false
}

// classify finds out the kind, unless it was given, and whether it is a list.
func (d *document) classify(obj rawjson.Object) error {
	if target, ok := inspect.KindOf(d.kind); ok {
		d.list = obj.Has(inspect.ListMember(target)) && !obj.Has("name")
		return nil
	}
	if d.kind != "" {
		return nil
	}
	found := tells(obj)
	switch {
	case len(found) > 1:
		return ambiguous(found)
	case len(found) == 1:
		d.kind, d.list = found[0].kind, found[0].list
		return nil
	case obj.Has("jsonrpc"):
		return fmt.Errorf("%w: a JSON-RPC request without an origin label; validate the answer of a server", errUnrecognised)
	case obj.Has("name") && obj.Has("arguments"):
		d.kind = "prompt"
		return nil
	case isFlow(obj):
		d.kind = kindFlow
		return nil
	case !obj.Has("name") && wayIn(obj, policyWays) != nil:
		d.kind = kindPolicy
		return nil
	case obj.Has("name"):
		return fmt.Errorf("%w: with a name alone it may be a tool without inputSchema or a prompt; say -kind tool or -kind prompt", errUnrecognised)
	}
	return fmt.Errorf("%w: it has %s; say with -kind whether it is a %s", errUnrecognised, memberNames(obj), kindNames)
}

// ambiguous says what a document could be all at once.
func ambiguous(found []tell) error {
	return fmt.Errorf("%w: it has members of more than one thing: %s; use -kind to say which it is, or take the others out", errUnrecognised, named(found))
}

func named(found []tell) string {
	var are []string
	for _, t := range found {
		what := t.kind
		if t.list {
			what = "list of " + t.member
		}
		are = append(are, what+" ("+t.member+")")
	}
	return strings.Join(are, ", ")
}

// memberNames shows what an object has, for a message.
func memberNames(obj rawjson.Object) string {
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
