package policydecl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// L5: what does not canonicalise is dropped for matching and kept, escaped.
func TestL5UnusablePrincipals(t *testing.T) {
	for _, raw := range []string{
		"relative", "/mcp", "https://", "https://user@h/", "https://h/#f", "https://h./", "https://h\\x/",
		"https://caf\u00e9.example/", "https://h/%zz", "https://h/\x00", "https://h/\xff", "https://[fe80::1%25eth0]/",
		"https://h/" + strings.Repeat("a", 3<<10), "\x1b[31mred\u202e", "mcp", "https://h/\ufffd",
	} {
		c := policydecl.NewContributor(raw, policydecl.Verified, raw)
		if c.Principal() != "" || c.CanonicalPrincipal() != "" || c.Publisher() != "" || c.CanonicalPublisher() != "" {
			t.Errorf("%q is used as %q, %q", raw, c.Principal(), c.Publisher())
		}
		p, q := c.Unusable()
		if p == "" || p != q {
			t.Errorf("%q is kept as %q and %q", raw, p, q)
		}
		// M3: nothing raw, however the value is printed.
		for _, s := range []string{p, c.String(), fmt.Sprintf("%v %+v", c, c)} {
			if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
				t.Errorf("%q prints raw at %d: %q", raw, i, s)
			}
		}
		if len(p) > 1024 {
			t.Errorf("%d bytes kept of %d", len(p), len(raw))
		}
	}
}

// U4 and U1: what is shown is what was sent, what is compared is the canonical form.
func TestU4ContributorKeepsBothForms(t *testing.T) {
	c := policydecl.NewContributor("HTTPS://Partner.Example:443/mcp", policydecl.TOFU, "URN:EXAMPLE:Acme")
	for _, row := range [][3]string{
		{"Principal", c.Principal(), "HTTPS://Partner.Example:443/mcp"},
		{"CanonicalPrincipal", c.CanonicalPrincipal(), partnerURI},
		{"Publisher", c.Publisher(), "URN:EXAMPLE:Acme"},
		{"CanonicalPublisher", c.CanonicalPublisher(), "urn:example:Acme"},
		{"String", c.String(), "tofu HTTPS://Partner.Example:443/mcp publisher URN:EXAMPLE:Acme"},
	} {
		if row[1] != row[2] {
			t.Errorf("%s = %q, want %q", row[0], row[1], row[2])
		}
	}
	if p, q := c.Unusable(); p != "" || q != "" {
		t.Errorf("Unusable() = %q, %q", p, q)
	}
}

func TestZeroContributor(t *testing.T) {
	var zero policydecl.Contributor
	if zero != policydecl.NewContributor("", policydecl.Unverified, "") || zero.String() != "unverified" {
		t.Errorf("zero Contributor is %v", zero)
	}
}
