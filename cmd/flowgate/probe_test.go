package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestProbeExamples(t *testing.T) {
	url := startExample(t, "records-server")
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		r := flowgate(t, "probe", "-era", era, "-url", url, "-tool", "export_records")
		r.wants(t, 0)
		r.golden(t, "probe-"+era, url, "URL")
	}
	run := []string{"probe", "-tool", "export_records", "-run", "-args", `{"table":"products"}`, "-self", "https://mcp.records.example/mcp"}
	flowgate(t, append(run, "-url", url)...).golden(t, "probe-run", url, "URL")
	flowgate(t, append(run, example(t, "records-server")...)...).golden(t, "probe-run-stdio")
	flowgate(t, append(run, "-json", "-url", url)...).golden(t, "probe-run-json", url, "URL")
	flowgate(t, "probe", "-tool", "export_records", "-run", "-url", url).wants(t, 2, `-run: "export_records" requires the arguments "table"; give them with -args`)
	// A tool that only runs as a task is refused before there is one.
	flowgate(t, "probe", "-url", url, "-tool", "archive_records").wants(t, 0, "enforced: ")
	flowgate(t, "probe", "-url", url, "-tool", "nonsense").wants(t, 2, `the server lists no tool "nonsense"; it lists archive_records`)
	fetch := startExample(t, "webfetch-server")
	flowgate(t, "probe", "-url", fetch, "-tool", "fetch_page").wants(t, 0, "the server's default", "enforced: ")
}

// verdictOf runs a probe and returns what it concludes.
func verdictOf(t *testing.T, args ...string) (probeJSON, int) {
	t.Helper()
	r := flowgate(t, append([]string{"probe", "-json", "-tool", "t"}, args...)...)
	var out probeJSON
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	return out, r.status
}

