package flowerrors

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Constants of the protocol.
const (
	// Message is the message of every refusal, the same for all (X2).
	Message = "Request rejected by flow policy"
	// ModelText is all that a model may be told about a refusal (H7).
	ModelText = "The call was not permitted."
	// ViolationKey is the member of error.data by which peers recognise a
	// refusal (X2).
	ViolationKey = "io.modelcontextprotocol/flowPolicyViolation"
	// DefaultCode is the code of a refusal unless configured otherwise (X3).
	DefaultCode = 403
)

// Detail says how much of a violation the peer is shown (X4). A value that is
// none of the constants shows as little as [DetailKeyOnly].
type Detail uint8

const (
	// DetailFull shows the rejected contributors and the accepted tokens.
	DetailFull Detail = iota
	// DetailNoPrincipals shows the same without naming principals.
	DetailNoPrincipals
	// DetailKeyOnly shows that a policy refused, and empty lists.
	DetailKeyOnly
)

// Rejected is one contributor that the policy does not accept.
type Rejected struct {
	// Assurance is the state that the contributor was judged by.
	Assurance string `json:"assurance"`
	// Principal is the principal as sent, or empty if the label gave no usable
	// one (L5).
	Principal string `json:"principal,omitempty"`
}

// Violation is a refusal by a flow policy: the contributors that matched no
// token, in label order, and the tokens of the policy as written. It is an
// error whose text is the constant [Message], so printing it gives nothing away.
type Violation struct {
	// Rejected are the contributors, equal ones once. One that was read from the wire
	// has what the peer wrote, in its order. nil and empty are written alike.
	Rejected []Rejected
	// AcceptFrom are the tokens of the policy. Empty, it accepts nobody, or the refusal
	// does not say whom (X4). nil and empty are written alike.
	AcceptFrom []string
}

// Error returns [Message].
func (v *Violation) Error() string { return Message }

// Clone returns a copy that shares no memory with v. It returns nil for nil.
func (v *Violation) Clone() *Violation {
	if v == nil {
		return nil
	}
	return &Violation{Rejected: slices.Clone(v.Rejected), AcceptFrom: slices.Clone(v.AcceptFrom)}
}

// AppendError appends the error member of a JSON-RPC response to dst: compact,
// with the members code, message and data in this order, and both lists always
// arrays (X2). A code of 0 stands for [DefaultCode]. Whatever the strings hold,
// the result is valid UTF-8 JSON on one line; "<", ">" and "&" are not escaped.
//
// A nil v is written as a violation with empty lists.
func (v *Violation) AppendError(dst []byte, code int, d Detail) []byte {
	if code == 0 {
		code = DefaultCode
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":"`+Message+`","data":{"`+ViolationKey+`":{"rejected":[`...)
	if v != nil && d <= DetailNoPrincipals {
		dst = v.appendRejected(dst, d)
	}
	dst = append(dst, `],"acceptFrom":[`...)
	if v != nil && d <= DetailNoPrincipals {
		for i, token := range v.AcceptFrom {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, token)
		}
	}
	return append(dst, `]}}}`...)
}

func (v *Violation) appendRejected(dst []byte, d Detail) []byte {
	// Without principals only the assurance is left, and there are five of
	// them, so looking back at what was written stays short.
	var shown []string
	for _, r := range v.Rejected {
		if d == DetailNoPrincipals {
			if slices.Contains(shown, r.Assurance) {
				continue
			}
			shown = append(shown, r.Assurance)
			r.Principal = ""
		}
		if dst[len(dst)-1] == '}' {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"assurance":`...)
		dst = appendString(dst, r.Assurance)
		if r.Principal != "" {
			dst = append(dst, `,"principal":`...)
			dst = appendString(dst, r.Principal)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendString appends s as a JSON string. Control characters and the line
// separators U+2028 and U+2029 are escaped, because some readers split lines at
// them (cases 46 and 57); bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			if c == '"' || c == '\\' {
				dst = append(dst, '\\', c)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || isLineBreak(r) {
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			start = i + n
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func isLineBreak(r rune) bool { return r == '\u0085' || r == '\u2028' || r == '\u2029' }
