package policydecl

import (
	"strconv"

	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Contributor is one principal whose content was in the context that built a
// request. It is immutable and comparable. The zero value is an unverified
// contributor that withholds its principal: the synthetic one of rule L6.
type Contributor struct {
	assurance Assurance
	principal identity
	publisher identity
}

// identity is a principal or a publisher: the text and, only if it is usable, its
// canonical form. An unusable identity keeps its text escaped (L5), so that not
// even printing the struct puts raw bytes of a peer on a terminal (M3).
type identity struct {
	text      string // as sent if usable, else escaped and shortened
	canonical string // "" if not usable
}

// escapedBytes bounds what is kept of an unusable value before escaping.
const escapedBytes = 128

// identify classifies a string that a label gave as principal or publisher (L5, U4).
func identify(s string) identity {
	// The two constants of the draft are canonical and by far the commonest.
	if s == PrincipalUser || s == PrincipalHost {
		return identity{s, s}
	}
	if s != "" {
		if canonical, err := resourcematch.Canonical(s); err == nil {
			return identity{s, canonical}
		}
	}
	cut := ""
	if len(s) > escapedBytes {
		s, cut = s[:escapedBytes], "..."
	}
	return identity{text: strconv.QuoteToASCII(s) + cut}
}

// usable returns the text as sent, or "" if it is not usable.
func (id identity) usable() string {
	if id.canonical == "" {
		return ""
	}
	return id.text
}

// unusable returns the escaped text of a value that is not usable, else "".
func (id identity) unusable() string {
	if id.canonical != "" {
		return ""
	}
	return id.text
}

// NewContributor returns a contributor as a reader would see it: a principal or
// publisher that does not canonicalise is dropped for matching and kept, escaped,
// for the record (L5), and an assurance that names no state is [Unverified] (L4).
// An empty string withholds the principal or publisher.
func NewContributor(principal string, a Assurance, publisher string) Contributor {
	c := Contributor{assurance: a.known()}
	if principal != "" {
		c.principal = identify(principal)
	}
	if publisher != "" {
		c.publisher = identify(publisher)
	}
	return c
}

// Assurance returns the contributor's assurance state.
func (c Contributor) Assurance() Assurance { return c.assurance }

// Principal returns the principal as sent, or "" if it was withheld or unusable.
func (c Contributor) Principal() string { return c.principal.usable() }

// Publisher returns the publisher as sent, or "" if there was none or it was
// unusable.
func (c Contributor) Publisher() string { return c.publisher.usable() }

// CanonicalPrincipal returns the form of the principal that is compared (U1), or ""
// where [Contributor.Principal] is "".
func (c Contributor) CanonicalPrincipal() string { return c.principal.canonical }

// CanonicalPublisher returns the form of the publisher that is compared (U1), or ""
// where [Contributor.Publisher] is "".
func (c Contributor) CanonicalPublisher() string { return c.publisher.canonical }

// Unusable returns what was sent as principal and as publisher but cannot be used,
// for the record (L5). The texts are pure printable ASCII: a string is quoted,
// escaped and shortened, and a value of another JSON type is named as in "(number)".
// Each is "" if nothing unusable was sent.
func (c Contributor) Unusable() (principal, publisher string) {
	return c.principal.unusable(), c.publisher.unusable()
}

// String describes the contributor for people, in printable ASCII. It is not meant
// to be parsed, and it must not reach a model.
func (c Contributor) String() string {
	s := c.assurance.String()
	if c.principal.text != "" {
		s += " " + c.principal.text
	}
	if c.publisher.text != "" {
		s += " publisher " + c.publisher.text
	}
	return s
}

// same reports whether two contributors are one to an evaluator: the unusable
// values that are kept for the record do not count.
func (c Contributor) same(d Contributor) bool {
	return c.assurance == d.assurance && c.Principal() == d.Principal() && c.Publisher() == d.Publisher()
}
