package policydecl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What a token was probably meant to be is in the way out.
func TestTokenHints(t *testing.T) {
	for token, hint := range map[string]string{
		"User": `write "user"`, " self": `write "self"`, "self,user": "write 2 tokens", "user, host,verified": "write 3 tokens",
		"self user": "write 2 tokens", "self,users": `use "self"`, "usr": `use "self"`, ",": `use "self"`,
	} {
		var fault *flowerrors.ConfigError
		if err := policydecl.AcceptFrom(token).Err(); !errors.As(err, &fault) || !strings.HasPrefix(fault.Hint, hint) {
			t.Errorf("%q: %v, want the hint %q", token, err, hint)
		}
	}
}

// P1 and P6, case 34: every token that means nothing is a mistake with its path.
func TestP6TokenMistakes(t *testing.T) {
	for token, reason := range map[string]flowerrors.Reason{
		"":                         flowerrors.ReasonUnknownToken,
		"User":                     flowerrors.ReasonUnknownToken,
		" user":                    flowerrors.ReasonUnknownToken,
		"user ":                    flowerrors.ReasonUnknownToken,
		"user*":                    flowerrors.ReasonUnknownToken,
		"*":                        flowerrors.ReasonUnknownToken,
		"h*":                       flowerrors.ReasonUnknownToken,
		"SELF":                     flowerrors.ReasonUnknownToken,
		"any":                      flowerrors.ReasonUnknownToken,
		"mostly-fine":              flowerrors.ReasonUnknownToken,
		"records.example":          flowerrors.ReasonUnknownToken,
		"//records.example/mcp":    flowerrors.ReasonUnknownToken,
		"file:///etc":              flowerrors.ReasonUnknownToken,
		"ftp://h/":                 flowerrors.ReasonUnknownToken,
		"Publisher:https://h/":     flowerrors.ReasonUnknownToken,
		"tier:gold":                flowerrors.ReasonUnknownToken,
		"com.example.tier":         flowerrors.ReasonUnknownToken,
		"com.example.tier:":        flowerrors.ReasonUnknownToken,
		"com.example.tier:go ld":   flowerrors.ReasonUnknownToken,
		"com.example.tier:g\u00fc": flowerrors.ReasonUnknownToken,
		"com.Example.tier:gold":    flowerrors.ReasonUnknownToken,
		"com..tier:gold":           flowerrors.ReasonUnknownToken,
		".example:gold":            flowerrors.ReasonUnknownToken,
		"com.-example:gold":        flowerrors.ReasonUnknownToken,
		"com.example-:gold":        flowerrors.ReasonUnknownToken,
		"1com.example:gold":        flowerrors.ReasonUnknownToken,
		"com.exa_mple:gold":        flowerrors.ReasonUnknownToken,
		"com.example:" + strings.Repeat("g", 3<<10): flowerrors.ReasonUnknownToken,
		"https://*":                  flowerrors.ReasonNeverMatches,
		"https://.*":                 flowerrors.ReasonNeverMatches,
		"https://*.example/":         flowerrors.ReasonNeverMatches,
		"https://h/*":                flowerrors.ReasonNeverMatches,
		"publisher:https://*":        flowerrors.ReasonNeverMatches,
		"https://":                   "",
		"https:h":                    "",
		"http://h:port/":             "",
		"https://u:p@h/":             "",
		"https://h/#f":               "",
		"https://h./":                "",
		"https://h/%zz":              "",
		"https://caf\u00e9.example/": "",
		"urn:":                       "",
		"urn:mcp":                    "",
		"publisher:":                 "",
		"publisher:acme":             "",
		"publisher:/acme":            "",
		"https://h/" + strings.Repeat("a", 3<<10): "",
	} {
		p := policydecl.AcceptFrom("user", token)
		var got []*flowerrors.ConfigError
		for ce := range flowerrors.All(p.Err()) {
			got = append(got, ce)
		}
		if len(got) != 1 || got[0].Path != "acceptFrom[1]" || got[0].Value != token || got[0].Detail == "" {
			t.Errorf("%.40q: %v", token, p.Err())
			continue
		}
		if reason != "" && got[0].Reason != reason {
			t.Errorf("%.40q: reason %v, want %v", token, got[0].Reason, reason)
		}
		// A policy with a mistake accepts nothing, not even what its other token names.
		if accepts(t, label(user()), "user", token) {
			t.Errorf("%.40q: the policy still accepts", token)
		}
		// Tolerant reading leaves the token inert.
		lax, err := policydecl.ReadPublished(map[string]any{"acceptFrom": []any{token}}, policydecl.Policy{})
		everyone := label(server(partnerURI, policydecl.Verified))
		if d := mustCompile(t, policydecl.Config{}).Decide(t.Context(), &everyone, lax); d.Accepted() || err == nil {
			t.Errorf("%.40q: read tolerantly it accepts %v with %v", token, d.Accepted(), err)
		}
	}
}

