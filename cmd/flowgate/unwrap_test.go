package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/judge"
)

// What people have at hand around a policy, a label or declarations is taken off, and
// the pointers start at the root of the file all the same.
func TestUnwrap(t *testing.T) {
	const (
		key    = `"io.modelcontextprotocol/flowOrigin"`
		label  = key + `:{"contributors":[{"assurance":"x"}],"complete":true}`
		at     = "/_meta/io.modelcontextprotocol~1flowOrigin/contributors/0/assurance: "
		badTag = `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["x"]}}`
	)
	for _, tt := range []struct {
		text, kind string
		status     int
		want       string
	}{
		{`{"flowPolicy":{"acceptFrom":["x"]}}`, "", 1, "holds   policy\n\n  /flowPolicy/acceptFrom/0: unknown-token"},
		{`{"flowPolicy":{"acceptFrom":["x"]},"flowPolicy":{"acceptFrom":["user"]}}`, "", 1, "/flowPolicy: duplicate"},
		{badTag, "policy", 1, "  /flowPolicy/acceptFrom/0: unknown-token"},
		{`{"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user"]}}}`, "", 0, "holds   policy\n"},
		{`{"policy":true,"default":{"acceptFrom":["x"]}}`, "", 1, "holds   capability\n\n  /default/acceptFrom/0: unknown-token"},
		{`{"policy":false}`, "", 0, "holds   capability\n"},
		{`{"flow":{"policy":"yes"},"tools":{}}`, "", 1, "  /flow/policy: wrong-type"},
		{`{"flow":7}`, "", 1, "  /flow: wrong-type"},
		{`{` + label + `}`, "", 1, "holds   label\n\n  /io.modelcontextprotocol~1flowOrigin/contributors/0/assurance: "},
		{`{"_meta":{` + label + `}}`, "", 1, "  " + at},
		{`{"name":"t","arguments":{},"_meta":{` + label + `}}`, "", 1, "holds   label\n\n  " + at},
		{`{"uri":"x://a","_meta":{` + label + `}}`, "", 1, "holds   label\n"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + label + `}}}`, "", 1, "  /params" + at},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + label + `}}}`, "label", 1, "  /params" + at},
		{`{"tools":[],"_meta":{` + label + `}}`, "", 2, "list of tools (tools), label (_meta); use -kind"},
		{`{"tools":[],"_meta":{` + label + `}}`, "tool", 0, "holds   tools\n"},

		{`[` + badTag + `]`, "", 1, "holds   tools\n"},
		{`[` + badTag + `]`, "", 1, "tools[0] t\n  /flowPolicy/acceptFrom/0: "},
		{`[7,{"name":"a"},` + badTag + `]`, "", 1, "3 declarations"},
		{`[{"name":"a"},{"name":"a"}]`, "prompt", 1, "prompts[1] a\n  /name: duplicate"},
		{`[{"uri":"x://a","name":"a"}]`, "", 0, "holds   resources\n"},
		{`[{"name":"a"}]`, "", 2, "say -kind tool or -kind prompt"},
		{`[]`, "", 2, "an empty array"},
		{`[]`, "tool", 0, "holds   tools\n"},
		{`[` + badTag + `,{"uri":"x://a","name":"a"}]`, "", 2, "an array of more than one thing: tool, resource; use -kind"},
		{`[` + badTag + `,{"uri":"x://a","name":"a"}]`, "tool", 1, "tools[1] a\n"},
		{`[1]`, "", 2, "an array of neither tools, resources, templates nor prompts"},
		{`[{"tools":[]}]`, "", 2, "an array of neither"},
		{`["self","user"]`, "", 2, `an array of strings; for a flow policy write {"acceptFrom":[...]}`},
		{`{"jsonrpc":"2.0","id":1,"result":[` + badTag + `]}`, "", 1, "tools[0] t\n"},

		{"\xef\xbb\xbf{}", "", 2, "begins with a byte order mark, which JSON must not have (RFC 8259); save it as UTF-8 without one"},
		{"\xff\xfe{\x00}\x00", "tool", 2, "looks like UTF-16; save it as UTF-8"},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}", "", 2, "looks like an HTTP answer with its head, as curl -i shows it; save the body alone"},
		{"HTTP/2 200 \r\n\r\n", "", 2, "as curl -i shows it"},
		{"event: message\r\ndata: {}\r\n\r\n", "", 2, "looks like a stream of events (text/event-stream); save what follows data: in the event that holds the answer"},
		{": ping\n\ndata: {}\n\n", "", 2, "not valid JSON"},
		{": ping\ndata: {}\n\n", "", 2, "a stream of events"},
		{"data: {}", "policy", 2, "a stream of events"},
		{"<!doctype html>\x1b[2J", "", 2, "looks like HTML or XML"},
	} {
		validateText(t, tt.text, tt.kind).wants(t, tt.status, tt.want)
	}
}

