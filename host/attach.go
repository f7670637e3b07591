package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

var errNoObject = errors.New("the label cannot be attached: params and _meta have to be objects")

// space is what JSON allows around a value.
const space = " \t\r\n"

// attach puts the label into the _meta of params, in place of one that is there: whatever
// a server or the model has said about origins goes nowhere (H3). All else stays as it was.
func attach(params json.RawMessage, label policydecl.Label) (json.RawMessage, error) {
	return setMember(params, "_meta", func(meta json.RawMessage) (json.RawMessage, error) {
		return setMember(meta, policydecl.LabelKey, func(json.RawMessage) (json.RawMessage, error) {
			return label.AppendJSON(nil), nil
		})
	})
}

// setMember replaces the value of one member of an object, or adds it at the end; change
// is given what was there, if anything. An object that is absent or null is an empty one.
func setMember(object json.RawMessage, name string, change func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if object = bytes.Trim(object, space); len(object) == 0 || string(object) == "null" {
		object = json.RawMessage("{}")
	}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != jsontext.KindBeginObject {
		return nil, errNoObject
	}
	out := append(make(json.RawMessage, 0, len(object)+256), '{')
	found := false
	for d.PeekKind() != jsontext.KindEndObject {
		tok, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		member := tok.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if member == name {
			found = true
			if value, err = changed(change, json.RawMessage(value)); err != nil {
				return nil, err
			}
		}
		if out, err = appendMember(out, member, value); err != nil {
			return nil, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	if !found {
		value, err := change(nil)
		if err != nil {
			return nil, err
		}
		if out, err = appendMember(out, name, jsontext.Value(value)); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func changed(change func(json.RawMessage) (json.RawMessage, error), value json.RawMessage) (jsontext.Value, error) {
	v, err := change(value)
	return jsontext.Value(v), err
}

// appendMember appends one member to an object that is being written.
func appendMember(out json.RawMessage, name string, value jsontext.Value) (json.RawMessage, error) {
	if len(out) > 1 {
		out = append(out, ',')
	}
	quoted, err := jsontext.AppendQuote(out, name)
	if err != nil {
		return nil, err
	}
	return append(append(quoted, ':'), value...), nil
}
