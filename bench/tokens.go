package bench

import (
	"slices"
	"strconv"
	"strings"
)

// byKind is a policy with its tokens sorted by what they are compared with, as the policy
// languages need it. self is the principal that it stands for.
type byKind struct{ assurances, principals, publishers []string }

func sortTokens(tokens []string) byKind {
	var k byKind
	for _, t := range tokens {
		uri, isPublisher := strings.CutPrefix(t, "publisher:")
		switch {
		case t == "self":
			k.principals = append(k.principals, ownURI)
		case slices.Contains(assurances, t):
			k.assurances = append(k.assurances, t)
		case isPublisher:
			k.publishers = append(k.publishers, uri)
		default:
			k.principals = append(k.principals, t)
		}
	}
	return k
}

// unverified reports whether the least assured are accepted.
func (k byKind) unverified() bool { return slices.Contains(k.assurances, leastAssured.assurance) }

// quoted lists strings as both policy languages write them.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}