// P1: every form of token that means something, without a mistake.
func TestP1Tokens(t *testing.T) {
	tokens := []string{
		"self", "user", "host", "verified", "tofu", "unverified", "publisher:https://acme.example/p.json", "publisher:urn:ex:acme",
		"https://h", "HTTP://h:8080/mcp", "https://[2001:db8::1]/", "urn:mcp:user", "URN:ex:B", "com.example.tier:gold",
		"example.a1-b:v:w/x", "com.example.app://callback",
	}
	p := policydecl.AcceptFrom(tokens...)
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	if got := p.Tokens(); !slices.Equal(got, tokens) {
		t.Errorf("Tokens() = %q", got)
	}
}

// P6: the same token twice, in whatever spelling, and every mistake at once.
func TestP6AllMistakesAtOnce(t *testing.T) {
	p := policydecl.AcceptFrom("user", "User", "https://h", "user", "https://H:443/", "publisher:https://h",
		"publisher:https://h/", "com.example.tier:gold", "com.example.tier:Gold", "com.example.tier:gold", "*")
	wantFaults(t, p.Err(),
		"acceptFrom[1] unknown-token", "acceptFrom[3] duplicate", "acceptFrom[4] duplicate",
		"acceptFrom[6] duplicate", "acceptFrom[9] duplicate", "acceptFrom[10] unknown-token")
	if !strings.Contains(p.Err().Error(), "acceptFrom[2]") {
		t.Errorf("the mistake does not name the token it repeats: %v", p.Err())
	}
}

func TestP6TooManyTokens(t *testing.T) {
	tokens := make([]string, policydecl.MaxTokens+1)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("https://h/%d", i)
	}
	if err := policydecl.AcceptFrom(tokens[1:]...).Err(); err != nil {
		t.Error(err)
	}
	wantFaults(t, policydecl.AcceptFrom(tokens...).Err(), "acceptFrom over-limit")
	list := make([]any, len(tokens))
	for i := range list {
		list[i] = tokens[i]
	}
	p, err := policydecl.ReadPublished(map[string]any{"acceptFrom": list}, policydecl.AcceptFrom("user"))
	wantFaults(t, err, "acceptFrom over-limit")
	l := label(user())
	if d := mustCompile(t, policydecl.Config{}).Decide(t.Context(), &l, p); d.Accepted() {
		t.Error("a list nobody has read accepts")
	}
}

// P4 and case 35: absent and empty stay apart through Go values, JSON and back.
func TestP4AbsentIsNotEmpty(t *testing.T) {
	type declaration struct {
		Name   string            `json:"name"`
		Policy policydecl.Policy `json:"flowPolicy,omitzero"`
	}
	var nilTokens []string
	for _, row := range []struct {
		name   string
		p      policydecl.Policy
		zero   bool
		json   string
		member string
	}{
		{"absent", policydecl.Policy{}, true, `null`, `{"name":"t"}`},
		{"empty", policydecl.AcceptFrom(), false, `{"acceptFrom":[]}`, `{"name":"t","flowPolicy":{"acceptFrom":[]}}`},
		{"nil slice", policydecl.AcceptFrom(nilTokens...), false, `{"acceptFrom":[]}`, `{"name":"t","flowPolicy":{"acceptFrom":[]}}`},
		{"one", policydecl.AcceptFrom("user"), false, `{"acceptFrom":["user"]}`, `{"name":"t","flowPolicy":{"acceptFrom":["user"]}}`},
	} {
		if row.p.IsZero() != row.zero || (row.p.Tokens() == nil) != row.zero || row.p.Err() != nil {
			t.Errorf("%s: IsZero %v, Tokens %#v, Err %v", row.name, row.p.IsZero(), row.p.Tokens(), row.p.Err())
		}
		if got, err := json.Marshal(row.p); err != nil || string(got) != row.json {
			t.Errorf("%s: %s, %v", row.name, got, err)
		}
		member, err := json.Marshal(declaration{"t", row.p})
		if err != nil || string(member) != row.member {
			t.Errorf("%s: %s, %v", row.name, member, err)
		}
		var back declaration
		if err := json.Unmarshal(member, &back); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if back.Policy.IsZero() != row.zero || !slices.Equal(back.Policy.Tokens(), row.p.Tokens()) {
			t.Errorf("%s: reloaded as %#v", row.name, back.Policy.Tokens())
		}
	}
	var null declaration
	if err := json.Unmarshal([]byte(`{"flowPolicy":null}`), &null); err != nil || !null.Policy.IsZero() {
		t.Errorf("null: %v, absent %v", err, null.Policy.IsZero())
	}
}

