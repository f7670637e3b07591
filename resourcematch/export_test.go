package resourcematch

// What the external tests look at.
const (
	MaxReadings     = maxReadings
	MaxReadingBytes = maxReadingBytes
)

// Readings returns all readings of uri.
func Readings(uri string) ([]string, bool) { return closure(nil, uri, uriSteps) }

// Spellings returns all spellings of an Exact pattern without query.
func Spellings(uri string) ([]string, bool) { return closure(nil, uri, patternSteps) }

// IsOrdinary reports whether the closure takes its short way for s.
func IsOrdinary(s string) bool { return isOrdinary(s) }

// Stable reports whether no step changes s.
func Stable(s string) bool {
	for _, f := range uriSteps {
		if f(s) != s {
			return false
		}
	}
	return true
}