// What happens to a label on the way is told from what the refusals name.
func TestProbeBehindGateways(t *testing.T) {
	selfOrUser := policydecl.AcceptFrom("self", "user")
	user := policydecl.AcceptFrom("user")
	nothing := func(map[string]any) {}
	stripMeta := func(params map[string]any) { delete(params, "_meta") }
	stripLabel := func(params map[string]any) {
		if meta, ok := params["_meta"].(map[string]any); ok {
			delete(meta, policydecl.LabelKey)
		}
	}
	stripStrangers := func(params map[string]any) {
		if text, _ := json.Marshal(params); !strings.Contains(string(text), `"assurance":"user"`) || strings.Contains(string(text), ".invalid") {
			stripLabel(params)
		}
	}
	stripPrincipals := eachContributor(func(c map[string]any) { delete(c, "principal") })
	dropComplete := editLabel(func(label map[string]any) { delete(label, "complete") })
	rename := eachContributor(func(c map[string]any) { c["principal"] = "https://gateway.example/" })
	upgrade := eachContributor(func(c map[string]any) { c["assurance"] = "user" })
	noNames, keyOnly := middleware.Config{Detail: flowerrors.DetailNoPrincipals}, middleware.Config{Detail: flowerrors.DetailKeyOnly}
	withSelf := []string{"-run", "-self", gateURI}
	tests := []struct {
		name   string
		cfg    middleware.Config
		policy policydecl.Policy
		edit   func(map[string]any)
		args   []string
		want   verdict
	}{
		{"nothing happens", middleware.Config{}, selfOrUser, nothing, nil, enforced},
		{"nothing happens, run", middleware.Config{}, selfOrUser, nothing, withSelf, enforced},
		{"wrong self", middleware.Config{}, selfOrUser, nothing, []string{"-run", "-self", "https://other.example/"}, policyDiffers},
		{"_meta stripped", middleware.Config{}, selfOrUser, stripMeta, nil, stripped},
		{"_meta stripped, run", middleware.Config{}, selfOrUser, stripMeta, withSelf, stripped},
		{"label stripped", middleware.Config{}, user, stripLabel, nil, stripped},
		{"label stripped, run", middleware.Config{}, user, stripLabel, []string{"-run"}, stripped},
		{"label stripped, no names", noNames, user, stripLabel, nil, stripped},
		{"label stripped, key only", keyOnly, user, stripLabel, nil, unclear},
		{"label stripped, key only, run", keyOnly, user, stripLabel, []string{"-run"}, unclear},
		{"principals stripped", middleware.Config{}, selfOrUser, stripPrincipals, nil, noPrincipals},
		{"principals stripped, run", middleware.Config{}, selfOrUser, stripPrincipals, withSelf, noPrincipals},
		{"principals stripped, not needed", middleware.Config{}, user, stripPrincipals, nil, enforced},
		{"no names", noNames, selfOrUser, nothing, nil, noPrincipals},
		{"no names, run", noNames, selfOrUser, nothing, withSelf, enforced},
		{"no names, not needed", noNames, user, nothing, nil, enforced},
		{"key only", keyOnly, user, nothing, nil, unclear},
		{"key only, run", keyOnly, user, nothing, []string{"-run"}, enforced},
		{"complete dropped", middleware.Config{}, user, dropComplete, nil, altered},
		{"principals replaced", middleware.Config{}, user, rename, nil, altered},
		{"assurance raised", middleware.Config{}, user, upgrade, nil, notEnforced},
		{"label stripped when it would be refused, run", middleware.Config{}, user, stripStrangers, []string{"-run"}, altered},
		{"accepts all", middleware.Config{}, policydecl.AcceptFrom("self", "user", "host", "verified", "tofu", "unverified"), nothing, nil, acceptsAll},
		{"accepts the unverified", middleware.Config{}, policydecl.AcceptFrom("unverified"), nothing, nil, enforced},
		{"accepts the unverified, stripped", middleware.Config{}, policydecl.AcceptFrom("unverified"), stripMeta, nil, notEnforced},
		{"accepts nobody", middleware.Config{}, policydecl.AcceptFrom(), nothing, []string{"-run"}, enforced},
		{"accepts a principal", middleware.Config{}, policydecl.AcceptFrom("https://p.example/"), nothing, []string{"-run"}, enforced},
		{"accepts a publisher", middleware.Config{}, policydecl.AcceptFrom("publisher:https://p.example/"), nothing, []string{"-run"}, enforced},
		{"accepts itself", middleware.Config{}, policydecl.AcceptFrom("self"), nothing, withSelf, enforced},
		{"refuses only the unverified", noNames, policydecl.AcceptFrom("user", "host", "verified", "tofu"), nothing, nil, unclear},
		{"refuses only the unverified, run", noNames, policydecl.AcceptFrom("user", "host", "verified", "tofu"), nothing, []string{"-run"}, enforced},
		{"refuses only the unverified, stripped", noNames, policydecl.AcceptFrom("user", "host", "verified", "tofu"), stripMeta, []string{"-run"}, stripped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := gateway(t, gated(t, tt.cfg, tt.policy), tt.edit)
			out, status := verdictOf(t, append(tt.args, "-url", url)...)
			if out.Verdict != tt.want || (status == 0) != (tt.want == enforced) {
				text, _ := json.MarshalIndent(out, "", " ")
				t.Errorf("%s, status %d, want %s:\n%s", out.Verdict, status, tt.want, text)
			}
		})
	}
}

// The gateway of the task: it is named, for people, and in a run that is safe.
func TestProbeNamesTheGateway(t *testing.T) {
	url := gateway(t, gated(t, middleware.Config{}, policydecl.AcceptFrom("self", "user")), func(params map[string]any) { delete(params, "_meta") })
	r := flowgate(t, "probe", "-url", url, "-tool", "t")
	r.wants(t, 1, "stripped: No label arrives", "such as a gateway, strips params._meta")
	r.golden(t, "probe-stripped", url, "URL")
}

