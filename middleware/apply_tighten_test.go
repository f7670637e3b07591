package middleware_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apTightened gives every route of the matrix a target that overrides can narrow.
var apTightened = map[string]struct {
	kind policydecl.TargetKind
	name string
}{
	"tool": {policydecl.Tool, "search"}, "strict tool": {policydecl.Tool, "export"},
	"optional task tool, at once": {policydecl.Tool, "hexport"}, "optional task tool, as a task": {policydecl.Tool, "hexport"},
	"task tool": {policydecl.Tool, "texport"}, "static resource": {policydecl.Resource, "records://customers"},
	"template": {policydecl.Template, "notes://item/{id}"}, "query template": {policydecl.Template, "notes://export{?data}"},
	"catch-all": {policydecl.Template, "file:///{+path}"}, "prefix": {policydecl.Prefix, "file:///secret/"},
	"subscribe": {policydecl.Resource, "records://customers"}, "listen": {policydecl.Resource, "records://customers"},
	"prompt": {policydecl.Prompt, "brief"}, "prompt completion": {policydecl.Prompt, "brief"},
	"template completion": {policydecl.Template, "notes://item/{id}"}, "strict template completion": {policydecl.Template, "notes://export{?data}"},
	"resource completion": {policydecl.Resource, "records://customers"},
}

// TestApplyTightens narrows every target, to the user and to nobody, and asks by every
// route, over every transport, in both eras, with every label: what is refused is refused
// by the policy of the overrides, and nothing has happened (P4, P5, G2, G4).
func TestApplyTightens(t *testing.T) {
	for _, accept := range []string{"user", ""} {
		t.Run("accept "+accept, func(t *testing.T) {
			o := overrides.Overrides{}
			for _, rt := range routes {
				target := apTightened[rt.name]
				if !slices.ContainsFunc(o.Targets, func(have overrides.Target) bool { return have.Kind == target.kind && have.Name == target.name }) {
					o.Targets = append(o.Targets, apTarget(target.kind, target.name, accept, 0))
				}
			}
			g, lines := everywhere(t, newRecipient(), config())
			apMust(t, g, o)
			id := 0
			for _, l := range lines {
				for _, e := range eras {
					for _, rt := range routes {
						rt.policy = apList(accept)
						for _, lb := range labels {
							id++
							t.Run(l.name+"/"+string(e)+"/"+rt.name+"/"+lb.name, func(t *testing.T) { apTightCell(t, l, e, rt, lb, accept, id) })
						}
					}
				}
			}
		})
	}
}

func apTightCell(t *testing.T, l namedLine, e era, rt route, lb labelRow, accept string, id int) {
	rejected := lb.strict
	if accept == "" && lb.name == "user" {
		rejected = `{"assurance":"user","principal":"urn:mcp:user"}`
	} else if accept == "" && rejected != rejectedBare { // of a label that lists the user too
		rejected = `{"assurance":"user","principal":"urn:mcp:user"},` + rejected
	}
	if accept == "" && lb.name == "incomplete" {
		rejected = `{"assurance":"user","principal":"urn:mcp:user"},` + rejectedBare
	}
	r := rt.request.with(lb.label)
	r.id = strconv.Itoa(9007199254740000 + id)
	if rejected == "" && slices.Contains(rt.effects, "task:created") {
		return // the task's notifications would reach the other lines of this server
	}
	a := l.line.exchange(t, e, r)
	switch {
	case rejected != "":
		checkRefused(t, l, e, a, r.id, refusal(rejected, apList(accept)))
	case rt.only != "" && rt.only != e:
		checkUnknown(t, l, e, a, r.id)
	default:
		checkAccepted(t, l, rt, a, r.id)
	}
}

// apCase is a question after overrides were applied, and the answer: "ran" or the list
// that the refusal names.
type apCase struct {
	name  string
	o     overrides.Overrides
	r     request
	want  string
	label string
}