// P5 and the default of section 1.
func TestDefaultPolicy(t *testing.T) {
	if got, want := policydecl.Default().Tokens(), []string{"self", "user", "host", "verified"}; !slices.Equal(got, want) {
		t.Errorf("Default() = %q, want %q", got, want)
	}
	if err := policydecl.Default().Err(); err != nil {
		t.Error(err)
	}
}

// Nothing of the caller's is kept, and nothing of ours is handed out.
func TestPolicyMemory(t *testing.T) {
	tokens := []string{"user"}
	p := policydecl.AcceptFrom(tokens...)
	tokens[0] = "unverified"
	p.Tokens()[0] = "tofu"
	if got := p.Tokens(); !slices.Equal(got, []string{"user"}) {
		t.Errorf("Tokens() = %q", got)
	}
	policydecl.Default().Tokens()[0] = "unverified"
	if got := policydecl.Default().Tokens()[0]; got != "self" {
		t.Errorf("the default now begins with %q", got)
	}
}

// A policy with mistakes is not published.
func TestPolicyWithMistakesIsNotPublished(t *testing.T) {
	if got, err := json.Marshal(policydecl.AcceptFrom("User")); err == nil {
		t.Errorf("published as %s", got)
	}
}

// policyCases are read strictly and tolerantly. want lists the mistakes of strict reading;
// lax is what a host makes of it, beside the default "host" of that server.
var policyCases = []struct {
	raw  string
	want []string
	lax  []string
}{
	{`{"acceptFrom":["self","user"]}`, nil, []string{"self", "user"}},
	{`{"acceptFrom":[]}`, nil, []string{}},
	{`null`, nil, []string{"host"}},
	{`{}`, []string{"acceptFrom missing"}, []string{"host"}},
	{`{"acceptFrom":null}`, []string{"acceptFrom wrong-type"}, []string{"host"}},
	{`{"acceptFrom":"user"}`, []string{"acceptFrom wrong-type"}, []string{"host"}},
	{`{"acceptFrom":{"0":"user"}}`, []string{"acceptFrom wrong-type"}, []string{"host"}},
	{`{"acceptFrom":true}`, []string{"acceptFrom wrong-type"}, []string{"host"}},
	{`["user"]`, []string{" wrong-type"}, []string{"host"}},
	{`"user"`, []string{" wrong-type"}, []string{"host"}},
	{`1.5`, []string{" wrong-type"}, []string{"host"}},
	{`{"acceptFrom":["user",1,null,["host"],{"a":1},false]}`,
		[]string{"acceptFrom[1] wrong-type", "acceptFrom[2] wrong-type", "acceptFrom[3] wrong-type", "acceptFrom[4] wrong-type", "acceptFrom[5] wrong-type"},
		[]string{"user"}},
	{`{"acceptFrom":[7,"User","user","user"]}`,
		[]string{"acceptFrom[0] wrong-type", "acceptFrom[1] unknown-token", "acceptFrom[3] duplicate"}, []string{"User", "user", "user"}},
	{`{"acceptfrom":["user"]}`, []string{"acceptFrom missing", "acceptfrom unknown-member"}, []string{"host"}},
	{`{"acceptFrom":["user"],"rejectFrom":[],"also":1}`, []string{"also unknown-member", "rejectFrom unknown-member"}, []string{"user"}},
	{`{"acceptFrom":["user"],"a\u00e9 ":1,"a_1":2}`, []string{"a_1 unknown-member", `["a\u00e9 "] unknown-member`}, []string{"user"}},
	{`{"acceptFrom":["com.example.tier:gold"]}`, nil, []string{"com.example.tier:gold"}},
}

