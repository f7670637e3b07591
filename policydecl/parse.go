package policydecl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseLabel reads a label from its JSON text; nil means there was none. It answers
// as [LabelOf] does for the decoded value, but sees what decoding hides: a duplicate
// name, text that is not UTF-8, a lone surrogate, anything after the value
// or more raw bytes than the budget allows make the label malformed (L7, L8).
//
// ParseLabel keeps no reference to raw.
func ParseLabel(raw []byte, lim Limits) Label {
	if raw == nil {
		return Label{}
	}
	lim = lim.effective()
	if len(raw) > lim.Bytes {
		return malformed
	}
	v, err := decode(raw, lim.Depth)
	if err != nil {
		return malformed
	}
	return LabelOf(v, true, lim)
}

// The reasons of decode that are not jsontext's own.
var (
	errTrailing = errors.New("text after the JSON value")
	errDepth    = errors.New("JSON nested too deep")
	errNumber   = errors.New("a number that not every reader can hold")
)

// decode reads the one JSON value in raw into the types encoding/json uses, but for
// numbers, which stay json.Number. It is strict: jsontext refuses duplicate
// names and text that is not UTF-8, lone surrogates included.
func decode(raw []byte, depth int) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := decodeValue(d, depth)
	if err != nil {
		return nil, &placedError{string(d.StackPointer()), err}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v, nil
}

// placedError is an error with the place in the text where it came up.
type placedError struct {
	pointer string // RFC 6901
	err     error
}

func (e *placedError) Error() string { return e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// decodeValue reads the next value, in which containers may nest depth levels.
func decodeValue(d *jsontext.Decoder, depth int) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return tok.Bool(), nil
	case jsontext.KindString:
		return tok.String(), nil
	case jsontext.KindNumber:
		n := tok.String()
		if _, err := strconv.ParseFloat(n, 64); err != nil {
			return nil, errNumber // encoding/json does not read the rest either
		}
		return json.Number(n), nil
	}
	if depth == 0 {
		return nil, errDepth
	}
	if tok.Kind() == jsontext.KindBeginArray {
		return decodeArray(d, depth-1)
	}
	return decodeObject(d, depth-1)
}

// decodeArray reads the rest of an array.
func decodeArray(d *jsontext.Decoder, depth int) (any, error) {
	list := []any{}
	for d.PeekKind() != jsontext.KindEndArray {
		v, err := decodeValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.ReadToken()
	return list, err
}

// decodeObject reads the rest of an object.
func decodeObject(d *jsontext.Decoder, depth int) (any, error) {
	obj := map[string]any{}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := decodeValue(d, depth)
		if err != nil {
			return nil, err
		}
		obj[key] = v
	}
	_, err := d.ReadToken()
	return obj, err
}
