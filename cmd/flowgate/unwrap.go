package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The members that a policy and a label have and nothing around them.
const (
	memberAcceptFrom   = "acceptFrom"
	memberContributors = "contributors"
)

// The ways to a policy and to a label from what people have at hand, the first that is
// there wins: a declaration, which says it in flowPolicy or, for want of that, in the
// copy under _meta (D1); what announces a default (D2); a request with its label (L1).
var (
	policyWays = [][]string{
		{policydecl.PolicyMember},
		{"_meta", policydecl.PolicyKey},
		{policydecl.PolicyKey},
		{"capabilities", policydecl.CapabilityMember, "default"},
		{"capabilities", "extensions", policydecl.ExtensionKey, "default"},
		{policydecl.CapabilityMember, "default"},
		{"extensions", policydecl.ExtensionKey, "default"},
		{"default"},
	}
	labelWays = [][]string{
		{policydecl.LabelKey},
		{"_meta", policydecl.LabelKey},
		{"params", "_meta", policydecl.LabelKey},
	}
)

// wayIn returns the first of several ways that an object has.
func wayIn(obj rawjson.Object, ways [][]string) []string {
	for _, way := range ways {
		at, found := obj, true
		for _, name := range way {
			v := at.Get(name)
			found = found && v != nil
			at, _ = rawjson.ReadObject(v)
		}
		if found {
			return way
		}
	}
	return nil
}

// follow goes the first way that an object has, and reports whether there is one. A name
// that occurs twice on the way is a fault: two readers could go different ways (L8).
func (d *document) follow(obj rawjson.Object, ways [][]string) bool {
	way := wayIn(obj, ways)
	for _, name := range way {
		d.faults = append(d.faults, inspect.Under(d.at, inspect.Duplicates(obj))...)
		v := obj.Get(name)
		d.step(name, v)
		obj, _ = rawjson.ReadObject(v)
	}
	return way != nil
}

// noObject is for a JSON value that is no object: a list of declarations without the
// member around it, or what only a kind could tell.
func (d *document) noObject() error {
	target, declaration := inspect.KindOf(d.kind)
	switch text := bytes.TrimSpace(d.raw); {
	case d.kind != "" && !declaration:
		return nil // its validator says what is wrong
	case text[0] != '[' && declaration:
		return nil
	case text[0] != '[':
		return fmt.Errorf("%w: it is neither an object nor an array; validate a declaration, a list, a policy, a label or a violation", errUnrecognised)
	}
	if !declaration {
		kind, err := kindOfList(d.raw)
		if err != nil {
			return err
		}
		d.kind = kind
		target, _ = inspect.KindOf(kind)
	}
	member := inspect.ListMember(target)
	d.list, d.frame = true, frame{`{"` + member + `":`, `}`, "/" + member}
	return nil
}

// maxTold is how many declarations of a list are asked what they are.
const maxTold = 100

// kindOfList tells by its members what a list of declarations holds.
func kindOfList(raw []byte) (string, error) {
	list, _, err := rawjson.ReadArray(raw, maxTold)
	if err != nil {
		return "", err
	}
	var unsure error
	kind := ""
	for _, v := range list {
		one := document{raw: v}
		obj, err := rawjson.ReadObject(v)
		if err == nil {
			err = one.classify(obj)
		}
		if _, ok := inspect.KindOf(one.kind); ok && err == nil && !one.list {
			if kind != "" && kind != one.kind {
				return "", fmt.Errorf("%w: an array of more than one thing: %s, %s; use -kind to say which it is", errUnrecognised, kind, one.kind)
			}
			kind = one.kind
		}
		if unsure == nil && errors.Is(err, errUnrecognised) {
			unsure = err
		}
	}
	switch {
	case kind != "":
		return kind, nil
	case len(list) == 0:
		return "", fmt.Errorf("%w: an empty array", errUnrecognised)
	case areStrings(raw):
		return "", fmt.Errorf("%w: an array of strings; for a flow policy %s", errUnrecognised, policyHint)
	case unsure != nil:
		return "", unsure
	}
	return "", fmt.Errorf("%w: an array of neither tools, resources, templates nor prompts", errUnrecognised)
}

// policyHint is for a list of tokens without the object around it.
const policyHint = `write {"acceptFrom":[...]}`

// areStrings reports whether a text is a JSON array of strings.
func areStrings(raw []byte) bool {
	list, _, err := rawjson.ReadArray(raw, policydecl.MaxTokens)
	for _, v := range list {
		if v.Kind() != '"' {
			return false
		}
	}
	return err == nil
}

// readable reports what keeps a text from being JSON.
func readable(raw []byte) error {
	if err := mistaken(raw); err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return errors.New("it is empty")
	}
	return rawjson.Check(raw)
}

// lookalikes are what people save in place of the JSON that they mean.
var lookalikes = []struct {
	begins *regexp.Regexp
	text   string
}{
	{regexp.MustCompile(`^\s*HTTP/\d`), "it looks like an HTTP answer with its head, as curl -i shows it; save the body alone"},
	{regexp.MustCompile(`^\s*(:[^\n]*\n)*(event|data|id|retry):[^\n]*(\n|$)`), "it looks like a stream of events (text/event-stream); save what follows data: in the event that holds the answer"},
	{regexp.MustCompile(`^\s*<`), "it looks like HTML or XML; save the JSON that the MCP endpoint answers"},
}

// mistaken reports what a text looks like that is something around the JSON that is meant,
// and what to save.
func mistaken(raw []byte) error {
	head := string(raw[:min(len(raw), 4<<10)])
	switch {
	case strings.HasPrefix(head, "\ufeff"):
		return errors.New("it begins with a byte order mark, which JSON must not have (RFC 8259); save it as UTF-8 without one")
	case strings.HasPrefix(head, "\xff\xfe"), strings.HasPrefix(head, "\xfe\xff"):
		return errors.New("it looks like UTF-16; save it as UTF-8")
	}
	for _, l := range lookalikes {
		if l.begins.MatchString(head) {
			return errors.New(l.text)
		}
	}
	return nil
}

// carriesNoLabel reports whether an object is a request, or a part of one, that could
// carry a label and does not (L1).
func carriesNoLabel(obj rawjson.Object) bool {
	for _, m := range obj {
		switch {
		case m.Name == memberContributors:
			return false
		case m.Name == "_meta", m.Name == "params", m.Name == "method", strings.HasPrefix(m.Name, "io.modelcontextprotocol/"):
			return wayIn(obj, labelWays) == nil
		}
	}
	return false
}
