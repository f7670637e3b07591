// Package near finds the name that somebody meant who has written another. It knows
// nothing but strings.
package near

import (
	"strings"
)

// longest is how long a name may be, in bytes, to be compared; longer ones are like none.
const longest = 128

// Name returns the one of the known names that is most like name, the first of several in
// alphabetical order, or "" if none is like it: letter case and punctuation aside, no more
// than a third of it may differ.
func Name(name string, known []string) string {
	if len(name) > longest {
		return ""
	}
	best, least, meant := "", 0, bare(name)
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		if d := distance(meant, bare(k)); best == "" || d < least || d == least && k < best {
			best, least = k, d
		}
	}
	if best == "" || least > len(best)/3 {
		return ""
	}
	return best
}

// bare leaves out what writers of names differ in.
func bare(name string) string { return punctuation.Replace(strings.ToLower(name)) }

var punctuation = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// distance returns how many bytes have to be put in, taken out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
