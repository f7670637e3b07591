package resourcematch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Pattern sets travel through the fuzzer as lines, each with a letter for its
// kind: "E", "T" or "P".
func encodeEntries(entries []resourcematch.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteByte(" ETP"[e.Kind])
		b.WriteString(e.Pattern)
		b.WriteByte('\n')
	}
	return b.String()
}

// decodeEntries returns the entries that compile by themselves and together.
func decodeEntries(text string) (entries []resourcematch.Entry, m *resourcematch.Matcher) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		next := append(slices.Clip(entries), resourcematch.Entry{
			Kind: resourcematch.Kind(strings.IndexByte(" ETP", line[0])), Pattern: line[1:],
		})
		if c, err := resourcematch.Compile(next); err == nil {
			entries, m = next, c
		}
	}
	return entries, m
}

// FuzzMatch holds the matcher to its slow twin, and the twin to the matcher.
func FuzzMatch(f *testing.F) {
	for _, tc := range matches {
		f.Add(encodeEntries(tc.entries), tc.uri)
	}
	f.Fuzz(func(t *testing.T, patterns, uri string) {
		if len(patterns) > 300 || len(uri) > 60 {
			t.Skip("too much for the slow twin")
		}
		entries, m := decodeEntries(patterns)
		got, bare, err := m.Match(nil, uri)
		want, wantBare, ok := slowMatch(entries, uri)
		if m == nil {
			want, wantBare, ok = nil, true, true
		}
		if ok != (err == nil) || !slices.Equal(got, want) || bare != wantBare {
			t.Fatalf("%q in %q: got %v, %t, %v, want %v, %t, %t", uri, patterns, got, bare, err, want, wantBare, ok)
		}
		// A template's text never matches less than the same text as a URI.
		asText, _, err := m.MatchTemplate(nil, uri)
		for _, i := range got {
			if err == nil && !slices.Contains(asText, i) {
				t.Fatalf("%q in %q: as a template only %v", uri, patterns, asText)
			}
		}
	})
}

// FuzzReadings holds the closure to its slow twin and checks its laws: what was
// read can be read no further, and the short way for ordinary URIs agrees with
// the long one.
func FuzzReadings(f *testing.F) {
	for _, tc := range matches {
		f.Add(tc.uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if len(uri) > 200 {
			t.Skip("too much for the slow twin")
		}
		if resourcematch.IsOrdinary(uri) && !resourcematch.Stable(uri) {
			t.Fatalf("%q is not ordinary", uri)
		}
		got, ok := resourcematch.Readings(uri)
		want, wantOK := slowClosure(uri, slowRead)
		if ok != wantOK {
			t.Fatalf("%q: got %t, want %t", uri, ok, wantOK)
		}
		if !ok {
			return
		}
		if len(got) != len(want) || got[0] != uri {
			t.Fatalf("%q: got %q, want %v", uri, got, want)
		}
		for _, r := range got {
			if !want[r] {
				t.Fatalf("%q: %q is no reading", uri, r)
			}
		}
	})
}

// FuzzExact checks that a pattern is found under its own name, whatever it is
// made of, and under the name with a query, and that its spellings agree with
// the slow twin.
func FuzzExact(f *testing.F) {
	for _, set := range [][]resourcematch.Entry{fixture, accents, shapes} {
		for _, e := range set {
			f.Add(e.Pattern)
		}
	}
	f.Add("a:///./0000000/.")
	f.Add("A:0/")
	f.Fuzz(func(t *testing.T, pattern string) {
		m, err := resourcematch.Compile([]resourcematch.Entry{{Kind: resourcematch.Exact, Pattern: pattern}})
		if err != nil || len(pattern) > 200 {
			return
		}
		for _, uri := range []string{pattern, pattern + "?x=1", pattern + "#x", strings.ToUpper(pattern[:1]) + pattern[1:]} {
			got, bare, err := m.Match(nil, uri)
			if err != nil {
				continue // more readings as a URI than as a pattern
			}
			if len(got) != 1 {
				t.Fatalf("%q does not find %q", uri, pattern)
			}
			// A query may hide that the last segment is a dot, and what R2
			// reads beyond the pattern's own spellings may be bare.
			if bare && len(uri) == len(pattern) && !strings.ContainsAny(pattern, ";?#%") && !strings.HasPrefix(strings.ToLower(pattern), "file:") {
				t.Fatalf("%q finds %q, but not on every reading", uri, pattern)
			}
		}
		uri, _, _ := strings.Cut(pattern, "#")
		uri, _, _ = strings.Cut(uri, "?")
		got, ok := resourcematch.Spellings(uri)
		want, _ := slowClosure(uri, slowSpellPattern)
		if !ok || len(got) != len(want) {
			t.Fatalf("%q: got %q, want %v", uri, got, want)
		}
	})
}
