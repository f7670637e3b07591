package resourcematch

import (
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// MaxURI is the length in bytes of the longest resource URI that is matched
// (R4), and of the longest pattern.
const MaxURI = 8 << 10

// Budgets of the closure (R2). Every layer of encoding, separators and dot
// segments multiplies the readings, so a sender could buy a lot of work with few
// bytes. A URI over budget is refused. A URI that is odd in every way at once,
// but encoded only once, stays below.
const (
	maxReadings     = 256
	maxReadingBytes = 256 << 10
)

// step turns one reading into another, or returns it as it is.
type step func(string) string

// uriSteps are the steps of R1 and R2 for what a request names. They run on
// strings as sent: letter case is left to [foldCase].
var uriSteps = []step{
	decode, decodeHarmless,
	resolveDots, resolveAllDots,
	collapseSlashes, trimRoot, trimSlashes, dropParams, turnBackslashes,
	dropQuery, dropFragment,
	dropFileAuthority, enterFileAuthority,
}

// patternSteps are those that say the same thing in other words. The others
// drop something, and a policy for "c;v=1" is none for "c". So a URI that
// is spelled like the pattern finds it on every reading that drops nothing.
var patternSteps = []step{
	decode, decodeHarmless,
	resolveDots, resolveAllDots,
	collapseSlashes, trimRoot, enterAuthority, trimSlashes, turnBackslashes,
}

// closure appends to dst all that steps make of s, in any order and
// combination, beginning with s itself. dst must be empty. It reports false if
// that is over budget.
func closure(dst []string, s string, steps []step) (all []string, ok bool) {
	dst = append(dst, s)
	size := len(s)
	for i := 0; i < len(dst); i++ {
		for _, f := range steps {
			next := f(dst[i])
			if slices.Contains(dst, next) {
				continue
			}
			size += len(next)
			if len(dst) == maxReadings || size > maxReadingBytes {
				return dst, false
			}
			dst = append(dst, next)
		}
	}
	return dst, true
}

func overBudget(uri string) *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Value:  uri,
		Reason: flowerrors.ReasonLimit,
		Detail: "the URI can be read in too many ways",
		Hint:   "write it decoded and without dot segments",
		Limit:  maxReadings,
	}
}

// isOrdinary reports whether no step changes s, so that s has one reading. It
// looks at every byte once, for the sake of the common request; a test holds it
// to what the steps do.
func isOrdinary(s string) bool {
	root := rootEnd(s)
	for i := root; i < len(s); i++ {
		switch s[i] {
		case '%', '\\', ';', '?', '#':
			return false
		case '.':
			// Any segment that starts with a dot is left to the steps.
			if i == root || s[i-1] == '/' {
				return false
			}
		case '/':
			if i > root && (s[i-1] == '/' || i == len(s)-1) || i == root && root > 0 && !isFile(s) {
				return false
			}
		}
	}
	// An authority, or none, makes a difference to the scheme file only.
	return !isFile(s) || (root < len(s) && s[root] == '/' && s[root-1] == '/')
}
