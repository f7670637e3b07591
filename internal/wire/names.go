package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// AmbiguousError says which member of a message can be read in two ways.
type AmbiguousError struct {
	// Where is the place of the object, such as `params._meta`.
	Where string
	// Name is the member's name as sent, unescaped but for JSON.
	Name string
	// Detail says what is wrong with it.
	Detail string
}

// Error names the place, the name and the fault in printable ASCII of bounded
// length, whatever the peer sent.
func (e *AmbiguousError) Error() string {
	name := e.Name
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "..."
	}
	return fmt.Sprintf("ambiguous request: member %s of %s %s", strconv.QuoteToASCII(name), e.Where, e.Detail)
}

// names is the set of member names of one object: a bit for each protocol member,
// and a list of the others.
//
// Objects of a request have few members that are none of the protocol's, so the list is
// short until it grows; then it becomes a map, because a peer chooses how many members
// it sends.
type names struct {
	where string
	known []string // protocol members of this object, at most 32
	seen  uint32   // which of them were seen
	n     int
	odd   bool // a name that is not plain ASCII was seen
	few   [4][]byte
	many  map[string]struct{}
}

// add records a raw member name, quotes included. It returns the known member
// it is, or "" for another one, and an error for a name that makes the object
// ambiguous: one seen before, one that differs from a seen one by folding only,
// or one that is a known member by folding only.
func (s *names) add(raw []byte) (string, error) {
	body := raw[1 : len(raw)-1]
	if i := s.index(body); i >= 0 {
		return s.known[i], s.mark(i, body)
	}
	ascii := true
	if !plain(body) {
		body = unquote(body)
		ascii = plainBytes(body)
		if i := s.index(body); i >= 0 {
			return s.known[i], s.mark(i, body)
		}
	}
	for _, k := range s.known {
		if ascii && len(body) != len(k) {
			continue
		}
		if sameFolded(body, k) {
			return "", &AmbiguousError{Where: s.where, Name: string(body), Detail: "is a protocol member in another letter case"}
		}
	}
	s.odd = s.odd || !ascii
	return "", s.note(body)
}

// index returns the place of a name among the known ones, or -1.
func (s *names) index(body []byte) int {
	for i, k := range s.known {
		if string(body) == k {
			return i
		}
	}
	return -1
}

// mark records a known name. None of the others can be equal to it by folding: add
// refuses such a name.
func (s *names) mark(i int, body []byte) error {
	if s.seen&(1<<i) != 0 {
		return s.twice(body)
	}
	s.seen |= 1 << i
	return nil
}

// note records a name that is not known.
func (s *names) note(body []byte) error {
	if s.many == nil {
		for _, seen := range s.few[:s.n] {
			if !s.odd && len(seen) != len(body) {
				continue // plain names of different length are never equal
			}
			if foldedEqual(seen, body) {
				return s.twice(body)
			}
		}
		if s.n < len(s.few) {
			s.few[s.n] = body
			s.n++
			return nil
		}
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, seen := range s.few[:s.n] {
			s.many[string(fold(seen))] = struct{}{}
		}
	}
	key := string(fold(body))
	if _, ok := s.many[key]; ok {
		return s.twice(body)
	}
	s.many[key] = struct{}{}
	return nil
}

func (s *names) twice(body []byte) error {
	return &AmbiguousError{Where: s.where, Name: string(body), Detail: "appears twice, letter case aside"}
}

// plain reports whether the text between the quotes stands for itself: printable
// ASCII without escapes.
func plain(body []byte) bool {
	for _, c := range body {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sameFolded is foldedEqual for a known, plain name.
func sameFolded(body []byte, known string) bool {
	if plainBytes(body) {
		return len(body) == len(known) && strings.EqualFold(string(body), known)
	}
	return string(fold(body)) == string(fold([]byte(known)))
}

// foldedEqual reports whether encoding/json could take one name for the other.
func foldedEqual(a, b []byte) bool {
	if plainBytes(a) && plainBytes(b) {
		return len(a) == len(b) && bytes.EqualFold(a, b)
	}
	return bytes.Equal(fold(a), fold(b))
}

func plainBytes(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold maps every rune to the smallest of those that Unicode's simple folding
// makes equal, which is how encoding/json compares names.
func fold(name []byte) []byte {
	out := make([]byte, 0, len(name))
	for len(name) > 0 {
		r, n := utf8.DecodeRune(name)
		out = utf8.AppendRune(out, foldRune(r))
		name = name[n:]
	}
	return out
}

func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// unquote decodes the text between the quotes of a JSON string as encoding/json
// does: invalid UTF-8 and lone surrogates become U+FFFD.
func unquote(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == '\\' && i+1 < len(body):
			var n int
			out, n = unescape(out, body[i:])
			i += n
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(body[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return out
}

// unescape appends what the escape at the start of b stands for and returns its
// length. b holds at least the backslash and one byte.
func unescape(out, b []byte) ([]byte, int) {
	switch b[1] {
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
		r := hex4(b)
		if r < 0 {
			return utf8.AppendRune(out, utf8.RuneError), len(b)
		}
		if utf16.IsSurrogate(r) {
			if low := hex4(b[6:]); low >= 0 {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					return utf8.AppendRune(out, both), 12
				}
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(out, r), 6
	default: // '"', '\\', '/'
		return append(out, b[1]), 2
	}
}

// hex4 reads `\uXXXX` at the start of b, or returns -1.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}