// TestApplySpecialCases: how the default and the policies of the overrides go together with
// those of the code (P4, P5, R3, R4).
func TestApplySpecialCases(t *testing.T) {
	narrow := func(targets ...overrides.Target) overrides.Overrides {
		return overrides.Overrides{Default: apPolicy("user"), Targets: targets}
	}
	T, R, X := policydecl.Tool, policydecl.Resource, policydecl.Prefix
	const def = "self,user,host,verified"
	apCases(t, []apCase{
		{"default of the overrides", narrow(), call("search", ""), "user", labelV},
		{"and for what the server does not know", narrow(), apSubscribe("gone://x"), "user", labelV},
		{"not for a tool with its own policy", narrow(), call("wide", ""), "ran", labelX},
		{"nor a resource", narrow(), read("wide://r", ""), "ran", labelX},
		{"nor a prefix", narrow(), read("file:///wide/1", ""), "ran", labelX},
		{"nor what has it by hand", narrow(), call("hand", ""), "ran", labelV},
		{"the target's counts, not the default's", narrow(apTarget(T, "search", "user,verified", 0)), call("search", ""), "ran", labelV},
		{"but none beyond the code's default", narrow(apTarget(T, "search", "user,verified", 0)), call("search", ""), "user,verified", labelX},
		{"a prefix's counts, not the default's", narrow(apTarget(X, "notes://item/", "user,verified", 0)), read("notes://item/7", ""), "ran", labelV},
		{"and of a plain resource", narrow(apTarget(R, "plain://r", "user,verified", 0)), read("plain://r", ""), "ran", labelV},
		{"a reading that it does not cover", narrow(apTarget(X, "notes://item/a/", "user,verified", 0)), apSubscribe("notes://item/a/..%2F7"), "user", labelV},
		{"a URI that nothing declares", apOver(apTarget(R, "gone://x", "user,verified", 0)), apSubscribe("gone://x"), "user,verified", labelX},
		{"narrower there", apOver(apTarget(R, "gone://x", "user", 0)), apSubscribe("gone://x"), "user", labelV},
		{"beside the template around it", apOver(apTarget(R, "file:///wide/1", "user,unverified", 0)), read("file:///wide/1", ""), "ran", labelX},
		{"which still counts", apOver(apTarget(R, "file:///wide/1", "verified,user", 0)), read("file:///wide/1", ""), "verified,user", labelX},
		{"nobody", apOver(apTarget(T, "search", "", 0)), call("search", ""), "", labelU},
		{"nobody by default", overrides.Overrides{Default: apPolicy("")}, call("search", ""), "", labelU},
		{"nobody by default, a tool's own", overrides.Overrides{Default: apPolicy("")}, call("export", ""), "ran", labelU},
		{"a later tool", apOver(overrides.Target{Kind: T, Name: "late", Policy: onlyUser, Optional: true}), call("late", ""), "user", labelV},
		{"and one by hand", apOver(overrides.Target{Kind: T, Name: "late hand", Policy: apPolicy(def), Optional: true}), call("late hand", ""), "user,verified", `{"contributors":[{"assurance":"host"}],"complete":true}`},
		{"which must accept besides", apOver(overrides.Target{Kind: T, Name: "late", Policy: apPolicy(def), Optional: true}), call("late", ""), "user,verified", `{"contributors":[{"assurance":"host"}],"complete":true}`},
	})
}

// apCases asks on every transport, with a fresh server for each case.
func apCases(t *testing.T, cases []apCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := apSpecial()
			g, lines := everywhere(t, r, config())
			apMust(t, g, c.o)
			r.try(middleware.AddTool(r.server, mcp.NewTool("late"), apPolicy("user,verified"), r.tool("late")))
			hand := mcp.NewTool("late hand")
			hand.Meta = apHandMeta("user", "verified")
			r.server.AddTool(hand, r.tool("late hand"))
			for _, l := range lines {
				for _, e := range eras {
					if e == modern && c.r.method == "resources/subscribe" && c.want == "ran" {
						continue
					}
					if got := apVerdict(t, l.line, e, c.r.with(c.label)); got != c.want {
						t.Errorf("%s in %s: %q, want %q", l.name, e, got, c.want)
					}
				}
			}
		})
	}
}

