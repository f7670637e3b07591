// Package rawjson splits JSON texts from peers without decoding them: what was sent stays as
// it was, a name that occurs twice included. It knows nothing of MCP.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of a JSON object, as sent.
type Member struct {
	Name  string
	Value jsontext.Value // shares the memory of the object's text
}

// Object is the members of a JSON object in order. A name can occur twice: what a peer
// sends is reported before it is refused.
type Object []Member

var errNotObject = errors.New("not a JSON object")

// lenient makes the reader tell what is there, and leaves the strict reading of each
// part to the validators, which know the pointer.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// ReadObject splits the text of one JSON object into its members. The error, for what
// is no object or no JSON, is fit for people.
func ReadObject(raw []byte) (Object, error) {
	var obj Object
	err := Each(raw, func(m Member) error {
		obj = append(obj, m)
		return nil
	})
	return obj, err
}

// Each calls f with each member of one JSON object, in order, and keeps none of them. It
// stops at the first error of f, and returns it. Its own errors are those of [ReadObject].
func Each(raw []byte, f func(Member) error) error {
	// The decoder only reads a bytes.Buffer, so the text is not copied.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	open, err := d.ReadToken()
	if err != nil {
		return syntaxError(err)
	}
	if open.Kind() != '{' {
		return errNotObject
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		m := Member{Name: name.String()}
		if m.Value, err = value(d, raw); err != nil {
			return err
		}
		if err := f(m); err != nil {
			return err
		}
	}
	return end(d)
}

// IsObject reports whether a text is one JSON object, as [ReadObject] reads it.
func IsObject(raw []byte) bool { return Each(raw, func(Member) error { return nil }) == nil }

// Same reports whether two JSON texts say the same, however they are written. Numbers are
// compared as most decoders hold them, with 53 bits. What is no JSON is like nothing.
func Same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Check reports what keeps a text from being one JSON value, in words fit for people.
// Names that occur twice and what is not UTF-8 are left to the validators, which know
// the place.
func Check(raw []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	if _, err := d.ReadValue(); err != nil {
		return syntaxError(err)
	}
	return nothingAfter(d)
}

// ReadArray splits the text of one JSON array. It reads at most limit values and reports
// whether there are more.
func ReadArray(raw []byte, limit int) (list []jsontext.Value, more bool, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	open, err := d.ReadToken()
	if err != nil {
		return nil, false, syntaxError(err)
	}
	if open.Kind() != '[' {
		return nil, false, errors.New("not a JSON array")
	}
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		if len(list) == limit {
			return list, true, nil
		}
		v, err := value(d, raw)
		if err != nil {
			return nil, false, err
		}
		list = append(list, v)
	}
	return list, false, end(d)
}

// value reads one value and returns it as a part of raw, which unlike the decoder's
// own buffer stays.
func value(d *jsontext.Decoder, raw []byte) (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	to := d.InputOffset()
	return raw[to-int64(len(v)) : to : to], nil
}

// end reads the closing bracket and makes sure that nothing follows it.
func end(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return syntaxError(err)
	}
	return nothingAfter(d)
}

func nothingAfter(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value, at byte " + strconv.FormatInt(d.InputOffset(), 10))
	}
	return nil
}

// syntaxError says where a text stops being JSON, without quoting it.
func syntaxError(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return errors.New("not valid JSON, at byte " + strconv.FormatInt(syntax.ByteOffset, 10))
	}
	return errors.New("not valid JSON: it ends too early")
}

// Get returns the value of a member, which of several with that name is the last, as
// most decoders have it. It is nil if there is none.
func (o Object) Get(name string) jsontext.Value {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// Has reports whether there is a member of that name.
func (o Object) Has(name string) bool { return o.Get(name) != nil }

// Object returns a member that is an object itself, and nil for any other.
func (o Object) Object(name string) Object {
	obj, err := ReadObject(o.Get(name))
	if err != nil {
		return nil
	}
	return obj
}

// Text returns a member that is a string.
func (o Object) Text(name string) (string, bool) { return Text(o.Get(name)) }

// Text returns what a JSON string says. What is not UTF-8 in it is replaced.
func Text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return strings.ToValidUTF8(string(s), "\uFFFD"), err == nil || len(s) > 0
}
