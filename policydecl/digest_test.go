package policydecl_test

import (
	"regexp"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Records of several servers, and of several versions of this package, are compared by digests,
// so their form and what they are made of stay.
func TestDigest(t *testing.T) {
	if got := policydecl.DigestOf(""); got != "sha256:e3b0c44298fc1c14" {
		t.Errorf("%s is not the beginning of the SHA-256 of nothing", got)
	}
	if got, want := policydecl.AcceptFrom("user").Digest(), policydecl.DigestOf(`"user"`); got != want {
		t.Errorf("a policy has the digest %s, want %s", got, want)
	}
	if got := (policydecl.Policy{}).Digest(); got != "" {
		t.Errorf("the absent policy has the digest %s", got)
	}
	same := policydecl.AcceptFrom("user", "https://a.example/", "publisher:https://p.example/").Digest()
	if !regexp.MustCompile("^sha256:[0-9a-f]{16}$").MatchString(same) {
		t.Error(same)
	}
	for _, tokens := range [][]string{
		{"https://a.example/", "publisher:https://p.example/", "user"},
		{"user", "user", "HTTPS://A.example:443", "publisher:https://P.example"},
	} {
		if got := policydecl.AcceptFrom(tokens...).Digest(); got != same {
			t.Errorf("%q has the digest %s, want %s", tokens, got, same)
		}
	}
	digests := map[string][]string{same: nil}
	for _, tokens := range [][]string{
		{}, {"user"}, {"host"}, {"user", "host"}, {"User"}, {"https://p.example/"}, {"publisher:https://p.example/"},
		{"user", "https://a.example/x", "publisher:https://p.example/"}, {`user","host`},
	} {
		got := policydecl.AcceptFrom(tokens...).Digest()
		if other, twice := digests[got]; twice {
			t.Errorf("%q has the digest of %q", tokens, other)
		}
		digests[got] = tokens
	}
}
