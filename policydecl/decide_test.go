package policydecl_test

import (
	"context"
	"slices"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var (
	labelX = label(user(), server(fetchURI, policydecl.Unverified))
	labelV = label(user(), server(partnerURI, policydecl.Verified))
)

// P1, P2, P7 and cases 30 to 34 by table: one contributor, one list, yes or no.
func TestTokenMatchesContributor(t *testing.T) {
	const gold = "com.example.tier:gold"
	for _, row := range []struct {
		rule   string
		self   string
		tokens []string
		c      policydecl.Contributor
		want   bool
	}{
		{"P1 user", ownURI, []string{"user"}, user(), true},
		{"P1 user is not host", ownURI, []string{"user"}, server(policydecl.PrincipalHost, policydecl.Host), false},
		{"P1 host", ownURI, []string{"host"}, server("", policydecl.Host), true},
		{"P1 verified", ownURI, []string{"verified"}, server(partnerURI, policydecl.Verified), true},
		{"P1 verified is not tofu", ownURI, []string{"verified"}, server(partnerURI, policydecl.TOFU), false},
		{"P1 tofu", ownURI, []string{"tofu"}, server(partnerURI, policydecl.TOFU), true},
		{"P1 tofu does not include verified", ownURI, []string{"tofu"}, server(partnerURI, policydecl.Verified), false},
		{"P1 unverified", ownURI, []string{"unverified"}, server(fetchURI, policydecl.Unverified), true},
		{"P1 unverified does not include user", ownURI, []string{"unverified"}, user(), false},
		{"P1 any of several", ownURI, []string{"host", partnerURI, "user"}, server(partnerURI, policydecl.Unverified), true},
		{"P1 publisher", ownURI, []string{"publisher:" + publisher}, policydecl.NewContributor(partnerURI, policydecl.Verified, publisher), true},
		{"P1 publisher of an anonymous principal", ownURI, []string{"publisher:" + publisher}, policydecl.NewContributor("", policydecl.TOFU, publisher), true},
		{"P1 publisher withheld", ownURI, []string{"publisher:" + publisher}, server(partnerURI, policydecl.Verified), false},
		{"P1 publisher is not the principal", ownURI, []string{"publisher:" + partnerURI}, server(partnerURI, policydecl.Verified), false},
		{"P1 the principal is not a publisher", ownURI, []string{publisher}, policydecl.NewContributor(partnerURI, policydecl.Verified, publisher), false},
		{"P1 URI", ownURI, []string{partnerURI}, server(partnerURI, policydecl.Unverified), true},
		{"P1 URI withheld", ownURI, []string{partnerURI}, server("", policydecl.Verified), false},
		{"P1 urn", ownURI, []string{policydecl.PrincipalUser}, server(policydecl.PrincipalUser, policydecl.Unverified), true},
		{"P2 self", ownURI, []string{"self"}, server(ownURI, policydecl.Verified), true},
		{"P2 self is another", ownURI, []string{"self"}, server(partnerURI, policydecl.Verified), false},
		{"P2 self withheld", ownURI, []string{"self"}, server("", policydecl.Verified), false},
		{"P2 self is not the publisher", ownURI, []string{"self"}, policydecl.NewContributor("", policydecl.Verified, ownURI), false},
		{"P3 vendor token nobody knows", ownURI, []string{gold}, server(ownURI, policydecl.Verified), false},
		{"P4 empty", ownURI, nil, user(), false},
		{"U4 both sides", "HTTPS://Records.Example:443/mcp", []string{"self"}, server("https://RECORDS.example/mcp", policydecl.TOFU), true},
		{"case 30 own URI without a path", "https://records.example", []string{"self"}, server("https://records.example/", policydecl.Verified), true},
		{"case 30 the other way", "https://records.example/", []string{"self"}, server("https://records.example", policydecl.Verified), true},
		{"case 30 a path's slash counts", ownURI, []string{"self"}, server(ownURI+"/", policydecl.Verified), false},
		{"case 31 scheme, host, port", ownURI, []string{partnerURI}, server("HTTPS://Partner.Example:443/mcp", policydecl.TOFU), true},
		{"case 31 path", ownURI, []string{partnerURI}, server("https://partner.example/MCP", policydecl.TOFU), false},
		{"case 31 urn is no assurance", ownURI, []string{"user"}, server("URN:mcp:user", policydecl.Unverified), false},
		{"case 32 port in the token", ownURI, []string{"https://partner.example:443/mcp"}, server(partnerURI, policydecl.Verified), true},
		{"case 32 port of the other scheme", ownURI, []string{"https://partner.example:80/mcp"}, server(partnerURI, policydecl.Verified), false},
		{"case 33 sibling", ownURI, []string{partnerURI}, server(partnerURI+"-evil", policydecl.Verified), false},
		{"case 33 child", ownURI, []string{partnerURI}, server(partnerURI+"/x", policydecl.Verified), false},
		{"case 33 longer host", ownURI, []string{partnerURI}, server("https://partner.example.evil.example/mcp", policydecl.Verified), false},
		{"case 33 publisher", ownURI, []string{"publisher:" + publisher}, policydecl.NewContributor("", policydecl.Verified, publisher+".evil"), false},
		{"case 33 self", ownURI, []string{"self"}, server(ownURI+"-evil", policydecl.Verified), false},
		{"case 34 two tokens are not a third", ownURI, []string{"https://foo.example/m", "https://bar.example/m"}, server("https://barfoo.example/m", policydecl.Verified), false},
		{"case 28 repaired principal", ownURI, []string{"self"}, server(ownURI+"\ufffd", policydecl.Verified), false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			s := mustCompile(t, policydecl.Config{URI: row.self})
			l := label(row.c)
			d := s.Decide(t.Context(), &l, policydecl.AcceptFrom(row.tokens...))
			if d.Accepted() != row.want || d.Cause() != nil {
				t.Errorf("%v under %q: accepted %v, cause %v", row.c, row.tokens, d.Accepted(), d.Cause())
			}
		})
	}
}

