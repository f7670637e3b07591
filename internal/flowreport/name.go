package flowreport

import (
	"cmp"

	"github.com/flowgate-mcp/flowgate/decision"
)

// Name is a name from a record, in printable ASCII of bounded length, or stands for all
// that are not told apart.
type Name struct {
	Text   string
	Others bool
}

// others is the name of what is not told apart.
var others = Name{Others: true}

// String returns the name, and "(others)" where it stands for several.
func (n Name) String() string {
	if n.Others {
		return "(others)"
	}
	return n.Text
}

// compareNames sorts by text, with the others last.
func compareNames(a, b Name) int {
	if a.Others != b.Others {
		if a.Others {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.Text, b.Text)
}

// How many names of each kind are told apart.
const (
	maxServers      = 20
	maxMethods      = 50
	maxTargets      = 1000 // that are the server's own words
	maxUnregistered = 100  // that are the peer's
	maxClients      = 200
	maxPrincipals   = 1000
	maxReasons      = 50
	maxDigests      = 200
	maxCells        = 20_000 // combinations of all of these
)

// names tells a bounded number of names apart.
type names struct {
	kind string
	max  int
	seen map[string]struct{}
	full bool // there was one too many
}

func newNames(kind string, max int) *names {
	return &names{kind: kind, max: max, seen: make(map[string]struct{})}
}

func (n *names) name(s string) Name {
	s = decision.Shown(s)
	if _, ok := n.seen[s]; ok {
		return Name{Text: s}
	}
	if len(n.seen) >= n.max {
		n.full = true
		return others
	}
	n.seen[s] = struct{}{}
	return Name{Text: s}
}
