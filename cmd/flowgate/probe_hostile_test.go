package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const flowTrue = `{"policy":true}`

// deciding answers as a server that enforces one policy and tells that it enforces another.
func deciding(t *testing.T, enforce, tell policydecl.Policy, detail flowerrors.Detail, matches func(policydecl.Label) bool) func(string) string {
	t.Helper()
	set, err := policydecl.Compile(policydecl.Config{URI: gateURI})
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) string {
		label := policydecl.Label{}
		if text != "" {
			label = policydecl.ParseLabel([]byte(text), policydecl.Limits{})
		}
		d := set.Decide(t.Context(), &label, enforce)
		if d.Accepted() || matches != nil && matches(label) {
			return ranResult
		}
		v := *d.Violation()
		v.AcceptFrom = tell.Tokens()
		return `"error":` + string(v.AppendError(nil, 0, detail))
	}
}

// A server may accept any state that it does not publish, and hide it: each one is tried,
// the least assured first, and nothing after the one that ran.
func TestProbeTriesEveryState(t *testing.T) {
	published := policydecl.AcceptFrom("user")
	for _, detail := range []flowerrors.Detail{flowerrors.DetailFull, flowerrors.DetailKeyOnly} {
		for state, calls := range map[string]int{"tofu": 7, "verified": 10, "host": 13} {
			f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`}
			f.call = deciding(t, policydecl.AcceptFrom("user", state), published, detail, nil)
			out, status := verdictOf(t, "-url", f.start(t))
			if out.Verdict != notEnforced || status != 1 || !strings.Contains(out.Text, "(a stranger, "+state+", alone) ran") || f.calls != calls {
				t.Errorf("%s: %s, status %d, %d calls: %s", state, out.Verdict, status, f.calls, out.Text)
			}
		}
	}
}

// Whoever compares no more than the beginning of a name accepts somebody else.
func TestProbeTriesOtherNames(t *testing.T) {
	begins := func(prefix string) func(policydecl.Label) bool {
		return func(l policydecl.Label) bool {
			c := l.At(0)
			return l.Complete() && (strings.HasPrefix(c.Principal(), prefix) || strings.HasPrefix(c.Publisher(), prefix))
		}
	}
	for token, prefix := range map[string]string{
		"https://p.example/a":           "https://p.example/a",
		"urn:example:a":                 "urn:example:a",
		"publisher:https://p.example/a": "https://p.example/a",
		"self":                          gateURI,
	} {
		policy := policydecl.AcceptFrom("user", token)
		f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user","` + token + `"]}`}
		f.call = deciding(t, policy, policy, flowerrors.DetailFull, nil)
		url := f.start(t)
		if out, status := verdictOf(t, "-run", "-self", gateURI, "-url", url); out.Verdict != enforced || status != 0 {
			t.Errorf("%s: %+v", token, out)
		}
		f.call = deciding(t, policy, policy, flowerrors.DetailFull, begins(prefix))
		if out, _ := verdictOf(t, "-self", gateURI, "-url", url); out.Verdict != notEnforced || !strings.Contains(out.Text, "is nearly ") {
			t.Errorf("%s: %s %s", token, out.Verdict, out.Text)
		}
	}
}

// The number of requests has a bound, whatever a policy lists.
func TestProbeIsBounded(t *testing.T) {
	var list []string
	for i := range 200 {
		list = append(list, fmt.Sprintf("https://p%d.example/", i), fmt.Sprintf("publisher:https://q%d.example/", i))
	}
	s := httptest.NewServer(gated(t, middleware.Config{}, policydecl.AcceptFrom(append(list, "self")...)))
	defer s.Close()
	out, _ := verdictOf(t, "-run", "-self", gateURI, "-url", s.URL)
	sent := 0
	for _, r := range out.Requests {
		sent += max(r.Times, 1)
	}
	if out.Verdict != enforced || len(out.Requests) > 14 || sent > 40 {
		t.Errorf("%s, %d requests, sent %d times", out.Verdict, len(out.Requests), sent)
	}
}

