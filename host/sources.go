package host

import (
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Sources says whose content a text is made of: the contributors of the draft, and whether
// they are all. It is immutable and safe for concurrent use.
//
// Keep the Sources of a text for as long as the text itself. Whatever is derived from it
// has them too: a summary, a translation, an answer of the model (H1). Nothing takes a
// contributor out again.
//
// The zero Sources are those of a text that nobody knows anything about: not complete,
// which a recipient reads as unverified.
type Sources struct {
	list     []policydecl.Contributor // by first appearance, each principal once
	complete bool

	// verified are the canonical principals that were ever verified servers. Lowering their
	// assurance must not lower the ceiling (H6).
	verified []string
}

// UserInput returns the sources of what the end user has supplied.
func UserInput() Sources {
	return of(policydecl.NewContributor(policydecl.PrincipalUser, policydecl.User, ""))
}

// HostText returns the sources of what the host application itself has made, such as
// a system prompt. A text with anything of a server in it is none (H1).
func HostText() Sources {
	return of(policydecl.NewContributor(policydecl.PrincipalHost, policydecl.Host, ""))
}

// Nothing returns the sources of an empty text. They add nothing to others.
func Nothing() Sources { return Sources{complete: true} }

func of(c policydecl.Contributor) Sources {
	s := Sources{list: []policydecl.Contributor{c}, complete: true}
	if c.Assurance() == policydecl.Verified {
		s.verified = []string{c.CanonicalPrincipal()}
	}
	return s
}

// And returns the sources of a text that is made of both. A principal that is in both
// keeps the lower assurance (H1).
func (s Sources) And(others ...Sources) Sources {
	out := Sources{list: slices.Clone(s.list), complete: s.complete, verified: slices.Clone(s.verified)}
	for _, o := range others {
		out.complete = out.complete && o.complete
		for _, c := range o.list {
			out.enter(c)
		}
		for _, principal := range o.verified {
			if !slices.Contains(out.verified, principal) {
				out.verified = append(out.verified, principal)
			}
		}
	}
	return out
}

// enter adds one contributor to a list that nobody else has.
func (s *Sources) enter(c policydecl.Contributor) {
	for i, known := range s.list {
		if known.CanonicalPrincipal() == c.CanonicalPrincipal() {
			s.list[i] = lower(known, c)
			return
		}
	}
	s.list = append(s.list, c)
}

// lower returns what is certain of a principal of which two things are said: the
// lower assurance, and a publisher only if both name it.
func lower(a, b policydecl.Contributor) policydecl.Contributor {
	publisher := a.Publisher()
	if a.CanonicalPublisher() != b.CanonicalPublisher() {
		publisher = ""
	}
	return policydecl.NewContributor(a.Principal(), min(a.Assurance(), b.Assurance()), publisher)
}

// Complete reports whether the sources are known to be all.
func (s Sources) Complete() bool { return s.complete }

// Contributors returns the contributors in the order in which they first appeared. The
// caller owns the slice.
func (s Sources) Contributors() []policydecl.Contributor { return slices.Clone(s.list) }

// Label returns the label of a request that is built from a text of these sources (H3).
// With private it names assurance states only (H4). So it does if there are more
// contributors than a label can list: that is true too, and stricter.
func (s Sources) Label(private bool) policydecl.Label {
	list := s.list
	if len(list) == 0 {
		// Something that nobody contributed to is something that nobody has looked at.
		return policydecl.BuildLabel(false, policydecl.Contributor{})
	}
	if !private {
		l := policydecl.BuildLabel(s.complete, list...)
		if l.Class() != policydecl.ClassMalformed {
			return l
		}
	}
	var states []policydecl.Contributor
	for _, c := range list {
		if c = policydecl.NewContributor("", c.Assurance(), ""); !slices.Contains(states, c) {
			states = append(states, c)
		}
	}
	return policydecl.BuildLabel(s.complete, states...)
}