// The fixture's labels under the fixture's policies, L1 and L6 included.
func TestDecideFixture(t *testing.T) {
	u := policydecl.BuildLabel(false, user())
	for _, row := range []struct {
		name   string
		l      policydecl.Label
		tokens []string
		want   bool
	}{
		{"only the user", label(user()), []string{"self", "user"}, true},
		{"an unverified server besides", labelX, []string{"self", "user"}, false},
		{"and under the default", labelX, policydecl.Default().Tokens(), false},
		{"a verified one", labelV, []string{"self", "user"}, false},
		{"and under the default", labelV, policydecl.Default().Tokens(), true},
		{"L6 incomplete", u, []string{"user"}, false},
		{"L6 incomplete, unverified accepted", u, []string{"user", "unverified"}, true},
		{"L1 absent", policydecl.Label{}, policydecl.Default().Tokens(), false},
		{"L1 absent, unverified accepted", policydecl.Label{}, []string{"unverified"}, true},
		{"L2 malformed", policydecl.BuildLabel(true), policydecl.Default().Tokens(), false},
		{"H4 assurance alone", label(policydecl.NewContributor("", policydecl.User, ""), policydecl.NewContributor("", policydecl.Unverified, "")), []string{"user", "unverified"}, true},
		{"H4 and a URI policy", label(policydecl.NewContributor("", policydecl.User, ""), policydecl.NewContributor("", policydecl.Unverified, "")), []string{"user", fetchURI}, false},
	} {
		if got := accepts(t, row.l, row.tokens...); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	// A nil label is the absent one.
	d := mustCompile(t, policydecl.Config{}).Decide(t.Context(), nil, policydecl.Default())
	if d.Accepted() || len(d.Violation().Rejected) != 1 {
		t.Errorf("nil label: %v", d.Violation())
	}
}

// P4 and P5: absent is the default, of the Set or of the draft; a declared policy replaces
// it whole.
func TestP4P5DefaultApplies(t *testing.T) {
	draft, own := mustCompile(t, policydecl.Config{}), mustCompile(t, policydecl.Config{Default: policydecl.AcceptFrom("user")})
	for _, row := range []struct {
		name string
		s    *policydecl.Set
		p    policydecl.Policy
		want bool
	}{
		{"draft default", draft, policydecl.Policy{}, true},
		{"own default", own, policydecl.Policy{}, false},
		{"P5 replaced, not merged", draft, policydecl.AcceptFrom("user"), false},
		{"P5 replaced by a looser one", own, policydecl.AcceptFrom("user", "verified"), true},
		{"case 35 empty is not absent", draft, policydecl.AcceptFrom(), false},
	} {
		d := row.s.Decide(t.Context(), &labelV, row.p)
		if d.Accepted() != row.want {
			t.Errorf("%s: %v, want %v", row.name, d.Accepted(), row.want)
		}
		if row.p.IsZero() && d.Policy() != row.s.Default() {
			t.Errorf("%s: reports the policy %q", row.name, d.Policy().Tokens())
		}
	}
	// Case 35, with the label that passes everything else.
	empty := mustCompile(t, policydecl.Config{Default: policydecl.AcceptFrom()})
	l := label(user())
	if d := empty.Decide(t.Context(), &l, policydecl.Policy{}); d.Accepted() {
		t.Error("an empty default accepts")
	}
}

// P7: the violation is a set, in label order, in the spelling of the label.
func TestP7ViolationSet(t *testing.T) {
	s := mustCompile(t, policydecl.Config{})
	l := policydecl.BuildLabel(false,
		server("HTTPS://Fetch.Example/mcp", policydecl.Unverified),
		user(),
		server(fetchURI, policydecl.Unverified), // equal to the first
		server(fetchURI, policydecl.TOFU),       // another assurance: another entry
		server("no URI", policydecl.TOFU),
		server("", policydecl.TOFU), // equal to the one before
		policydecl.NewContributor("", policydecl.TOFU, publisher),
		server("", policydecl.Unverified), // equal to the synthetic one
	)
	d := s.Decide(t.Context(), &l, policydecl.AcceptFrom("self", "user"))
	want := []flowerrors.Rejected{
		{Assurance: "unverified", Principal: "HTTPS://Fetch.Example/mcp"},
		{Assurance: "tofu", Principal: fetchURI},
		{Assurance: "tofu"},
		{Assurance: "unverified"},
	}
	v := d.Violation()
	if d.Accepted() || !slices.Equal(v.Rejected, want) || !slices.Equal(v.AcceptFrom, []string{"self", "user"}) {
		t.Errorf("accepted %v, violation %+v, want %+v", d.Accepted(), v, want)
	}
	if d.Cause() != nil || d.Policy().Tokens()[0] != "self" {
		t.Errorf("cause %v, policy %q", d.Cause(), d.Policy().Tokens())
	}
}

// P7: the violation's tokens are the author's spelling, and a copy.
func TestP7TokensAsWritten(t *testing.T) {
	p := policydecl.AcceptFrom("HTTPS://Partner.Example:443/mcp")
	d := mustCompile(t, policydecl.Config{}).Decide(t.Context(), &labelX, p)
	got := d.Violation().AcceptFrom
	if !slices.Equal(got, p.Tokens()) {
		t.Errorf("acceptFrom %q", got)
	}
	got[0] = "user"
	if p.Tokens()[0] == "user" {
		t.Error("the violation shares the policy's memory")
	}
}

// R2: of several policies all must accept; the first that refuses is reported.
func TestDecideSeveralPolicies(t *testing.T) {
	s := mustCompile(t, policydecl.Config{})
	loose, strict, stricter := policydecl.AcceptFrom("user", "verified"), policydecl.AcceptFrom("user"), policydecl.AcceptFrom()
	for _, row := range []struct {
		policies []policydecl.Policy
		refusing policydecl.Policy
	}{
		{[]policydecl.Policy{loose}, policydecl.Policy{}},
		{[]policydecl.Policy{loose, {}, loose}, policydecl.Policy{}},
		{[]policydecl.Policy{loose, strict}, strict},
		{[]policydecl.Policy{strict, loose}, strict},
		{[]policydecl.Policy{{}, strict, stricter}, strict},
		{[]policydecl.Policy{stricter, strict}, stricter},
	} {
		d := s.Decide(t.Context(), &labelV, row.policies...)
		if d.Accepted() != row.refusing.IsZero() {
			t.Errorf("%s: accepted %v", show(row.policies), d.Accepted())
		}
		if !d.Accepted() && (d.Policy() != row.refusing || !slices.Equal(d.Violation().AcceptFrom, row.refusing.Tokens())) {
			t.Errorf("%s: reports %q and %q", show(row.policies), d.Policy().Tokens(), d.Violation().AcceptFrom)
		}
	}
}

// P9: what cannot be decided is refused, with the reason and with lists that are arrays.
func TestP9FailsClosed(t *testing.T) {
	s := mustCompile(t, policydecl.Config{})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	l := label(user())
	mistaken := policydecl.AcceptFrom("user", "User")
	var noContext context.Context
	for name, d := range map[string]policydecl.Decision{
		"no policies":          s.Decide(t.Context(), &l),
		"cancelled (case 36)":  s.Decide(cancelled, &l, policydecl.AcceptFrom("user")),
		"no context":           s.Decide(noContext, &l, policydecl.AcceptFrom("user")),
		"a policy's mistakes":  s.Decide(t.Context(), &l, mistaken),
		"a mistaken second":    s.Decide(t.Context(), &l, policydecl.AcceptFrom("user"), mistaken),
		"cancelled, no policy": s.Decide(cancelled, &l),
	} {
		v := d.Violation()
		if d.Accepted() || d.Cause() == nil || len(v.Rejected) != 1 || v.AcceptFrom == nil {
			t.Errorf("%s: accepted %v, cause %v, %+v", name, d.Accepted(), d.Cause(), v)
		}
	}
	d := s.Decide(t.Context(), &l, mistaken)
	if len(d.Violation().AcceptFrom) != 0 || d.Policy() != mistaken {
		t.Errorf("a mistaken policy claims to accept %q", d.Violation().AcceptFrom)
	}
}

// P9: the zero Decision refuses.
func TestP9ZeroDecision(t *testing.T) {
	var d policydecl.Decision
	if d.Accepted() || d.Cause() != nil || !d.Policy().IsZero() {
		t.Errorf("%+v", d)
	}
	if v := d.Violation(); v == nil || v.Rejected == nil || v.AcceptFrom == nil {
		t.Errorf("violation %+v", v)
	}
	if policydecl.Restrict(true, d) {
		t.Error("the zero Decision passes")
	}
}

// P9: the combined answer is the base answer or lower, for every label there is.
func TestP9RestrictOnlyLowers(t *testing.T) {
	s := mustCompile(t, policydecl.Config{})
	accepted, refused := 0, 0
	for _, row := range labelCases {
		l := policydecl.ParseLabel([]byte(row.raw), defaultLimits)
		for _, p := range []policydecl.Policy{{}, policydecl.AcceptFrom(), policydecl.AcceptFrom("unverified", "user", "tofu", "host", "verified"), policydecl.AcceptFrom("?")} {
			d := s.Decide(t.Context(), &l, p)
			if policydecl.Restrict(false, d) {
				t.Errorf("%s turns a refusal into an approval", row.raw)
			}
			if policydecl.Restrict(true, d) != d.Accepted() {
				t.Errorf("%s: a base approval does not follow the decision", row.raw)
			}
			if d.Accepted() {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("the test saw %d accepted and %d refused: it compares nothing", accepted, refused)
	}
}

// The prototype's end: what the host attaches, the server reads and decides by.
func TestPrototypeScenario(t *testing.T) {
	s := recordsServer(t)
	export, _ := s.Tool("export")
	search, _ := s.Tool("search")
	customers, err := s.Resource(nil, "records://customers")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name     string
		l        policydecl.Label
		policies []policydecl.Policy
		want     bool
	}{
		{"export after only the user spoke", label(user()), []policydecl.Policy{export}, true},
		{"export after a fetched page", labelX, []policydecl.Policy{export}, false},
		{"export after the server's own result", label(user(), server(ownURI, policydecl.Verified)), []policydecl.Policy{export}, true},
		{"export without a label", policydecl.Label{}, []policydecl.Policy{export}, false},
		{"search after a partner's result", labelV, []policydecl.Policy{search}, true},
		{"reading after a fetched page", labelX, customers, false},
		{"reading after only the user spoke", label(user()), customers, true},
	} {
		wire := policydecl.LabelOf(decode(t, string(row.l.AppendJSON(nil))), true, defaultLimits)
		if d := s.Decide(t.Context(), &wire, row.policies...); d.Accepted() != row.want {
			t.Errorf("%s: %v, want %v", row.name, d.Accepted(), row.want)
		}
	}
}
