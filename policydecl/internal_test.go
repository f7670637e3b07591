package policydecl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// fold agrees with strings.EqualFold, which is what decides between two names (L8).
func TestFoldIsEqualFold(t *testing.T) {
	names := []string{"", "a", "A", "s", "S", "\u017f", "k", "K", "\u212a", "\u03c3", "\u03c2", "\u03a3", "ss", "\u00df", "\u1e9e", "i", "I", "\u0130", "\u0131", "complete", "COMPLETE"}
	for _, a := range names {
		for _, b := range names {
			if (fold(a) == fold(b)) != strings.EqualFold(a, b) {
				t.Errorf("fold(%q) == fold(%q) is %v", a, b, fold(a) == fold(b))
			}
		}
	}
}

// No mistake is lost, not even one of a type nobody expects.
func TestFaultListKeepsOthers(t *testing.T) {
	var f faultList
	f.add(nil)
	f.addAll("x", nil)
	if f.join() != nil {
		t.Errorf("no mistakes join to %v", f.join())
	}
	other := errors.New("other")
	f.addAll("targets", other)
	f.addAll("default", errors.Join(&flowerrors.ConfigError{Path: "acceptFrom[0]"}))
	if !errors.Is(f.join(), other) {
		t.Errorf("%v has lost the other", f.join())
	}
	var paths []string
	for ce := range flowerrors.All(f.join()) {
		paths = append(paths, ce.Path)
	}
	if !slices.Equal(paths, []string{"default.acceptFrom[0]"}) {
		t.Errorf("paths %q", paths)
	}
}

// Assurance bits are distinct, or one state would pass for another.
func TestAssuranceBits(t *testing.T) {
	var seen uint8
	for a := Unverified; a < assurances; a++ {
		if seen&a.bit() != 0 {
			t.Errorf("%v shares its bit", a)
		}
		seen |= a.bit()
	}
	if assurances > 8 {
		t.Error("the mask is too small")
	}
}