// apSpecial is R with some more.
func apSpecial() *recipient {
	r := newRecipient()
	r.try(middleware.AddTool(r.server, mcp.NewTool("wide"), apPolicy(apWide), r.tool("wide")))
	r.try(middleware.AddResource(r.server, mcp.NewResource("wide://r", "r"), apPolicy(apWide), r.resource("r")))
	r.try(middleware.Govern(r.server, policydecl.Prefix, "file:///wide/", apPolicy(apWide)))
	hand := mcp.NewTool("hand")
	hand.Meta = apHandMeta("user", "verified")
	r.server.AddTool(hand, r.tool("hand"))
	r.server.AddResource(mcp.NewResource("plain://r", "r"), r.resource("plain"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("solo://{+path}", "solo"), r.template("solo"))
	return r
}

// TestApplyURI: the server's own URI is whom "self" means, and what records name; the code
// may leave it to the operator (P2).
func TestApplyURI(t *testing.T) {
	const other = "https://other.example/mcp"
	self := func(uri string) string {
		return `{"contributors":[{"principal":"` + uri + `","assurance":"unverified"}],"complete":true}`
	}
	book := newRecordBook()
	cfg := book.config()
	cfg.URI = ""
	if _, err := middleware.New(newRecipient().server, cfg); !slices.Equal(apFaults(t, err), []string{"uri missing"}) {
		t.Errorf("no URI at all: %v", err)
	}
	cfg.Overrides.URI = ownURI
	g, lines := everywhere(t, newRecipient(), cfg)
	if err := g.Apply(overrides.Overrides{}); !slices.Equal(apFaults(t, err), []string{"uri missing"}) {
		t.Errorf("overrides without the URI that the code leaves to them: %v", err)
	}
	for _, step := range []struct{ uri, counts string }{{ownURI, ownURI}, {other, other}, {"HTTPS://Other.Example:443/mcp", other}, {ownURI, ownURI}} {
		apMust(t, g, overrides.Overrides{URI: step.uri})
		for _, l := range lines {
			for _, uri := range []string{ownURI, other} {
				want := "self,user"
				if uri == step.counts {
					want = "ran"
				}
				if got := apVerdict(t, l.line, legacy, call("export", self(uri))); got != want {
					t.Errorf("%s, own URI %s: %s is %q, want %q", l.name, step.uri, uri, got, want)
				}
				if rec := book.one(t); rec.Server != step.counts {
					t.Errorf("record of server %s, want %s", rec.Server, step.counts)
				}
			}
		}
	}
}

// TestApplyDefaultCapability: the capability names the default that counts (D2).
func TestApplyDefaultCapability(t *testing.T) {
	g, lines := everywhere(t, newRecipient(), config())
	for _, step := range []struct {
		o    overrides.Overrides
		want string
	}{
		{overrides.Overrides{}, `{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`},
		{overrides.Overrides{Default: apPolicy("user")}, `{"policy":true,"default":{"acceptFrom":["user"]}}`},
		{overrides.Overrides{Default: apPolicy("")}, `{"policy":true,"default":{"acceptFrom":[]}}`},
		{overrides.Overrides{Mode: middleware.DangerouslyReport, DangerouslyLoosen: true}, `{"policy":false,"default":{"acceptFrom":["self","user","host","verified"]}}`},
		{overrides.Overrides{Mode: middleware.DangerouslyOff, DangerouslyLoosen: true}, ``},
		{overrides.Overrides{}, `{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`},
	} {
		apMust(t, g, step.o)
		for _, l := range lines {
			apCapability(t, l, step.want)
		}
	}
}

// apCapability asserts what a server says of itself in both eras.
func apCapability(t testing.TB, l namedLine, want string) {
	t.Helper()
	for method, e := range map[string]era{"initialize": legacy, "server/discover": modern} {
		var got struct {
			Capabilities struct {
				Flow       json.RawMessage
				Extensions map[string]json.RawMessage
			}
		}
		a := l.line.exchange(t, e, ungatedRequests[method])
		if err := json.Unmarshal(a.reply(t).Result, &got); err != nil {
			t.Fatal(err)
		}
		c := got.Capabilities
		if string(c.Flow) != want || string(c.Extensions["io.modelcontextprotocol/flow"]) != want {
			t.Errorf("%s, %s: %s, want %s", l.name, method, strings.Join([]string{string(c.Flow)}, ""), want)
		}
	}
}
