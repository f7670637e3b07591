package flowerrors

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ConfigError is one mistake in a configuration or a declaration.
//
// Error describes it for people. Programs use the fields; Path, Value, Reason
// and Limit are API, while the wording of Detail, Hint and Error may change.
type ConfigError struct {
	// Path leads from the root of what was configured to the mistake, as in
	// `tools["export"].acceptFrom[1]`. It is empty if the mistake is the root.
	Path string
	// Value is the offending value as written, unescaped and whole. It is
	// empty if there is none.
	Value string
	// Reason classifies the mistake.
	Reason Reason
	// Detail says what is wrong.
	Detail string
	// Hint says what to write instead. It may be empty.
	Hint string
	// Limit is the limit that was exceeded, where Reason is [ReasonLimit].
	Limit int
}

// Longest parts of an error text, in bytes before escaping. A mistake in a
// generated configuration must not fill a log with the configuration.
const (
	maxShownValue = 96
	maxShownText  = 512
)

// Error names the field, the reason, the value and the way out, on one line of
// printable ASCII whatever the fields hold (M3).
func (e *ConfigError) Error() string {
	if e == nil {
		return "<nil>"
	}
	b := make([]byte, 0, 160)
	if e.Path != "" {
		b = appendPlain(b, e.Path)
		b = append(b, ": "...)
	}
	if e.Reason != "" {
		b = appendPlain(b, string(e.Reason))
	} else {
		b = append(b, "invalid"...)
	}
	if e.Value != "" {
		b = append(b, ": "...)
		b = appendQuoted(b, e.Value)
	}
	if e.Detail != "" {
		b = append(b, ": "...)
		b = appendPlain(b, e.Detail)
	}
	if e.Reason == ReasonLimit {
		b = append(b, " (limit "...)
		b = strconv.AppendInt(b, int64(e.Limit), 10)
		b = append(b, ')')
	}
	if e.Hint != "" {
		b = append(b, "; "...)
		b = appendPlain(b, e.Hint)
	}
	return string(b)
}

// Under returns a copy of e that lies below prefix: `acceptFrom[1]` under
// `tools["export"]` is `tools["export"].acceptFrom[1]`. A path that starts with
// "[" is joined without a dot, an empty path becomes the prefix itself, and an
// empty prefix changes nothing.
func (e *ConfigError) Under(prefix string) *ConfigError {
	if e == nil {
		return nil
	}
	c := *e
	switch {
	case prefix == "":
	case c.Path == "":
		c.Path = prefix
	case strings.HasPrefix(c.Path, "["):
		c.Path = prefix + c.Path
	default:
		c.Path = prefix + "." + c.Path
	}
	return &c
}

// All iterates over every [ConfigError] in err, in the order in which they were
// joined. It looks through [errors.Join], through any other error that unwraps
// to several, and through chains of wrapped errors. Other errors are skipped,
// so an iteration that yields nothing does not mean that err is nil.
func All(err error) iter.Seq[*ConfigError] {
	return func(yield func(*ConfigError) bool) {
		walk(err, yield)
	}
}

// walk reports false once yield asked to stop.
func walk(err error, yield func(*ConfigError) bool) bool {
	if e, ok := err.(*ConfigError); ok {
		return e == nil || yield(e)
	}
	switch u := err.(type) {
	case interface{ Unwrap() []error }:
		for _, child := range u.Unwrap() {
			if !walk(child, yield) {
				return false
			}
		}
	case interface{ Unwrap() error }:
		return walk(u.Unwrap(), yield)
	}
	return true
}

// appendQuoted appends s in quotes, as ASCII, shortened to maxShownValue.
func appendQuoted(b []byte, s string) []byte {
	cut := shorten(s, maxShownValue)
	b = strconv.AppendQuoteToASCII(b, cut)
	if len(cut) < len(s) {
		b = appendRest(b, len(s)-len(cut))
	}
	return b
}

// appendPlain appends s without quotes, with everything but printable ASCII
// escaped. Quotes and backslashes stay, so that a path reads as it was built.
func appendPlain(b []byte, s string) []byte {
	cut := shorten(s, maxShownText)
	for i := 0; i < len(cut); {
		if c := cut[i]; ' ' <= c && c <= '~' {
			b = append(b, c)
			i++
			continue
		}
		_, n := utf8.DecodeRuneInString(cut[i:])
		q := strconv.AppendQuoteToASCII(nil, cut[i:i+n])
		b = append(b, q[1:len(q)-1]...)
		i += n
	}
	if len(cut) < len(s) {
		b = appendRest(b, len(s)-len(cut))
	}
	return b
}

func appendRest(b []byte, n int) []byte {
	b = append(b, "...(+"...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, " bytes)"...)
}

// shorten cuts s to at most n bytes without cutting a character in two.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); i++ {
		n--
	}
	return s[:n]
}
