package resourcematch

import (
	"strings"
	"sync"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Matcher finds the patterns that govern a URI. It is made by [Compile], never
// changes, and is safe for concurrent use. A nil or zero Matcher has no
// patterns: everything is bare.
type Matcher struct {
	root      *node
	marks     int            // number of wildcard nodes
	entries   int            // number of entries
	templates map[string]int // folded text of a template to its entry
	scratch   sync.Pool      // of *scratch
}

// Match appends to dst the indexes of all entries that any reading of uri
// matches (R2), ascending and each once.
//
// bare is true if at least one reading matched nothing: then the default
// policy governs too, beside the policies of the matches (R4).
//
// The error is a [*flowerrors.ConfigError] with [flowerrors.ReasonLimit]: uri is
// longer than [MaxURI], or has more readings than the budget allows. It then
// matches nothing, is bare, and must be refused.
//
// Match does not allocate for an ordinary URI if dst has room.
func (m *Matcher) Match(dst []int, uri string) (matches []int, bare bool, err error) {
	return m.match(dst, uri, "", -1)
}

// MatchTemplate is [Matcher.Match] for text that may be the text of a template
// instead of a URI, as in completion/complete. It reports the Template entry
// whose pattern is that very text, and whatever the text matches if it is taken
// for a URI, so that neither spelling escapes. A query expression such as
// {?name} is ignored like a query.
//
// bare is false if the text is that of a Template entry; otherwise it is as for
// a URI.
func (m *Matcher) MatchTemplate(dst []int, template string) (matches []int, bare bool, err error) {
	same, short := -1, ""
	if m != nil && len(template) <= MaxURI {
		if e, ok := m.templates[foldCase(template)]; ok {
			same = e
		}
	}
	if i := queryExpression(template); i >= 0 {
		short = template[:i]
	}
	return m.match(dst, template, short, same)
}

// queryExpression returns the index of the first expression of text that is
// ignored like a query, or -1.
func queryExpression(text string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(text[i:], '{')
		if n < 0 || i+n+1 == len(text) {
			return -1
		}
		i += n
		if c := text[i+1]; c == '?' || c == '#' || c == '&' {
			return i
		}
	}
}

// match matches uri, and short if that is not empty: then short is what governs
// and uri only adds to it. same is an entry that is known to match, or -1.
func (m *Matcher) match(dst []int, uri, short string, same int) (matches []int, bare bool, err error) {
	if len(uri) > MaxURI {
		return dst, true, &flowerrors.ConfigError{
			Value:  uri,
			Reason: flowerrors.ReasonLimit,
			Detail: "the URI is too long",
			Limit:  MaxURI,
		}
	}
	if m == nil || m.root == nil {
		return dst, true, nil
	}
	sc := m.borrow()
	defer m.giveBack(sc)
	bare, err = m.readAll(sc, uri)
	if err == nil && short != "" {
		bare, err = m.readAll(sc, short)
	}
	if err != nil {
		return dst, true, err
	}
	if same >= 0 {
		sc.report([]int{same})
		bare = false
	}
	return append(dst, sc.sorted()...), bare, nil
}

// readAll walks every reading of uri, and reports whether one of them matched
// nothing. A reading and its folded form count as one.
func (m *Matcher) readAll(sc *scratch, uri string) (bare bool, err error) {
	if isOrdinary(uri) {
		sc.readings = append(sc.readings[:0], uri)
	} else {
		var ok bool
		if sc.readings, ok = closure(sc.readings[:0], uri, uriSteps); !ok {
			return true, overBudget(uri)
		}
	}
	for _, s := range sc.readings {
		found := m.walk(sc, s)
		if f := foldCase(s); f != s {
			found = m.walk(sc, f) || found
		}
		bare = bare || !found
	}
	return bare, nil
}

func (m *Matcher) borrow() *scratch {
	sc, ok := m.scratch.Get().(*scratch)
	if !ok {
		sc = &scratch{marks: make([]uint64, m.marks), seen: make([]uint64, m.entries)}
	}
	sc.round++
	sc.out = sc.out[:0]
	return sc
}

// giveBack keeps the memory but none of the strings of the sender.
func (m *Matcher) giveBack(sc *scratch) {
	clear(sc.readings[:cap(sc.readings)])
	m.scratch.Put(sc)
}
