package policydecl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// digestBytes is how much of a SHA-256 sum a digest shows: enough to tell policies apart
// that somebody wrote, and short enough for a log line.
const digestBytes = 8

// Digest returns a short text that is the same for policies which accept the same, in
// any order and spelling of their tokens, and different for others (M2):
// "sha256:" and 16 hexadecimal digits. It is for comparing records of several servers; it
// is too short to be proof against somebody who looks for two policies with one digest.
//
// The digest of the absent policy is "". One with mistakes has the digest of what it
// lists.
func (p Policy) Digest() string {
	if p.rules == nil {
		return ""
	}
	return p.rules.digest()
}

// digests keeps what was computed, because a policy that refuses is asked for its digest
// again and again. It lives as long as the rules it belongs to.
type digestOnce struct {
	once sync.Once
	text string
}

func (r *rules) digest() string {
	r.sum.once.Do(func() {
		canonical := make([]string, 0, len(r.tokens))
		for _, text := range r.tokens {
			canonical = append(canonical, strconv.Quote(canonicalToken(text)))
		}
		slices.Sort(canonical)
		r.sum.text = DigestOf(strings.Join(slices.Compact(canonical), ","))
	})
	return r.sum.text
}

// Beyond returns the tokens of p, as written, that q does not list: what somebody who
// replaces q by p would accept in addition. Spellings of one URI count as one. An absent
// q lists nothing, so what it stands for has to be put in its place by the caller; an
// absent p has no tokens. The caller owns the result.
//
// Without such tokens p accepts nothing that q refuses (P8). The reverse does not hold:
// the token of one principal goes beyond a list of assurance states, although each of its
// contributors may have one of them.
func (p Policy) Beyond(q Policy) []string {
	if p.rules == nil {
		return nil
	}
	listed := make(map[string]bool)
	if q.rules != nil {
		for _, text := range q.rules.tokens {
			listed[canonicalToken(text)] = true
		}
	}
	var beyond []string
	for _, text := range p.rules.tokens {
		if !listed[canonicalToken(text)] {
			beyond = append(beyond, text)
		}
	}
	return beyond
}

// canonicalToken returns a text that equal tokens share (U4).
func canonicalToken(text string) string {
	t, fault := parseToken(text)
	switch {
	case fault != nil || t.key == "" || t.kind == kindVendor:
		return text
	case t.kind == kindPublisher:
		return publisherPrefix + t.key
	}
	return t.key
}

// DigestOf returns the digest of a text, in the form of [Policy.Digest]. Gates name by it what
// their records compare and do not show, such as a session or the whole of a configuration
// (M2). It hides no text that somebody could guess.
func DigestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:digestBytes])
}
