package resourcematch

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Kind says how the pattern of an [Entry] is read. The zero Kind is none of
// them, and [Compile] refuses it.
type Kind uint8

const (
	// Exact: the pattern is a URI.
	Exact Kind = iota + 1
	// Template: the pattern is a URI template after RFC 6570. {var} matches
	// any run without "/", {+var} any run at all; lists and modifiers change
	// nothing. {?var} and {#var} are ignored like query and fragment.
	Template
	// Prefix: the pattern is a URI that ends in "/" and governs everything
	// below it, and the same URI without that slash (R3).
	Prefix
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Exact:
		return "exact"
	case Template:
		return "template"
	case Prefix:
		return "prefix"
	}
	return "invalid"
}

// Entry is one pattern. Its value, as far as this package is concerned, is its
// index in the slice that [Compile] was given.
type Entry struct {
	// Kind says how Pattern is read. It is required.
	Kind Kind
	// Pattern is a URI, a URI template or a prefix, in any spelling of scheme, authority and
	// escapes.
	Pattern string

	// Path names the entry in errors, such as `resources["records://x"]`.
	// Empty, it is the entry's index, as in `[3]`.
	Path string
}

// path returns how errors name the entry, which is the i-th.
func (e Entry) path(i int) string {
	if e.Path != "" {
		return e.Path
	}
	return fmt.Sprintf("[%d]", i)
}

// Compile makes a [Matcher] of entries. It keeps nothing of the slice.
//
// The error joins one [*flowerrors.ConfigError] per mistake, whose path is that of
// the entry. A pattern must start with a scheme, be UTF-8
// without control characters, hold no invalid escape and be no longer than
// [MaxURI]; an Exact or Prefix pattern must hold no braces, a Prefix must end in
// "/", and the expressions of a Template must be of the supported kinds. Two
// entries of one kind that are equal but for what R1 ignores (query, fragment)
// and for what matches in either case (scheme, authority, escapes) are a mistake
// of the later one; of templates, the query expressions count.
func Compile(entries []Entry) (*Matcher, error) {
	m := &Matcher{root: &node{}, entries: len(entries), templates: make(map[string]int)}
	var errs []error
	first := make(map[Entry]int, len(entries))
	for i, e := range entries {
		key, fault := m.add(i, e)
		if fault == nil {
			if j, twice := first[key]; twice {
				fault = &flowerrors.ConfigError{
					Reason: flowerrors.ReasonDuplicate,
					Detail: fmt.Sprintf("the %s pattern says the same as %s", e.Kind, entries[j].path(j)),
					Hint:   "keep one of them",
				}
			} else {
				first[key] = i
			}
		}
		if fault != nil {
			fault.Path = e.path(i)
			fault.Value = e.Pattern
			errs = append(errs, fault)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return m, nil
}

// add inserts entry i and returns the key by which duplicates are found.
func (m *Matcher) add(i int, e Entry) (key Entry, fault *flowerrors.ConfigError) {
	if fault := checkPattern(e.Pattern); fault != nil {
		return key, fault
	}
	key = Entry{Kind: e.Kind, Pattern: foldCase(e.Pattern)}
	switch e.Kind {
	case Exact, Prefix:
		key.Pattern = dropQuery(key.Pattern)
		fault = m.addURI(i, e.Kind, e.Pattern)
	case Template:
		fault = m.addTemplate(i, e.Pattern)
		if fault == nil {
			m.templates[key.Pattern] = i
		}
	default:
		fault = &flowerrors.ConfigError{
			Reason: flowerrors.ReasonType,
			Detail: "the kind is none of exact, template and prefix",
		}
	}
	return key, fault
}

// addURI inserts an Exact or Prefix pattern under all its spellings.
func (m *Matcher) addURI(i int, kind Kind, pattern string) *flowerrors.ConfigError {
	if strings.ContainsAny(pattern, "{}") {
		return &flowerrors.ConfigError{
			Reason: flowerrors.ReasonNeverMatches,
			Detail: "an " + kind.String() + " pattern holds braces, which no URI does",
			Hint:   "declare it as a template, or write %7B and %7D",
		}
	}
	uri := dropQuery(pattern)
	if kind == Prefix && !strings.HasSuffix(uri, "/") && !strings.Contains(uri, "*") {
		return &flowerrors.ConfigError{
			Reason: flowerrors.ReasonNeverMatches,
			Detail: "a prefix must end at a segment boundary",
			Hint:   `end it in "/"`,
		}
	}
	if kind == Prefix && strings.Contains(uri, "*") {
		return &flowerrors.ConfigError{
			Reason: flowerrors.ReasonNeverMatches,
			Detail: "there are no wildcards; a prefix covers all that is below it",
			Hint:   `end it in the "/" before the asterisk, or write %2A if an asterisk is meant`,
		}
	}
	spellings, ok := closure(nil, uri, patternSteps)
	if !ok {
		return overBudget(uri)
	}
	for _, s := range spellings {
		for _, s := range withFold(s) {
			n := m.insert([]token{{lit: s}})
			if kind == Prefix && strings.HasSuffix(s, "/") {
				n.below = appendOnce(n.below, i)
			} else {
				n.end = appendOnce(n.end, i)
			}
		}
	}
	return nil
}

// withFold returns s, and its folded form if that differs.
func withFold(s string) []string {
	if f := foldCase(s); f != s {
		return []string{s, f}
	}
	return []string{s}
}

func appendOnce(list []int, i int) []int {
	// Entries are added one after the other, so i can only be the last.
	if n := len(list); n > 0 && list[n-1] == i {
		return list
	}
	return append(list, i)
}

// checkPattern checks what holds for every kind.
func checkPattern(p string) *flowerrors.ConfigError {
	fault := func(detail, hint string) *flowerrors.ConfigError {
		return &flowerrors.ConfigError{Reason: flowerrors.ReasonURI, Detail: detail, Hint: hint}
	}
	switch {
	case p == "":
		return &flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "the pattern is empty"}
	case len(p) > MaxURI:
		return &flowerrors.ConfigError{
			Reason: flowerrors.ReasonLimit,
			Detail: "the pattern is too long",
			Limit:  MaxURI,
		}
	case schemeEnd(p) < 0:
		return fault("the pattern does not start with a scheme", "start it with the scheme, as in records://")
	}
	for i, r := range p {
		switch {
		case r == utf8.RuneError:
			// A regular expression takes U+FFFD for any invalid byte, which a
			// comparison of bytes does not; so neither is let in.
			return fault("the pattern is not UTF-8, or holds U+FFFD", "")
		case r < ' ' || r == 0x7f:
			return fault("the pattern holds a control character", "escape it")
		case r == '%' && !isEscape(p, i):
			return fault("the pattern holds an invalid percent escape", `write "%25" for "%"`)
		}
	}
	return nil
}