func TestProbeOtherServers(t *testing.T) {
	const user, flow = `{"acceptFrom":["user"]}`, `{"policy":true}`
	always := func(answer string) func(string) string { return func(string) string { return answer } }
	deny := refusal(`{"rejected":[{"assurance":"unverified"}],"acceptFrom":["user"]}`)
	// An enforcing server, but for one mistake.
	careful := func(mistake func(policydecl.Label, string) string) func(string) string {
		set, err := policydecl.Compile(policydecl.Config{URI: gateURI})
		if err != nil {
			t.Fatal(err)
		}
		return func(text string) string {
			var raw []byte
			if text != "" {
				raw = []byte(text)
			}
			label := policydecl.ParseLabel(raw, policydecl.Limits{})
			if answer := mistake(label, text); answer != "" {
				return answer
			}
			d := set.Decide(t.Context(), &label, policydecl.AcceptFrom("user"))
			if d.Accepted() {
				return ranResult
			}
			return `"error":` + string(d.Violation().AppendError(nil, 0, flowerrors.DetailFull))
		}
	}
	everybody := func(l policydecl.Label, _ string) string {
		d := policydecl.AcceptFrom("https://nobody.example/")
		set, _ := policydecl.Compile(policydecl.Config{URI: gateURI})
		return `"error":` + string(set.Decide(t.Context(), &l, d).Violation().AppendError(nil, 0, flowerrors.DetailFull))
	}
	when := func(class policydecl.Class, answer string) func(policydecl.Label, string) string {
		return func(l policydecl.Label, _ string) string {
			if l.Class() == class {
				return answer
			}
			return ""
		}
	}
	tests := []struct {
		name  string
		f     fake
		args  []string
		want  verdict
		calls int
		text  string
	}{
		{"enforces", fake{flow: flow, policy: user, call: careful(when(99, ""))}, []string{"-run"}, enforced, 25, ""},
		{"enforces nothing", fake{flow: flow, policy: user, call: always(ranResult)}, nil, notEnforced, 1, "ran"},
		{"enforces nothing, run", fake{flow: flow, policy: user, call: always(ranResult)}, []string{"-run"}, notEnforced, 9, "ran"},
		{"answers with a tool error", fake{flow: flow, policy: user, call: always(`"result":{"isError":true,"content":[]}`)}, nil, notEnforced, 1, "got through to the tool"},
		{"takes no label for a good one", fake{flow: flow, policy: user, call: careful(when(policydecl.ClassAbsent, ranResult))}, nil, notEnforced, 16, "(no label) ran"},
		{"takes an empty label for a good one", fake{flow: flow, policy: user, call: careful(when(policydecl.ClassMalformed, ranResult))}, nil, notEnforced, 19, "(a label that lists nobody) ran"},
		{"takes an incomplete label for a good one", fake{flow: flow, policy: user, call: careful(when(policydecl.ClassIncomplete, ranResult))}, nil, notEnforced, 22, "incomplete) ran"},
		{"calls a malformed label invalid", fake{flow: flow, policy: user, call: careful(when(policydecl.ClassMalformed, badParams))}, nil, otherRefusal, 24, "not all met it"},
		{"refuses everything as unlabelled", fake{flow: flow, policy: user, call: always(deny)}, nil, stripped, 24, ""},
		{"refuses everything as unlabelled, run", fake{flow: flow, policy: user, call: always(deny)}, []string{"-run"}, stripped, 25, ""},
		{"refuses by another policy", fake{flow: flow, policy: `{"acceptFrom":["user","host"]}`, call: careful(when(99, ""))}, nil, policyDiffers, 21, "another policy than the one that is published"},
		{"refuses what its policy accepts", fake{flow: flow, policy: `{"acceptFrom":["host"]}`, call: careful(when(99, ""))}, []string{"-run"}, notEnforced, 17, "Refused by a policy that accepts user; published is host."},
		{"refuses whom its policy names", fake{flow: flow, policy: `{"acceptFrom":["user","https://p.example/"]}`, call: careful(when(99, ""))}, []string{"-run"}, policyDiffers, 29, "accepts by name was refused"},
		{"refuses everybody", fake{flow: flow, policy: user, call: careful(everybody)}, []string{"-run"}, policyDiffers, 25, "accepts is refused"},
		{"wants other arguments", fake{flow: flow, policy: user, call: always(badParams)}, nil, otherRefusal, 24, `error -32602, \"missing argument \\x1b[31m\"`},
		{"forbidden", fake{flow: flow, policy: user, call: always("no"), status: 403}, nil, otherRefusal, 24, "HTTP status 403"},
		{"refusal without detail", fake{flow: flow, policy: user, call: always(refusal(`7`))}, nil, unclear, 24, "no readable detail"},
		{"no policy", fake{call: always(ranResult)}, nil, noPolicy, 0, "Nothing was sent"},
		{"no policy, run", fake{call: always(ranResult)}, []string{"-run"}, noPolicy, 7, "enforces none"},
		{"policy hidden, stripped, run", fake{call: always(deny)}, []string{"-run"}, stripped, 19, "draft's default"},
		{"only reports", fake{flow: `{"policy":false}`, policy: user, call: always(ranResult)}, nil, reportOnly, 0, "Nothing was sent"},
		{"only reports, run", fake{flow: `{"policy":false}`, policy: user, call: always(ranResult)}, []string{"-run"}, reportOnly, 9, ""},
		{"vendor token", fake{flow: flow, policy: `{"acceptFrom":["user","com.example.tier:gold"]}`, call: always(ranResult)}, nil, unclear, 0, "com.example.tier:gold"},
		{"vendor token, run", fake{flow: flow, policy: `{"acceptFrom":["user","com.example.tier:gold"]}`, call: always(ranResult)}, []string{"-run"}, unclear, 9, "A matcher of the server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, status := verdictOf(t, append(tt.args, "-url", tt.f.start(t))...)
			all, _ := json.Marshal(out)
			if out.Verdict != tt.want || (status == 0) != (tt.want == enforced) || tt.f.calls != tt.calls || !strings.Contains(string(all), tt.text) {
				t.Errorf("%s, status %d, %d calls; want %s, %d calls, %q:\n%s", out.Verdict, status, tt.f.calls, tt.want, tt.calls, tt.text, all)
			}
		})
	}
}

