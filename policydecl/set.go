package policydecl

import (
	"errors"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Set is a server's compiled flow policy. It is immutable and safe for concurrent use;
// a server whose policy changes compiles a new one and swaps it whole.
//
// A nil Set and the zero Set refuse everything: they know no policy, and none is
// not a reason to accept (P9).
type Set struct {
	config   Config
	uri      string // own URI, canonical; "" only in a Set that Compile did not make
	def      Policy
	tools    map[string]Policy
	prompts  map[string]Policy
	patterns *resourcematch.Matcher
	policies []Policy // by index of patterns
	declared []int    // by index of patterns: index of the declaration
	matchers map[string]Matcher
	budget   time.Duration
}

// errNoSet is why a Set that Compile did not make refuses.
var errNoSet = errors.New("policydecl: no compiled policy set")

// made reports whether s came from Compile.
func (s *Set) made() bool { return s != nil && s.uri != "" }

// URI returns the recipient's own URI in canonical form (P2), or "" if s was not made by
// [Compile].
func (s *Set) URI() string {
	if s == nil {
		return ""
	}
	return s.uri
}

// Default returns the server's default policy (P4). It is never absent: a Set that was
// not made by [Compile] gives one that accepts nothing.
func (s *Set) Default() Policy {
	if !s.made() {
		return AcceptFrom()
	}
	return s.def
}

// Config returns what s was compiled from, as a copy the caller owns. Compiling
// it again gives a Set that decides the same.
func (s *Set) Config() Config {
	if s == nil {
		return Config{}
	}
	return s.config.clone()
}

// Tool returns the policy declared for the tool of that name, and whether there is a
// declaration. Without one, and for an absent policy, the default applies (P5);
// [Set.Decide] sees to the latter.
func (s *Set) Tool(name string) (Policy, bool) {
	if s == nil {
		return Policy{}, false
	}
	p, ok := s.tools[name]
	return p, ok
}

// Prompt returns what [Set.Tool] does, for a prompt.
func (s *Set) Prompt(name string) (Policy, bool) {
	if s == nil {
		return Policy{}, false
	}
	p, ok := s.prompts[name]
	return p, ok
}

// Resource appends to dst the policies that govern uri, each once: those of every
// declaration that any reading of uri matches, in the order they were declared, and the
// default last if some reading matches none (R2, R4). All of them must accept. The
// error, for a URI that is too long or cannot be read, means refuse; without one
// at least one policy has been appended.
func (s *Set) Resource(dst []Policy, uri string) ([]Policy, error) {
	if !s.made() {
		return dst, errNoSet
	}
	var buf [8]int
	matches, bare, err := s.patterns.Match(buf[:0], uri)
	return s.govern(dst, matches, bare, err)
}

// ResourceTemplate does what [Set.Resource] does for the text of a resource template, which
// a completion request can name in place of a URI.
func (s *Set) ResourceTemplate(dst []Policy, text string) ([]Policy, error) {
	if !s.made() {
		return dst, errNoSet
	}
	var buf [8]int
	matches, bare, err := s.patterns.MatchTemplate(buf[:0], text)
	return s.govern(dst, matches, bare, err)
}

// govern appends the policies of what was matched.
func (s *Set) govern(dst []Policy, matches []int, bare bool, err error) ([]Policy, error) {
	start := len(dst)
	dst, bare, err = s.matched(dst, matches, bare, err)
	if err == nil && bare {
		dst = appendOnce(dst, start, s.def)
	}
	return dst, err
}

// onceWindow bounds how many policies appendOnce compares with, so that a URI which
// very many declarations match costs no more than linear time. A policy that is listed
// twice changes no verdict.
const onceWindow = 16

// appendOnce appends p unless it is among the last few since start.
func appendOnce(dst []Policy, start int, p Policy) []Policy {
	for _, q := range dst[max(start, len(dst)-onceWindow):] {
		if p == q {
			return dst
		}
	}
	return append(dst, p)
}

// Check reports the mistakes (P6) of a policy that arrives after [Compile], such as one on
// a session's tool: those of [Policy.Err], and vendor tokens that no registered matcher
// decides, which can never match here (P3). An absent policy has none.
func (s *Set) Check(p Policy) error {
	if p.IsZero() {
		return nil
	}
	var faults faultList
	faults.addAll("", p.Err())
	for _, v := range p.rules.vendor {
		if s != nil && s.matchers[v.prefix] != nil {
			continue
		}
		faults.add(&flowerrors.ConfigError{
			Path: tokenPath(v.index), Value: v.text, Reason: flowerrors.ReasonNeverMatches,
			Detail: "no matcher is registered for this prefix", Hint: "register a Matcher for it, or add the scheme if a URI is meant",
		})
	}
	return faults.join()
}
