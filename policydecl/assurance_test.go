package policydecl_test

import (
	"encoding/json"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// L4: exactly one of the five strings, or unverified.
func TestL4AssuranceIsClosed(t *testing.T) {
	known := map[string]policydecl.Assurance{
		"unverified": policydecl.Unverified, "tofu": policydecl.TOFU, "verified": policydecl.Verified,
		"host": policydecl.Host, "user": policydecl.User,
	}
	for s, want := range known {
		if got, ok := policydecl.ParseAssurance(s); got != want || !ok {
			t.Errorf("ParseAssurance(%q) = %v, %v", s, got, ok)
		}
		if got := want.String(); got != s {
			t.Errorf("%d.String() = %q, want %q", want, got, s)
		}
		if got, err := json.Marshal(want); err != nil || string(got) != `"`+s+`"` {
			t.Errorf("Marshal(%v) = %s, %v", want, got, err)
		}
	}
	for _, s := range []string{"", "User", " user", "user ", "USER", "user\ufffd", "platinum", "extremely-trustworthy", "u\u017fer", "0"} {
		if got, ok := policydecl.ParseAssurance(s); got != policydecl.Unverified || ok {
			t.Errorf("ParseAssurance(%q) = %v, %v, want unverified, false", s, got, ok)
		}
	}
}

// P9: a number that names no state counts as the least assured one.
func TestAssuranceOutOfRange(t *testing.T) {
	var zero policydecl.Assurance
	if zero != policydecl.Unverified {
		t.Errorf("zero Assurance is %v", zero)
	}
	for _, bogus := range []policydecl.Assurance{policydecl.User + 1, 200, 255} {
		if got := bogus.String(); got != "unverified" {
			t.Errorf("String() = %q", got)
		}
		if got := policydecl.NewContributor("", bogus, "").Assurance(); got != policydecl.Unverified {
			t.Errorf("NewContributor keeps %d", got)
		}
	}
}