// The requests that must be refused come first, and the warning before them.
func TestProbeWarns(t *testing.T) {
	url := httptest.NewServer(gated(t, middleware.Config{}, policydecl.AcceptFrom("user")))
	defer url.Close()
	flowgate(t, "probe", "-url", url.URL, "-tool", "t").wants(t, 0, "a server that does not enforce it runs the tool")
	flowgate(t, "probe", "-url", url.URL, "-tool", "t", "-run").wants(t, 0, `WARNING: calls t for real with the arguments {}`)
	out, _ := verdictOf(t, "-run", "-url", url.URL)
	for i, s := range out.Requests {
		if late := i == len(out.Requests)-1; (s.Expect == "accepted") != late {
			t.Errorf("%d: %+v", i, s)
		}
	}
}

// Requests that the policy accepts although they hardly say anything are not sent: they
// would run the tool and show nothing.
func TestProbeSendsNoMoreThanItMust(t *testing.T) {
	s := httptest.NewServer(gated(t, middleware.Config{}, policydecl.AcceptFrom("unverified")))
	defer s.Close()
	out, _ := verdictOf(t, "-run", "-url", s.URL)
	var names []string
	for _, r := range out.Requests {
		names = append(names, r.Name+" "+string(r.Outcome))
	}
	if got := strings.Join(names, ", "); got != "stranger refused, marked refused, marked refused, marked refused, marked refused, accepted result" {
		t.Error(got)
	}
}

// A server that is lost in the middle: what came back is shown, without a verdict.
func TestProbeLosesTheServer(t *testing.T) {
	n := 0
	f := &fake{flow: `{"policy":true}`, policy: `{"acceptFrom":["user"]}`}
	f.call = func(string) string {
		if n++; n > repeats {
			panic(http.ErrAbortHandler) // ends the connection
		}
		return refusal(`{"rejected":[{"assurance":"unverified"}],"acceptFrom":["user"]}`)
	}
	url := f.start(t)
	r := flowgate(t, "probe", "-timeout", "1m", "-url", url, "-tool", "t")
	r.wants(t, 2, "tools/call: cannot reach the server: EOF", "a stranger, unverified, beside an accepted contributor")
	if strings.Contains(r.out, "stripped") {
		t.Error("a verdict without all answers")
	}
}
