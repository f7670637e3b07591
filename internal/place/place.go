// Package place names where a value lies in a JSON text, or in one of the same shape: as a
// JSON Pointer for machines, and as the Path of a mistake for people, as in
// tools["export"].acceptFrom[1]. It knows nothing but strings.
//
// A caller says for each step whether it leads into an object or an array: no place looks
// at a value. Texts show names from a peer in printable ASCII, but whole, and pointers show
// them as they are; a caller bounds how many and how long they are, and lets no pointer
// reach a log or a terminal raw (M3). Whoever takes a path apart that is made here does it
// with [Cut].
package place

import (
	"strconv"
	"strings"
)

// Place is where a value lies: the names and indices that lead to it from the root, which
// is nil. It never changes, and shares what leads to it with its neighbours, so that walking
// costs next to nothing until something is wrong.
type Place struct {
	parent *Place
	name   string
	index  int // of an element of an array; name is empty then
	array  bool
}

// Member returns the place of a member of the object at p.
func (p *Place) Member(name string) *Place { return &Place{parent: p, name: name} }

// Element returns the place of an element of the array at p, counted from 0.
func (p *Place) Element(i int) *Place { return &Place{parent: p, index: i, array: true} }

// steps returns the places from the root to p, without the root.
func (p *Place) steps() []*Place {
	n := 0
	for q := p; q != nil; q = q.parent {
		n++
	}
	steps := make([]*Place, n)
	for q := p; q != nil; q = q.parent {
		n--
		steps[n] = q
	}
	return steps
}

// Pointer returns p as a JSON Pointer (RFC 6901); that of the root is empty.
func (p *Place) Pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		b.WriteByte('/')
		if s.array {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.name))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Path returns p as the Path of a mistake; that of the root is empty. Names stand in it as
// [Name] writes them.
func (p *Place) Path() string { return p.PathUnder(func(string) bool { return false }) }

// PathUnder is [Place.Path] for a text in whose sections somebody else chose the names, and
// always quotes those, so that all of them look alike. isSection is asked about the names of
// the root's members.
func (p *Place) PathUnder(isSection func(name string) bool) string {
	var b strings.Builder
	steps := p.steps()
	for i, s := range steps {
		var step string
		switch {
		case s.array:
			step = "[" + strconv.Itoa(s.index) + "]"
		case i == 1 && !steps[0].array && isSection(steps[0].name):
			step = quoted(s.name)
		default:
			step = Name(s.name)
		}
		if b.Len() > 0 && step[0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// Keyed returns the path of a member of a section in which somebody else chose the names, as
// in tools["export"]: the name of the section is plain, and that of the member quoted whatever
// it is.
func Keyed(section, name string) string { return section + quoted(name) }

// Name returns the path of a member of the root: its name if that is of ASCII letters,
// digits and underscores, else the name in quotes and brackets.
func Name(name string) string {
	if isPlain(name) {
		return name
	}
	return quoted(name)
}

func quoted(name string) string { return "[" + strconv.QuoteToASCII(name) + "]" }

func isPlain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return name != ""
}

// Cut reads how a path goes on, as the paths of this package do: with a name, and then index
// is negative, or with an index. length is how many bytes were read, the dot before a name
// included; it is 0 where no step can be read.
func Cut(path string) (name string, index, length int) {
	if strings.HasPrefix(path, "[") {
		return cutBrackets(path)
	}
	name = strings.TrimPrefix(path, ".")
	dots := len(path) - len(name)
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	return name, -1, dots + len(name)
}

// cutBrackets is [Cut] for a path that begins with a bracket.
func cutBrackets(path string) (name string, index, length int) {
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil && strings.HasPrefix(path[1+len(quoted):], "]") {
		name, _ = strconv.Unquote(quoted)
		return name, -1, len("[]") + len(quoted)
	}
	inside, _, ok := strings.Cut(path[1:], "]")
	if index, err := strconv.Atoi(inside); ok && err == nil && index >= 0 {
		return "", index, len("[]") + len(inside)
	}
	return "", -1, 0
}
