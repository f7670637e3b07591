package vectors

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text is a text that a vector gives either as a JSON string or as an array of parts, each a
// string, {"repeat": string, "times": number} or {"base64": string}. So it can be long, and
// it can hold bytes that are no text. nil is no text at all.
type Text []byte

// maxText bounds what a vector can make a test build.
const maxText = 4 << 20

// UnmarshalJSON reads either form.
func (t *Text) UnmarshalJSON(raw []byte) error {
	*t = Text{}
	switch jsontext.Value(raw).Kind() {
	case jsontext.KindNull:
		*t = nil
		return nil
	case jsontext.KindString:
		return t.add(raw)
	}
	var parts []jsontext.Value
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return errors.New("a text of no parts")
	}
	for _, part := range parts {
		if err := t.add(part); err != nil {
			return err
		}
	}
	return nil
}

// add appends one part.
func (t *Text) add(raw []byte) error {
	var s string
	if jsontext.Value(raw).Kind() == jsontext.KindString {
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = append(*t, s...)
		return nil
	}
	var part struct {
		Repeat *string `json:"repeat"`
		Times  int     `json:"times"`
		Base64 []byte  `json:"base64"`
	}
	if err := json.Unmarshal(raw, &part, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	switch {
	case part.Repeat != nil && part.Base64 == nil && part.Times > 0 && len(*part.Repeat) <= maxText/part.Times:
		*t = append(*t, strings.Repeat(*part.Repeat, part.Times)...)
	case part.Repeat == nil && part.Base64 != nil && part.Times == 0:
		*t = append(*t, part.Base64...)
	default:
		return errors.New("a part of a text is a string, a repeat or base64")
	}
	return nil
}
