package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// readPolicy reads the policy as a host does and reports what its author would be told
// (P6). The error is for what cannot be taken for one policy.
func (e *explanation) readPolicy(text []byte) error {
	text = bytes.TrimSpace(text)
	switch list, ok := bareTokens(string(text)); {
	case string(text) == "null":
		e.policy, e.byDefault = policydecl.Default(), true
		return nil
	case len(text) == 0:
		e.policy = policydecl.AcceptFrom()
		return nil
	case ok:
		for i, token := range list {
			if token == "" {
				return fmt.Errorf("-policy: token %d of %s is empty; leave out the comma, or write '' to accept nobody", i+1, quoted(string(text), 200))
			}
		}
		var err error
		if text, err = json.Marshal(map[string][]string{memberAcceptFrom: list}); err != nil {
			return err
		}
	}
	d := document{raw: text}
	if obj, err := rawjson.ReadObject(text); err == nil {
		if d, err = policyIn(obj, d); err != nil {
			return err
		}
	}
	e.apply(&d)
	return nil
}

// apply takes a policy's text as a host does.
func (e *explanation) apply(d *document) {
	if d.at != "" {
		e.first = append(e.first, "the policy was taken from "+clean(d.at, 200))
	}
	if d.raw == nil {
		e.policy, e.byDefault = policydecl.Default(), true
		e.first = append(e.first, "there is no flow policy in it, so the draft's default is judged below")
		return
	}
	faults := policydecl.ValidatePolicy(d.raw)
	if areStrings(d.raw) && len(faults) > 0 {
		mistake := *faults[0].ConfigError
		mistake.Hint = policyHint + " or -policy user,self"
		faults[0].ConfigError = &mistake
	}
	e.policyFaults = append(d.faults, inspect.Under(d.at, faults)...)
	var v any
	if json.Unmarshal(d.raw, &v) != nil {
		v = "" // no policy at all, so the default stands in, with the fault beside it
	}
	def := policydecl.Default()
	e.policy, _ = policydecl.ReadPublished(v, def) // ValidatePolicy has the faults
	e.byDefault = e.policy == def
	switch {
	case e.byDefault:
		e.first = append(e.first, "this is no policy; a host falls back to the draft's default, which is judged below")
	case len(e.policyFaults) > 0:
		e.first = append(e.first, "a server would not start with this policy; it is applied below as a host reads it")
	}
}

// bareTokens splits tokens that are not JSON: with commas or spaces between, and in
// brackets where a log has printed them.
func bareTokens(text string) ([]string, bool) {
	if text == "" || strings.ContainsRune(`{"`, rune(text[0])) {
		return nil, false
	}
	if text[0] == '[' {
		if rawjson.Check([]byte(text)) == nil || !strings.HasSuffix(text, "]") || strings.ContainsRune(text, '"') {
			return nil, false
		}
		text = text[1 : len(text)-1]
	}
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if words := strings.Fields(part); len(words) > 0 {
			list = append(list, words...)
		} else {
			list = append(list, "")
		}
	}
	return list, true
}

// policyIn goes from what has a policy in it to the policy, whose text is nil if there
// could be one and is not. d holds the text of obj.
func policyIn(obj rawjson.Object, d document) (document, error) {
	if obj.Has("jsonrpc") {
		if err := d.unwrap(obj); err != nil {
			return d, fmt.Errorf("-policy: %w", err)
		}
		obj, _ = rawjson.ReadObject(d.raw)
	}
	if found := tells(obj); len(found) > 1 && !obj.Has(memberAcceptFrom) {
		return d, fmt.Errorf("-policy: this has members of more than one thing: %s; give the policy alone", named(found))
	}
	if obj.Has(memberAcceptFrom) || d.follow(obj, policyWays) {
		return d, nil
	}
	what := document{raw: d.raw}
	if what.classify(obj) != nil {
		return d, nil // what it is not, its validator says
	}
	_, declaration := inspect.KindOf(what.kind)
	switch {
	case what.list:
		return d, errors.New("-policy: this is a list; give one declaration of it")
	case declaration, what.kind == kindServer, what.kind == kindFlow:
		d.raw = nil
	}
	return d, nil
}
