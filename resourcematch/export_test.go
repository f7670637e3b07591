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

// NumSteps is the number of steps between readings.
func NumSteps() int { return len(uriSteps) }

// Work returns what matching uri takes: the places of the trie that are looked at, and the
// bytes that the steps between readings are given.
func (m *Matcher) Work(uri string) (places, bytes int) {
	sc := m.borrow()
	defer m.giveBack(sc)
	before := sc.work
	m.readAll(sc, uri)
	for _, s := range sc.readings {
		bytes += len(s) * len(uriSteps)
	}
	return sc.work - before, bytes
}

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
