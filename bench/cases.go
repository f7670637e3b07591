package bench

import (
	"fmt"
	"strings"
)

// Whom the cases are about.
const (
	ownURI     = "https://records.example/mcp"
	partnerURI = "https://partner.example/mcp"
	fetchURI   = "https://fetch.example/mcp"
	publisher  = "https://acme.example/publisher.json"
)

// Case is one decision: whether a policy accepts a label.
type Case struct {
	Name   string
	Tokens []string
	Label  string // as JSON; null is no label
	Accept bool
}

// Contributors of labels.
const (
	byUser  = `{"principal":"urn:mcp:user","assurance":"user"}`
	byHost  = `{"principal":"urn:mcp:host","assurance":"host"}`
	byOwn   = `{"principal":"` + ownURI + `","assurance":"unverified"}`
	byFetch = `{"principal":"` + fetchURI + `","assurance":"unverified"}`
	byTOFU  = `{"principal":"` + partnerURI + `","assurance":"tofu"}`
	byAcme  = `{"principal":"` + fetchURI + `","assurance":"tofu","publisher":"` + publisher + `"}`
)

// label returns a complete label of the contributors.
func label(contributors ...string) string {
	return `{"contributors":[` + strings.Join(contributors, ",") + `],"complete":true}`
}

// serverN is the URI of the i-th of many servers.
func serverN(i int) string { return fmt.Sprintf("https://mcp%d.partner.example/mcp", i) }

// servers returns n verified contributors.
func servers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = `{"principal":"` + serverN(i) + `","assurance":"verified"}`
	}
	return list
}

// tokens returns n tokens, all URIs, the last of which is last.
func tokens(n int, last string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = serverN(i)
	}
	list[n-1] = last
	return list
}

// defaultTokens is the draft's default policy.
var defaultTokens = []string{"self", "user", "host", "verified"}

// Cases returns the decisions that all engines have to agree on.
func Cases() []Case {
	yes, no := "accept-", "refuse-"
	return []Case{
		{yes + "self", []string{"self", "user"}, label(byUser, byOwn), true},
		{yes + "assurance", defaultTokens, label(byUser, byHost, servers(1)[0]), true},
		{yes + "publisher", []string{"user", "publisher:" + publisher}, label(byUser, byAcme), true},
		{yes + "uri", []string{"user", partnerURI}, label(byUser, byTOFU), true},
		{yes + "contributors-64", defaultTokens, label(servers(64)...), true},
		{yes + "tokens-400", tokens(400, partnerURI), label(byTOFU), true},
		{no + "unverified", []string{"self", "user"}, label(byUser, byFetch), false},
		{no + "publisher", []string{"user", "publisher:" + publisher + "x"}, label(byUser, byAcme), false},
		{no + "incomplete", defaultTokens, `{"contributors":[` + byUser + `],"complete":false}`, false},
		{no + "absent", defaultTokens, `null`, false},
		{no + "contributors-64", defaultTokens, label(append(servers(63), byFetch)...), false},
		{no + "tokens-400", tokens(400, fetchURI), label(byTOFU), false},
	}
}

// Difference is a decision that not all engines can take the way flowgate does, and why.
type Difference struct {
	Case
	From   Form
	Why    string
	Others bool // what the other engines say
}

// Differences returns the decisions in which the others do not follow flowgate.
func Differences() []Difference {
	return []Difference{
		{
			Case{"other-spelling", []string{partnerURI}, label(`{"principal":"HTTPS://Partner.example:443/mcp","assurance":"tofu"}`), true},
			FromDecoded, "they compare URIs as text, and know no canonical form", false,
		},
		{
			Case{"over-budget", defaultTokens, label(servers(257)...), false},
			FromDecoded, "they know no bound for a label", true,
		},
		{
			Case{"said-twice", defaultTokens, `{"contributors":[` + byFetch + `],"contributors":[` + byUser + `],"complete":true}`, false},
			FromJSON, "their decoders let the last of two members of one name win", true,
		},
	}
}
