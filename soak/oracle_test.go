package soak_test

import (
	"slices"
	"strings"
)

// Protocol constants, spelt out so that the oracle reads the wire and not the code under
// test.
const (
	keyOrigin    = "io.modelcontextprotocol/flowOrigin"
	keyPolicy    = "io.modelcontextprotocol/flowPolicy"
	keyViolation = "io.modelcontextprotocol/flowPolicyViolation"

	ownURI   = "https://records.example/mcp"
	movedURI = "https://records.example/moved"
)

// contributor is one entry of a label as it has to be read.
type contributor struct{ assurance, principal string }

func (c contributor) json() string {
	if c.principal == "" {
		return `{"assurance":"` + c.assurance + `"}`
	}
	return `{"assurance":"` + c.assurance + `","principal":"` + c.principal + `"}`
}

// label is an origin label as sent, "" for none, and what it means.
type label struct {
	name, text string
	who        []contributor
}

var (
	aUser     = contributor{"user", "urn:mcp:user"}
	anonymous = contributor{"unverified", ""}

	labels = []label{
		{"user", `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`, []contributor{aUser}},
		{"self", `{"contributors":[{"principal":"` + ownURI + `","assurance":"unverified"}],"complete":true}`, []contributor{{"unverified", ownURI}}},
		{"verified", `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":true}`,
			[]contributor{aUser, {"verified", "https://partner.example/mcp"}}},
		{"unverified", `{"contributors":[{"principal":"https://fetch.example/mcp","assurance":"unverified"},{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`,
			[]contributor{{"unverified", "https://fetch.example/mcp"}, aUser}},
		{"incomplete", `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}]}`, []contributor{aUser, anonymous}},
		{"none", ``, []contributor{anonymous}},
		{"malformed", `"user"`, []contributor{anonymous}},
	}
)

// policy is an acceptFrom. nil is the absent one, which is the server's default.
type policy []string

var (
	byDefault  = policy{"self", "user", "host", "verified"}
	bySelfUser = policy{"self", "user"}
	byUser     = policy{"user"}
	bySelf     = policy{"self"}
	byNobody   = policy{}
)

func (p policy) json() string {
	if len(p) == 0 {
		return "[]"
	}
	return `["` + strings.Join(p, `","`) + `"]`
}

// refusal is the whole error object with which p refuses a label, or "" (X2, X3, P7).
func (p policy) refusal(l *label, own string) string {
	var rejected []string
	for _, c := range l.who {
		if !slices.Contains(p, c.assurance) && (c.principal != own || !slices.Contains(p, "self")) {
			rejected = append(rejected, c.json())
		}
	}
	if rejected == nil {
		return ""
	}
	return `{"code":403,"message":"Request rejected by flow policy","data":{"` + keyViolation +
		`":{"rejected":[` + strings.Join(rejected, ",") + `],"acceptFrom":` + p.json() + `}}}`
}

// The modes (M1).
const (
	modeEnforce = "enforce"
	modeReport  = "report"
	modeOff     = "off"
)

// word is what overrides say of one target.
type word struct {
	accept policy
	mode   string // "" for the server's
}

// variant is one state of the policy overrides.
type variant struct {
	file     string // as the operator writes it
	own      string // the server's URI
	default_ policy
	mode     string // the server's
	words    map[string]word
}

var variants = []variant{
	{file: "flowgate: 1\n", own: ownURI, default_: byDefault, mode: modeEnforce},
	{
		file: "flowgate: 1\ndefault: {acceptFrom: [self, user, host]}\ntools:\n  export: {acceptFrom: [user]}\n",
		own:  ownURI, default_: policy{"self", "user", "host"}, mode: modeEnforce,
		words: map[string]word{"tools export": {accept: byUser}},
	},
	{
		file: `flowgate: 1
tools:
  search: {acceptFrom: []}
  texport: {acceptFrom: [user]}
prompts:
  brief: {acceptFrom: []}
resources:
  "records://customers": {acceptFrom: [self]}
templates:
  "notes://item/{id}": {acceptFrom: [user]}
prefixes:
  "file:///public/": {acceptFrom: [user]}
`,
		own: ownURI, default_: byDefault, mode: modeEnforce,
		words: map[string]word{
			"tools search": {accept: byNobody}, "tools texport": {accept: byUser}, "prompts brief": {accept: byNobody},
			"resources records://customers": {accept: bySelf}, "templates notes://item/{id}": {accept: byUser},
			"prefixes file:///public/": {accept: byUser},
		},
	},
	{file: "flowgate: 1\nmode: report\ndangerouslyLoosen: true\n", own: ownURI, default_: byDefault, mode: modeReport},
	{
		file: "flowgate: 1\nuri: " + movedURI + "\ntools:\n  export: {mode: report}\ndangerouslyLoosen: true\n",
		own:  movedURI, default_: byDefault, mode: modeEnforce, words: map[string]word{"tools export": {mode: modeReport}},
	},
	{file: "flowgate: 1\nmode: off\ndangerouslyLoosen: true\n", own: ownURI, default_: byDefault, mode: modeOff},
	{
		file: "flowgate: 1\ntools:\n  hexport: {mode: off}\nprompts:\n  brief: {mode: off}\ndangerouslyLoosen: true\n",
		own:  ownURI, default_: byDefault, mode: modeEnforce,
		words: map[string]word{"tools hexport": {mode: modeOff}, "prompts brief": {mode: modeOff}},
	},
}

// brokenFile has mistakes, so it changes nothing.
const brokenFile = "flowgate: 1\ntools:\n  export: {acceptFrom: [everybody]}\n"

// declared is a target and the policy that the code gives it.
type declared struct {
	target string
	accept policy
}

// modeOf is the mode of a target.
func (v *variant) modeOf(target string) string {
	if m := v.words[target].mode; m != "" {
		return m
	}
	return v.mode
}

// judge returns the refusals that a request may get in one state, any of which will do, and
// those that it would have got where the mode is report. Every policy has to accept.
func (v *variant) judge(code []declared, also []string, l *label) (refused, reported []string) {
	add := func(p policy, target string) {
		text := p.refusal(l, v.own)
		switch {
		case text == "":
		case v.modeOf(target) == modeOff:
		case v.modeOf(target) == modeReport:
			reported = append(reported, text)
		default:
			refused = append(refused, text)
		}
	}
	for _, d := range code {
		if d.accept == nil {
			d.accept = v.default_
		}
		add(d.accept, d.target)
		also = append(also[:len(also):len(also)], d.target)
	}
	for _, target := range also {
		if p := v.words[target].accept; p != nil {
			add(p, target)
		}
	}
	return refused, reported
}
