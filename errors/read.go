package flowerrors

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Budgets of [ReadViolation]. A peer chooses the bytes, so they are bounded
// before anything is kept. They lie above what flowgate writes with the default
// limits of a label (L7).
const (
	// MaxViolationBytes bounds the whole error object.
	MaxViolationBytes = 1 << 20
	// MaxViolationItems bounds each of the two lists.
	MaxViolationItems = 4096
	// MaxViolationString bounds one string in them, in bytes.
	MaxViolationString = 8 << 10
)

// ReadViolation reads the error member of a JSON-RPC response and tells whether
// it is a refusal by a flow policy (X2). It goes by [ViolationKey] in
// error.data alone: not by the code, the message or the spelling in other case.
//
//   - No such key: nil, false, nil.
//   - The key with a well-formed value: the violation, true, nil.
//   - The key with anything else: nil, true and an error. It is a refusal all
//     the same and must be treated as one; only its detail is unusable.
//   - Bytes that are not one JSON object, exceed [MaxViolationBytes] or are
//     ambiguous (data twice): nil, false and an error.
//
// A well-formed value holds the arrays rejected and acceptFrom, each once.
// Members that are not known are skipped, at every level. The errors are
// [*ConfigError]s whose paths start at the error object.
func ReadViolation(errorObject []byte) (*Violation, bool, error) {
	switch {
	case len(errorObject) > MaxViolationBytes:
		return nil, false, limitError("", MaxViolationBytes, "the error object is too long")
	case !utf8.Valid(errorObject) || !json.Valid(errorObject):
		return nil, false, shapeError("", "the error object is not JSON")
	case !isObject(errorObject):
		return nil, false, shapeError("", "the error is not an object")
	}
	data, n := member(errorObject, "data")
	if n > 1 {
		return nil, false, duplicateError("data")
	}
	if n == 0 || !isObject(data) {
		return nil, false, nil
	}
	value, n := member(data, ViolationKey)
	if n == 0 {
		return nil, false, nil
	}
	path := `data["` + ViolationKey + `"]`
	if n > 1 {
		return nil, true, duplicateError(path)
	}
	v, err := readValue(value)
	if err != nil {
		return nil, true, err.Under(path)
	}
	return v, true, nil
}

func readValue(value []byte) (*Violation, *ConfigError) {
	if !isObject(value) {
		return nil, shapeError("", "the value is not an object")
	}
	rejected, err := list(value, "rejected")
	if err != nil {
		return nil, err
	}
	tokens, err := list(value, "acceptFrom")
	if err != nil {
		return nil, err
	}
	v := &Violation{Rejected: make([]Rejected, 0, len(rejected)), AcceptFrom: make([]string, 0, len(tokens))}
	for i, raw := range rejected {
		r, err := readRejected(raw)
		if err != nil {
			return nil, err.Under(index("rejected", i))
		}
		v.Rejected = append(v.Rejected, r)
	}
	for i, raw := range tokens {
		s, err := text(raw)
		if err != nil {
			return nil, err.Under(index("acceptFrom", i))
		}
		v.AcceptFrom = append(v.AcceptFrom, s)
	}
	return v, nil
}

func readRejected(raw []byte) (Rejected, *ConfigError) {
	var r Rejected
	if !isObject(raw) {
		return r, shapeError("", "the entry is not an object")
	}
	for _, f := range []struct {
		name     string
		dst      *string
		required bool
	}{{"assurance", &r.Assurance, true}, {"principal", &r.Principal, false}} {
		value, n := member(raw, f.name)
		switch {
		case n > 1:
			return r, duplicateError(f.name)
		case n == 0 && f.required:
			return r, &ConfigError{Path: f.name, Reason: ReasonMissing, Detail: "the member is missing"}
		case n == 0:
			continue
		}
		s, err := text(value)
		if err != nil {
			return r, err.Under(f.name)
		}
		*f.dst = s
	}
	return r, nil
}

// list returns the elements of the array that object holds under name.
func list(object []byte, name string) ([]json.RawMessage, *ConfigError) {
	raw, n := member(object, name)
	switch {
	case n == 0:
		return nil, &ConfigError{Path: name, Reason: ReasonMissing, Detail: "the member is missing"}
	case n > 1:
		return nil, duplicateError(name)
	case raw[0] != '[':
		return nil, shapeError(name, "the value is not an array")
	}
	var items []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the bracket; raw was valid JSON, so nothing here fails
	for dec.More() {
		if len(items) == MaxViolationItems {
			return nil, limitError(name, MaxViolationItems, "the list is too long")
		}
		var item json.RawMessage
		_ = dec.Decode(&item)
		items = append(items, item)
	}
	return items, nil
}

// text returns the string that raw holds.
func text(raw []byte) (string, *ConfigError) {
	if raw[0] != '"' {
		return "", shapeError("", "the value is not a string")
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw is valid JSON and a string
	if len(s) > MaxViolationString {
		return "", limitError("", MaxViolationString, "the string is too long")
	}
	return s, nil
}

// member returns the value of the member of object with exactly this name, and
// how many there are: encoding/json would fold case and take the last (L8).
func member(object []byte, name string) (value json.RawMessage, n int) {
	dec := json.NewDecoder(bytes.NewReader(object))
	_, _ = dec.Token() // the brace; object is valid JSON, so nothing here fails
	for dec.More() {
		key, _ := dec.Token()
		var v json.RawMessage
		_ = dec.Decode(&v)
		if key == json.Token(name) {
			value = v
			n++
		}
	}
	return value, n
}

func index(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

func shapeError(path, detail string) *ConfigError {
	return &ConfigError{Path: path, Reason: ReasonType, Detail: detail}
}

func duplicateError(path string) *ConfigError {
	return &ConfigError{Path: path, Reason: ReasonDuplicate, Detail: "the member is there more than once"}
}

func limitError(path string, limit int, detail string) *ConfigError {
	return &ConfigError{Path: path, Reason: ReasonLimit, Detail: detail, Limit: limit}
}
