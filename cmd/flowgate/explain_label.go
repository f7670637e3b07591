package main

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// readLabel reads the label as the gate does, in a request, and reports beside it what
// its author would be told. The gate is the more tolerant of the two.
func (e *explanation) readLabel(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	d := document{raw: text}
	var way []string
	if obj, err := rawjson.ReadObject(text); err == nil && !obj.Has(memberContributors) {
		way = wayIn(obj, labelWays)
		switch {
		case d.follow(obj, labelWays):
			e.first = append(e.first, "the label was taken from "+clean(d.at, 200))
		case carriesNoLabel(obj):
			e.first = append(e.first, "the request carries no label: there is no "+policydecl.LabelKey+" in its params._meta")
			e.receive(inRequest(text, wayPast(obj)))
			return
		}
	}
	if string(d.raw) != "null" {
		e.labelFaults = append(d.faults, inspect.Under(d.at, policydecl.ValidateLabel(d.raw, policydecl.Limits{}))...)
	}
	if rawjson.Check(text) != nil { // it could end the request that is put around it
		e.invalid = errNotJSON
		return
	}
	e.receive(inRequest(text, way))
}

// Why a request is none. The second is the gate's own text.
var (
	errNotJSON = errors.New("not valid JSON")
	errMeta    = errors.New("params._meta must be an object")
)

// wayPast returns the way that a request, or the part of one, would have to a label.
func wayPast(obj rawjson.Object) []string {
	switch {
	case obj.Has("params"), obj.Has("method"):
		return labelWays[2]
	case obj.Has("_meta"):
		return labelWays[1]
	}
	return labelWays[0]
}

// inRequest puts around a text what it lacks to be a request, by the way that leads from
// it to the label.
func inRequest(text []byte, way []string) []byte {
	before := []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`, `{"_meta":`, `{"` + policydecl.LabelKey + `":`}
	after := []string{"}", "}", "}"}
	n := len(before) - len(way)
	var b []byte
	for _, part := range before[:n] {
		b = append(b, part...)
	}
	b = append(b, text...)
	for _, part := range after[:n] {
		b = append(b, part...)
	}
	return b
}

// receive reads the label of a request in the gate's two steps: what can be read in two
// ways is no request to it (L8), and the rest is decoded before it is judged, so that
// white space and escapes do not count (L7).
func (e *explanation) receive(request []byte) {
	if !json.Valid(request) {
		e.invalid = errNotJSON
		return
	}
	r, err := wire.ReadRequest(request)
	switch {
	case err != nil:
		e.invalid = err
		return
	case !r.Meta:
		e.invalid = errMeta
		return
	}
	var v any
	if r.Label != nil && json.Unmarshal(r.Label, &v) != nil {
		v = "" // no label
	}
	e.label = policydecl.LabelOf(v, r.Label != nil, policydecl.Limits{})
}

// The codes of JSON-RPC for what is no request.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
)

// invalidError is what the peer gets in place of a refusal. The text of a parse error is
// the transport's own.
func (e *explanation) invalidError() []byte {
	type object struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	o := object{codeInvalidRequest, e.invalid.Error()}
	if errors.Is(e.invalid, errNotJSON) {
		o = object{Code: codeParseError}
	}
	raw, _ := json.Marshal(o) // never fails
	return raw
}