// replicas serves connections in turn.
func replicas(t *testing.T, first int64, handlers ...http.Handler) string {
	type number struct{}
	n := first - 1
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[r.Context().Value(number{}).(int64)%int64(len(handlers))].ServeHTTP(w, r)
	}))
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, number{}, atomic.AddInt64(&n, 1))
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// Behind one URL there can be servers that are not alike. No order of theirs makes a probe
// call that enforced.
func TestProbeReplicas(t *testing.T) {
	policy := policydecl.AcceptFrom("user")
	good := func() http.Handler {
		return &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, call: deciding(t, policy, policy, flowerrors.DetailFull, nil)}
	}
	deny := refusal(`{"rejected":[{"assurance":"unverified"}],"acceptFrom":["user"]}`)
	for name, tt := range map[string]struct {
		call func(string) string
		want verdict
		text string
	}{
		"enforces nothing": {func(string) string { return ranResult }, notEnforced, ""},
		"accepts the host": {deciding(t, policydecl.AcceptFrom("user", "host"), policy, flowerrors.DetailFull, nil), notEnforced, "host, alone) ran"},
		"accepts no label": {func(text string) string {
			return map[bool]string{true: ranResult, false: good().(*fake).call(text)}[text == ""]
		}, notEnforced, "(no label) ran"},
		"gets no label":      {func(string) string { return deny }, unclear, "is not always answered alike"},
		"wants other things": {func(string) string { return badParams }, unclear, "another time: "},
		"shows less":         {deciding(t, policy, policy, flowerrors.DetailKeyOnly, nil), unclear, "Several servers may stand behind this URL"},
	} {
		for n := 2; n <= repeats; n++ {
			for first := range int64(n) {
				servers := []http.Handler{&fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, call: tt.call}, good(), good()}[:n]
				out, status := verdictOf(t, "-url", replicas(t, first, servers...))
				if out.Verdict != tt.want || status != 1 || !strings.Contains(out.Text, tt.text) {
					t.Errorf("%s, %d from %d: %s, status %d: %s", name, n, first, out.Verdict, status, out.Text)
				}
			}
		}
	}
	r := flowgate(t, "probe", "-tool", "t", "-url", replicas(t, 0, good(), good()))
	r.wants(t, 0, "enforced: ", "sent 3 times, on connections of their own. Whether everything behind this URL answers alike cannot be known.",
		"Whether the server accepts somebody whom the policy does not name cannot be known.")
}

const (
	refusalData  = `{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[],"acceptFrom":[]}}`
	refusalError = `"error":{"code":403,"message":"Request_rejected_by_flow_policy","data":` + refusalData + `}}`
	refused403   = `{"jsonrpc":"2.0","id":%,` + refusalError
)

// What comes with a refusal can take back what it says. _ stands for a space.
var hostile = []struct {
	name, said string
	want       verdict
	text       string
}{
	{"nothing", refused403, enforced, ""},
	{"another code", strings.Replace(refused403, "403", "4711", 1), enforced, ""},
	{"a null id", `{"jsonrpc":"2.0","id":null,` + refusalError, otherRefusal, "(X1), so it proves nothing"},
	{"no id", `{"jsonrpc":"2.0",` + refusalError, otherRefusal, "(X1), so it proves nothing"},
	{"a null id, could not be read", `{"jsonrpc":"2.0","id":null,` + strings.Replace(refusalError, "403", "-32700", 1), otherRefusal, "(X1), so it proves nothing"},
	{"a null id, then a result", `{"jsonrpc":"2.0","id":null,` + refusalError + ` {"jsonrpc":"2.0","id":%,"result":{}}`, notEnforced, ""},
	{"a reserved code", strings.Replace(refused403, "403", "-32000", 1), flawed, "its code is -32000"},
	{"a code that is no number", strings.Replace(refused403, "403", `"403"`, 1), flawed, "its code is no integer (X3)"},
	{"another message", strings.Replace(refused403, "Request_rejected", "\\u001b[31mno", 1), flawed, `its message is \"\\x1b[31mno by flow policy\", not the constant`},
	{"no version", `{"id":%,` + refusalError, flawed, "it lacks jsonrpc"},
	{"two codes", strings.Replace(refused403, `"code"`, `"code":1,"code"`, 1), flawed, "can be read in two ways (L8)"},
	{"a mistake in the detail", strings.Replace(refused403, `"rejected":[]`, `"rejected":[{"assurance":"User"}]`, 1), altered, "its detail has a mistake: /rejected/0/assurance"},
	{"a result follows", refused403 + ` {"jsonrpc":"2.0","id":%,"result":{}}`, notEnforced, "was refused and then ran"},
	{"a tool error follows", refused403 + ` {"jsonrpc":"2.0","id":%,"result":{"isError":true}}`, notEnforced, "was refused and then ran"},
	{"a refusal follows", refused403 + " " + refused403, flawed, "another answer to the same request follows it (X1)"},
	{"it asks first", `{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{}} ` + refused403, notEnforced, `a handler had begun: the server sent \"elicitation/create\"`},
	{"progress first", `{"jsonrpc":"2.0","method":"notifications/progress","params":{}} ` + refused403, notEnforced, "(G2)"},
}