// What could be more than one thing is none until somebody says which.
func TestAmbiguousDocuments(t *testing.T) {
	for text, want := range map[string]string{
		`{"capabilities":{},"tools":[{"name":"u"}]}`:                       "initialize (capabilities), list of tools (tools); use -kind",
		`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{},"tools":[]}}`: "initialize (capabilities), list of tools (tools)",
		`{"tools":[],"resources":[]}`:                                      "list of tools (tools), list of resources (resources)",
		`{"tools":[],"flowPolicy":{"acceptFrom":["user"]}}`:                "list of tools (tools), policy (flowPolicy)",
		`{"acceptFrom":["user"],"contributors":[]}`:                        "policy (acceptFrom), label (contributors)",
		`{"name":"t","inputSchema":{"type":"object"},"uri":"x://a"}`:       "tool (inputSchema), resource (uri)",
		`{"name":"t","uriTemplate":"x://{a}","uri":"x://a"}`:               "template (uriTemplate), resource (uri)",
		`{"name":"t","inputSchema":{"type":"object"},"tools":[]}`:          "tool (inputSchema), list of tools (tools)",
		`{"code":403,"message":"x","acceptFrom":["user"]}`:                 "policy (acceptFrom), violation (code)",
		`{"capabilities":{},"flow":{"policy":true}}`:                       "initialize (capabilities), capability (flow)",
		`{"contributors":[],"flowPolicy":{"acceptFrom":[]}}`:               "label (contributors), policy (flowPolicy)",
	} {
		validateText(t, text, "").wants(t, 2, "it has members of more than one thing: ", want)
	}
	for text, want := range map[string]string{ // these are one thing
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["user"]}}`: "holds   tool\n",
		`{"flow":{"policy":true},"tools":{},"resources":{}}`:                                                                 "holds   capability\n",
		`{"rejected":[],"acceptFrom":[]}`:                                                                                    "holds   violation\n",
		`{"capabilities":{},"tools":{}}`:                                                                                     "holds   initialize\n",
		`{"contributors":[{"assurance":"user"}],"complete":true,"code":1}`:                                                   "holds   label\n",
	} {
		validateText(t, text, "").wants(t, 0, want)
	}
	flowgate(t, "explain", "-policy", `{"flowPolicy":{"acceptFrom":["user"]},"tools":[]}`).wants(t, 2, "-policy: this has members of more than one thing: list of tools (tools), policy (flowPolicy); give the policy alone")
}

// Where a table says the draft's default, JSON says source draft.
func TestDraftDefaultInBoth(t *testing.T) {
	const text = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	validateText(t, text, "").wants(t, 0, "tool  t     (the draft's default)  ok\n")
	r := flowgateWith(t.Context(), t, text, "validate", "-json", "-")
	var out validateJSON
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || out.Entries[0].Policy.Source != "draft" || len(out.Entries[0].Policy.AcceptFrom) != 4 {
		t.Errorf("%v %s", err, r.out)
	}
	r = flowgateWith(t.Context(), t, "rubbish", "validate", "-json", "-")
	r.wants(t, 2, `"error": "cannot read standard input: not valid JSON, at byte 0"`)
}

// explain takes the same for a policy and for a label, and tells what it took.
func TestExplainUnwraps(t *testing.T) {
	const none = "Note: there is no flow policy in it, so the draft's default is judged below."
	for _, tt := range []struct {
		policy, label string
		status        int
		want          string
	}{
		{`{"name":"t","inputSchema":{},"flowPolicy":{"acceptFrom":["user"]}}`, userLabel, 0, "Note: the policy was taken from /flowPolicy.\n\npolicy  user\n"},
		{`{"flowPolicy":{"acceptFrom":["user","User"]}}`, userLabel, 1, "  /flowPolicy/acceptFrom/1: unknown-token"},
		{`{"flowPolicy":7}`, userLabel, 1, "Note: this is no policy; a host falls back to the draft's default, which is judged below."},
		{`{"name":"t","_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user"]}}}`, userLabel, 0, "taken from /_meta/io.modelcontextprotocol~1flowPolicy."},
		{`{"policy":true,"default":{"acceptFrom":["user"]}}`, userLabel, 0, "taken from /default."},
		{`{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}`, userLabel, 0, "taken from /flow/default."},
		{`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}}`, userLabel, 0, "taken from /result/capabilities/flow/default."},
		{`{"policy":true}`, userLabel, 0, none + "\n\npolicy  self, user, host, verified (the draft's default)\n"},
		{`{"name":"t","inputSchema":{}}`, userLabel, 0, none},
		{`{"hello":1}`, userLabel, 1, "this is no policy"},

		{"user", `{"io.modelcontextprotocol/flowOrigin":` + userLabel + `}`, 0, "taken from /io.modelcontextprotocol~1flowOrigin."},
		{"user", `{"_meta":{"io.modelcontextprotocol/flowOrigin":` + userLabel + `}}`, 0, "taken from /_meta/"},
		{"user", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/flowOrigin":` + userLabel + `}}}`, 0, "taken from /params/_meta/"},
		{"user", `{"_meta":{"io.modelcontextprotocol/flowOrigin":{"contributors":7}}}`, 1, "  /_meta/io.modelcontextprotocol~1flowOrigin/contributors: wrong-type"},
		{"user", `{"method":"tools/call","params":{"name":"t"}}`, 1, "Note: the request carries no label: there is no io.modelcontextprotocol/flowOrigin in its params._meta."},
		{"user", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, 1, "the request carries no label"},
		{"user", `{"complete":true}`, 1, "/contributors: missing"},

		{"self user", userLabel, 0, "policy  self, user\n"},
		{"self,  user\thost", userLabel, 0, "policy  self, user, host\n"},
		{"[self user]", userLabel, 0, "policy  self, user\n"},
		{"[user]", userLabel, 0, "policy  user\n"},
		{`["self","user"]`, userLabel, 1, `write {"acceptFrom":[...]} or -policy user,self [P6]`},
		{`[]`, userLabel, 1, `write {"acceptFrom":[...]} or -policy user,self`},
		{`[7]`, userLabel, 1, `this is no policy`},
	} {
		flowgate(t, "explain", "-policy", tt.policy, "-label", tt.label).wants(t, tt.status, tt.want)
	}
	file := filepath.Join(t.TempDir(), "label")
	if err := os.WriteFile(file, []byte("HTTP/1.1 200 OK\r\n\r\n{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	flowgate(t, "explain", "-policy", "user", "-label", "@"+file).wants(t, 2, "as curl -i shows it; save the body alone")
}

// Without -self nothing matches self, whatever a label names.
func TestExplainWithoutSelf(t *testing.T) {
	r := flowgate(t, "explain", "-policy", "self", "-label", `{"contributors":[{"principal":"`+judge.PlaceholderSelf+`","assurance":"verified"}],"complete":true}`)
	r.wants(t, 1, "self  unknown without -self\n", "Note: self is the server's own URI, which is unknown without -self, so it matches nothing here.", "Refused.")
	// Mistakes come first, and are no reason to ask for more.
	r = flowgate(t, "explain", "-policy", `{"acceptFrom":["self",7]}`, "-label", userLabel)
	r.wants(t, 1, "unknown without -self")
	if !strings.HasPrefix(r.out, "The policy has mistakes:\n  /acceptFrom/1: wrong-type") {
		t.Error(r.out)
	}
}

// URIs that look alike are told apart.
func TestExplainSaysWhatDiffers(t *testing.T) {
	const self = "https://records.example/mcp"
	for principal, want := range map[string]string{
		self + "/":                         "; they differ only in a trailing slash",
		"https://records.example/MCP":      "; they differ only in letter case",
		"https://records.example/Mcp/":     "; they differ only in letter case and a trailing slash",
		"http://records.example/mcp":       "; they differ only in the scheme",
		"https://records.example:8443/mcp": "; they differ only in the port",
		self + "?a=b":                      "; they differ only in the query",
		self + "#f":                        "",
		"https://other.example/mcp":        "",
		"https://records.example/other":    "",
	} {
		label := `{"contributors":[{"principal":"` + principal + `","assurance":"verified"}],"complete":true}`
		for _, args := range [][]string{{"-policy", "self", "-self", self}, {"-policy", self}} {
			r := flowgate(t, append([]string{"explain", "-label", label}, args...)...)
			if r.status != 1 || want != "" && !strings.Contains(r.out, want+"\n") || want == "" && strings.Contains(r.out, "they differ only") {
				t.Errorf("%s: status %d\n%s", principal, r.status, r.out)
			}
		}
	}
	for _, tt := range [][3]string{
		{"urn:example:A", "urn:example:a", "; they differ only in letter case"},
		{"urn:mcp:user", "com.example.tier:mcp:user", ""},
		{"https://a.example/%41", "https://a.example/A", "; they differ only in percent-encoding"},
		{"https://a.example/a%2Fb", "https://a.example/a/b", "; they differ only in percent-encoding"},
		{"http://A.example:80/x/?q", "https://a.example/X", ""},
		{"", "user", ""}, {"%", "https://a.example/", ""}, {"https://a.example/", "%", ""},
	} {
		if got := nearly(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q %q: %q", tt[0], tt[1], got)
		}
	}
	r := flowgate(t, "explain", "-policy", "publisher:https://p.example/a", "-label", `{"contributors":[{"assurance":"verified","publisher":"https://p.example/a/"}],"complete":true}`)
	r.wants(t, 1, "they differ only in a trailing slash")
}