// P6: strict for one's own, tolerant for somebody else's.
func TestP6ReadPolicy(t *testing.T) {
	hostDefault := policydecl.AcceptFrom("host")
	for _, row := range policyCases {
		p, err := policydecl.ParsePolicy([]byte(row.raw))
		wantFaults(t, err, row.want...)
		wantFaults(t, p.Err(), row.want...)
		if _, err := policydecl.PolicyOf(decode(t, row.raw)); !slices.Equal(faults(err), row.want) {
			t.Errorf("PolicyOf(%s): %q, want %q", row.raw, faults(err), row.want)
		}
		lax, err := policydecl.ReadPublished(decode(t, row.raw), hostDefault)
		if got := lax.Tokens(); !slices.Equal(got, row.lax) || got == nil {
			t.Errorf("ReadPublished(%s) = %#v, want %#v", row.raw, got, row.lax)
		}
		if lax.Err() != nil {
			t.Errorf("ReadPublished(%s) is not usable: %v", row.raw, lax.Err())
		}
		// Unknown members are nobody's fault when somebody else wrote them.
		var reported []string
		for _, s := range row.want {
			if !strings.HasSuffix(s, "unknown-member") {
				reported = append(reported, s)
			}
		}
		wantFaults(t, err, reported...)
	}
}

// P6: text that is not one JSON value.
func TestP6PolicyText(t *testing.T) {
	for raw, want := range map[string]string{
		``:                          " wrong-type",
		`{"acceptFrom":["user"]} x`: " wrong-type",
		`{"acceptFrom":["user"]`:    " wrong-type",
		`{"acceptFrom":[],"acceptFrom":["user"]}`: " duplicate",
		"{\"acceptFrom\":[\"\xff\"]}":             " wrong-type",
		`{"acceptFrom":["\ud800"]}`:               " wrong-type",
		strings.Repeat("[", 100):                  " over-limit",
		`{"acceptFrom":["` + strings.Repeat("a", policydecl.MaxPolicyBytes) + `"]}`: " over-limit",
	} {
		p, err := policydecl.ParsePolicy([]byte(raw))
		if got := faults(err); !slices.Equal(got, []string{want}) {
			t.Errorf("%.40q: %q, want %q", raw, got, want)
		}
		l := label(user())
		if d := mustCompile(t, policydecl.Config{}).Decide(t.Context(), &l, p); d.Accepted() || p.IsZero() {
			t.Errorf("%.40q: accepts %v, absent %v", raw, d.Accepted(), p.IsZero())
		}
		kept := policydecl.AcceptFrom("user")
		if err := kept.UnmarshalJSON([]byte(raw)); err == nil || kept.Err() == nil {
			t.Errorf("%.40q: UnmarshalJSON %v leaves %v", raw, err, kept.Tokens())
		}
	}
}

// P6: Go values that a declaration may hold besides what a decoder makes.
func TestPolicyOfGoValues(t *testing.T) {
	p, err := policydecl.PolicyOf(map[string]any{"acceptFrom": []string{"user"}})
	if err != nil || !slices.Equal(p.Tokens(), []string{"user"}) {
		t.Errorf("[]string: %q, %v", p.Tokens(), err)
	}
	if q, err := policydecl.PolicyOf(p); err != nil || q != p {
		t.Errorf("a Policy: %q, %v", q.Tokens(), err)
	}
	if q, err := policydecl.PolicyOf(policydecl.AcceptFrom("User")); err == nil || q.Err() == nil {
		t.Errorf("a Policy with a mistake: %q, %v", q.Tokens(), err)
	}
	self := map[string]any{}
	self["acceptFrom"] = self
	for name, v := range map[string]any{"struct": struct{}{}, "slice": []string{"user"}, "typed": map[string][]string{"acceptFrom": {"user"}}, "cyclic": self} {
		if q, err := policydecl.PolicyOf(v); err == nil || q.Err() == nil || q.IsZero() {
			t.Errorf("%s: %q, %v", name, q.Tokens(), err)
		}
	}
	for name, q := range map[string]policydecl.Policy{"absent": {}, "mistaken": policydecl.AcceptFrom("user", "User")} {
		lax, err := policydecl.ReadPublished(q, policydecl.Policy{})
		if (err != nil) != (name == "mistaken") || lax.Err() != nil || lax.IsZero() {
			t.Errorf("%s: %q, %v", name, lax.Tokens(), err)
		}
	}
	// A server that published no default has the draft's.
	for _, v := range []any{nil, policydecl.Policy{}, map[string]any{}, 5.0} {
		if lax, _ := policydecl.ReadPublished(v, policydecl.Policy{}); lax != policydecl.Default() {
			t.Errorf("ReadPublished(%v) = %q", v, lax.Tokens())
		}
	}
}