func TestProbeReadsWhatComesWithARefusal(t *testing.T) {
	check := func(t *testing.T, want verdict, text string, args ...string) {
		t.Helper()
		timeout := "1m"
		if want == otherRefusal { // what names no request is waited beside, for a part of this
			timeout = "5s"
		}
		r := flowgate(t, append([]string{"probe", "-json", "-tool", "t", "-run", "-timeout", timeout}, args...)...)
		if !strings.Contains(r.out, `"verdict": "`+string(want)+`"`) || (r.status == 0) != (want == enforced) || !strings.Contains(r.out, text) {
			t.Errorf("status %d, want %s, %q:\n%s%s", r.status, want, text, r.out, r.err)
		}
		if args[0] == "-url" {
			flowgate(t, append([]string{"probe", "-tool", "t"}, args...)...) // looks for what a terminal obeys
		}
	}
	// runs answers what the policy accepts with a result, so that silence is no doubt.
	runs := func(said, id, label string) string {
		if label == userLabel {
			said = `{"jsonrpc":"2.0","id":%,"result":{}}`
		}
		return strings.ReplaceAll(strings.ReplaceAll(said, "_", " "), "%", id)
	}
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, raw: func(w http.ResponseWriter, id, label string) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, part := range strings.Split(tt.said, " ") {
					fmt.Fprintf(w, "data: %s\n\n", runs(part, id, label))
					if label == userLabel {
						return
					}
				}
			}}
			check(t, tt.want, tt.text, "-url", f.start(t))
			if !strings.Contains(tt.said, " ") {
				f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, raw: func(w http.ResponseWriter, id, label string) {
					fmt.Fprint(w, runs(tt.said, id, label))
				}}
				check(t, tt.want, tt.text, "-url", f.start(t))
			}
			t.Setenv(modeVariable, "says")
			t.Setenv(saidVariable, tt.said)
			check(t, tt.want, tt.text, "-stdio", "--", self(t))
		})
	}
}

// What is published besides can make a host take the tool for another than the one that
// was probed.
func TestProbeLooksAtWhatIsPublished(t *testing.T) {
	const head = `"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["user"]}`
	const meta = `"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":`
	policy := policydecl.AcceptFrom("user")
	for name, tt := range map[string]struct {
		flow, tools string
		want        verdict
		texts       []string
	}{
		"nothing":                      {flowTrue, `{` + head + `,` + meta + `["user"]}}}`, enforced, nil},
		"another tool is wrong":        {flowTrue, `{` + head + `},{"name":"u","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["User"]}}`, enforced, nil},
		"a copy that differs (D1)":     {flowTrue, `{` + head + `,` + meta + `["user","verified"]}}}`, flawed, []string{"Its declaration has a mistake: /_meta/", "it differs from flowPolicy"}},
		"a member that is there twice": {flowTrue, `{` + head + `,"flowPolicy":{"acceptFrom":["user"]}}`, flawed, []string{"/flowPolicy: duplicate"}},
		"a _meta that is there twice":  {flowTrue, `{` + head + `,"_meta":{},` + meta + `["user"]}}}`, flawed, []string{"/_meta: duplicate"}},
		"no schema":                    {flowTrue, `{` + strings.Replace(head, `"inputSchema":{"type":"object"},`, "", 1) + `}`, enforced, []string{"Its declaration has 1 mistake that does not touch the policy"}},
		"an unknown token":             {flowTrue, `{` + strings.Replace(head, `"user"`, `"user","User"`, 1) + `}`, flawed, []string{"/flowPolicy/acceptFrom/1"}},
		"listed twice":                 {flowTrue, `{` + head + `},{` + head + `}`, flawed, []string{"The tool is listed 2 times"}},
		"listed twice, the second lax": {flowTrue, `{` + head + `},{` + strings.Replace(head, `"user"`, `"user","host"`, 1) + `}`, policyDiffers, []string{"Also published for the tool: user, host.", "listed 2 times"}},
		"not announced (D2)":           {"", `{` + head + `}`, flawed, []string{"The answer to initialize has a mistake: /capabilities/flow: missing"}},
		"announced oddly (D2)":         {`{"policy":true,"default":7}`, `{` + head + `}`, flawed, []string{"/capabilities/flow/default"}},
		"a schema that is wrong":       {flowTrue, `{` + strings.Replace(head, `"object"`, `"object","properties":{"a":{"type":"strng"}}`, 1) + `}`, enforced, []string{"Its declaration has 1 mistake that does not touch the policy; flowgate validate shows more."}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{flow: tt.flow, tools: `{"tools":[` + tt.tools + `]}`}
			f.call = deciding(t, policy, policy, flowerrors.DetailKeyOnly, nil)
			r := flowgate(t, "probe", "-tool", "t", "-run", "-url", f.start(t))
			r.wants(t, map[bool]int{true: 0, false: 1}[tt.want == enforced], append(tt.texts, string(tt.want)+": ")...)
		})
	}
}

// Where -run was given it is not recommended, and an error of the server's own does not
// show that a label arrived: it can come before the gate (G1).
func TestProbeRunAndNothingRan(t *testing.T) {
	policy := policydecl.AcceptFrom("user")
	decide := deciding(t, policy, policy, flowerrors.DetailKeyOnly, nil)
	f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, call: func(label string) string {
		if answer := decide(label); answer != ranResult {
			return answer
		}
		return badParams
	}}
	r := flowgate(t, "probe", "-tool", "t", "-run", "-url", f.start(t))
	r.wants(t, 1, "unclear: ", "the request that the policy accepts did not run either")
	if strings.Contains(r.out, "-run") {
		t.Error(r.out)
	}
}
