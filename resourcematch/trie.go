package resourcematch

import (
	"slices"
	"strings"
)

// node is a node of a trie over bytes in which an edge holds a run of them.
// Patterns share their common beginnings, wildcards included, so what a URI
// costs does not depend on how many patterns there are, but on how many of them
// it could still turn out to match (R4).
//
// A node is complete once its label was read. A wildcard is a node with an empty
// label that a URI may enter for nothing and stay in.
type node struct {
	label string
	first string  // first bytes of the labels of kids, in the same order
	kids  []*node // literal children
	some  *node   // child for anySegment
	all   *node   // child for anything

	wild wild // what this node is, if it is some or all of its parent
	mark int  // index in scratch.marks, if it is

	end   []int // entries that match if the URI ends here
	below []int // entries that match whatever follows
}

// insert returns the node for tokens, which it makes if there is none.
func (m *Matcher) insert(tokens []token) *node {
	n := m.root
	for _, t := range tokens {
		switch t.wild {
		case literal:
			n = n.descend(t.lit)
		case anySegment:
			n = m.wildcard(&n.some, t.wild)
		case anything:
			n = m.wildcard(&n.all, t.wild)
		}
	}
	return n
}

func (m *Matcher) wildcard(at **node, w wild) *node {
	if *at == nil {
		*at = &node{wild: w, mark: m.marks}
		m.marks++
	}
	return *at
}

// descend returns the node that is complete once s was read from n.
func (n *node) descend(s string) *node {
	for s != "" {
		i := strings.IndexByte(n.first, s[0])
		if i < 0 {
			kid := &node{label: s}
			n.first += s[:1]
			n.kids = append(n.kids, kid)
			return kid
		}
		kid := n.kids[i]
		k := commonPrefix(kid.label, s)
		if k < len(kid.label) {
			upper := &node{label: kid.label[:k], first: kid.label[k : k+1], kids: []*node{kid}}
			kid.label = kid.label[k:]
			n.kids[i] = upper
			kid = upper
		}
		n, s = kid, s[k:]
	}
	return n
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// state is a place in the trie: off bytes of the label of n were read.
type state struct {
	n   *node
	off int
}

// scratch is the memory of one match. It is reused, so that an ordinary URI
// costs no allocation.
type scratch struct {
	cur, next []state
	stamp     uint64   // counts steps, so that marks need not be cleared
	marks     []uint64 // per wildcard node: the step in which it was entered
	round     uint64   // counts matches, so that seen need not be cleared
	seen      []uint64 // per entry: the round in which it was reported
	work      int      // counts the places that were looked at, for tests
	out       []int
	readings  []string
	hit       bool // something was found in this walk
}

// walk reports to sc every entry that matches s up to its end, or up to any "?"
// or "#" in it: a query is ignored, and {+var} may have swallowed one before
// (R1). It is linear in s (R4): a place is in cur at most once.
func (m *Matcher) walk(sc *scratch, s string) (found bool) {
	sc.hit = false
	sc.stamp++
	cur, next := sc.enter(sc.cur[:0], m.root), sc.next[:0]
	for i := 0; i < len(s) && len(cur) > 0; i++ {
		sc.stamp++
		sc.work += len(cur)
		if len(cur) == 1 && cur[0].off < len(cur[0].n.label) {
			// Only one way on, through a literal: take it in one step.
			n, rest := cur[0].n, cur[0].n.label[cur[0].off:]
			cur = cur[:0]
			if strings.HasPrefix(s[i:], rest) {
				i += len(rest) - 1
				cur = sc.enter(cur, n)
			}
			continue
		}
		if s[i] == '?' || s[i] == '#' {
			sc.reportEnds(cur)
		}
		next = sc.advance(next[:0], cur, s[i])
		cur, next = next, cur
	}
	sc.reportEnds(cur)
	sc.cur, sc.next = cur, next
	return sc.hit
}

// advance appends to next the places that are reached from cur by reading c.
func (sc *scratch) advance(next, cur []state, c byte) []state {
	for _, at := range cur {
		n := at.n
		if at.off < len(n.label) {
			if n.label[at.off] == c {
				next = sc.move(next, n, at.off+1)
			}
			continue
		}
		if i := strings.IndexByte(n.first, c); i >= 0 {
			next = sc.move(next, n.kids[i], 1)
		}
		if n.wild == anything || (n.wild == anySegment && c != '/') {
			next = sc.enter(next, n)
		}
	}
	return next
}

func (sc *scratch) move(dst []state, n *node, off int) []state {
	if off == len(n.label) {
		return sc.enter(dst, n)
	}
	return append(dst, state{n, off})
}

// enter appends the complete place n and what can be entered from it for
// nothing. A wildcard can be reached in two ways, by staying and from its
// parent; all other places have one. Wildcards do not follow each other, so
// the recursion is two deep at most.
func (sc *scratch) enter(dst []state, n *node) []state {
	if n.wild != literal {
		if sc.marks[n.mark] == sc.stamp {
			return dst
		}
		sc.marks[n.mark] = sc.stamp
	}
	dst = append(dst, state{n, len(n.label)})
	sc.report(n.below)
	if n.some != nil {
		dst = sc.enter(dst, n.some)
	}
	if n.all != nil {
		dst = sc.enter(dst, n.all)
	}
	return dst
}

func (sc *scratch) reportEnds(at []state) {
	for _, st := range at {
		if st.off == len(st.n.label) {
			sc.report(st.n.end)
		}
	}
}

func (sc *scratch) report(entries []int) {
	for _, e := range entries {
		sc.hit = true
		if sc.seen[e] != sc.round {
			sc.seen[e] = sc.round
			sc.out = append(sc.out, e)
		}
	}
}

// sorted returns what was reported, in ascending order.
func (sc *scratch) sorted() []int {
	slices.Sort(sc.out)
	return sc.out
}
