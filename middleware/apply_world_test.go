package middleware_test

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apWorld is R with more ways to declare something, or nothing: by helpers, by hand, by
// mcp-go's own methods, for one session, and after the overrides.
type apWorld struct {
	gate    *middleware.Gate
	ran     *tally
	line    *httpLine
	session string
}

const apWide = "user,verified,unverified"

// apHandMeta is a policy that an author has written into a declaration's _meta.
func apHandMeta(accept ...any) *mcp.Meta {
	return &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": accept}}}
}

// newApServer builds the world's server without a gate.
func newApServer() (*recipient, *sessions) {
	r, s := newSessionRecipient()
	hand, one, wide := mcp.NewTool("hand"), mcp.NewResource("plain://a/hand", "hand"), mcp.NewResource("plain://a/wide", "wide")
	hand.Meta, one.Meta, wide.Meta = apHandMeta("user", "verified"), apHandMeta("user", "verified"), apHandMeta("user", "unverified")
	r.server.AddTool(hand, r.tool("hand"))
	r.server.AddTool(mcp.NewTool("bare"), r.tool("bare"))
	r.server.AddPrompt(mcp.NewPrompt("open"), noPrompt)
	r.server.AddResource(mcp.NewResource("plain://a/one", "one"), r.resource("one"))
	r.server.AddResource(mcp.NewResource("mix://h/1", "mix"), r.resource("mix"))
	r.server.AddResource(one, r.resource("hand"))
	r.server.AddResource(wide, r.resource("wide"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("solo://h/{id}", "solo"), r.template("solo"))
	r.try(middleware.AddTool(r.server, mcp.NewTool("wide"), apPolicy(apWide), r.tool("wide")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("mix://{+path}", "mixed"), apPolicy(apWide), r.template("mixed")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("over://{+path}", "over"), apPolicy(apWide), r.template("over")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("over://h/{id}", "h"), apPolicy("user,verified"), r.template("h")))
	r.try(middleware.Govern(r.server, policydecl.Prefix, "over://h/s/", selfUser))
	return r, s
}

// newApWorld serves such a server behind its gate, with what comes late.
func newApWorld(t testing.TB, g *middleware.Gate, r *recipient, s *sessions) *apWorld {
	t.Helper()
	r.try(middleware.AddTool(r.server, mcp.NewTool("late"), apPolicy("user,verified"), r.tool("late")))
	r.try(middleware.AddResource(r.server, mcp.NewResource("late://r", "late"), apPolicy("user,unverified"), r.resource("late")))
	r.server.AddPrompt(mcp.NewPrompt("late"), noPrompt)
	byHand := mcp.NewTool("late hand")
	byHand.Meta = apHandMeta("user", "verified")
	r.server.AddTool(byHand, r.tool("late hand"))
	h, err := g.Handler()
	if err != nil {
		t.Fatal(err)
	}
	w := &apWorld{gate: g, ran: r.ran, line: listenHTTP(t, h, r.ran)}
	w.session = openKnown(t, w.line, s)
	for _, err := range []error{
		middleware.AddSessionTool(r.server, w.session, mcp.NewTool("own"), apPolicy("user,unverified"), r.tool("own")),
		middleware.AddSessionTool(r.server, w.session, mcp.NewTool("export"), noPolicy, r.tool("own export")),
		middleware.AddSessionTool(r.server, w.session, mcp.NewTool("search"), noPolicy, r.tool("own search")),
		middleware.AddSessionResource(r.server, w.session, mcp.NewResource("own://r", "r"), apPolicy("user,unverified"), r.resource("own r")),
		middleware.AddSessionResource(r.server, w.session, mcp.NewResource("own://bare", "b"), noPolicy, r.resource("own bare")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// apDecl is what the code says of one target.
type apDecl struct {
	kind    policydecl.TargetKind
	name    string
	accept  string // "-" for the default
	session bool
}

// apRoute is a request and, written by hand, what governs it.
type apRoute struct {
	name    string
	request request
	era     era
	named   *apDecl  // the tool or prompt; nil for a URI
	code    []apDecl // declarations that the URI matches
	matches []string // what else overrides could name that matches it
	plain   string   // the URI of a resource that no helper has registered, without a policy
	odd     bool     // several readings: for the property alone
}

func apNamed(req request, kind policydecl.TargetKind, name, accept string) apRoute {
	return apRoute{name: req.method + " " + name, request: req, era: legacy, named: &apDecl{kind: kind, name: name, accept: accept}}
}

func apURI(req request, code []apDecl, matches ...string) apRoute {
	return apRoute{name: req.method + " " + req.params, request: req, era: legacy, code: code, matches: matches}
}

func apPrompt(name string) request {
	return request{method: "prompts/get", params: `"name":"` + name + `"`, name: name}
}

func apSubscribe(uri string) request {
	return request{method: "resources/subscribe", params: `"uri":"` + uri + `"`}
}

func apListen(uri string) request {
	return request{method: "subscriptions/listen", params: `"notifications":{"resourceSubscriptions":["` + uri + `"]}`}
}

func apCompleteURI(uri string) request {
	return complete(`{"type":"ref/resource","uri":"` + uri + `"}`)
}

// The declarations of the world that URIs match.
var (
	apCustomers = []apDecl{{kind: policydecl.Resource, name: "records://customers", accept: "self,user"}}
	apExport    = []apDecl{{kind: policydecl.Template, name: "notes://export{?data}", accept: "user"}}
	apSecret    = []apDecl{{kind: policydecl.Prefix, name: "file:///secret/", accept: "user"}}
	apOverAll   = apDecl{kind: policydecl.Template, name: "over://{+path}", accept: apWide}
	apOverH     = apDecl{kind: policydecl.Template, name: "over://h/{id}", accept: "user,verified"}
	apOverS     = apDecl{kind: policydecl.Prefix, name: "over://h/s/", accept: "self,user"}
	apMixed     = []apDecl{{kind: policydecl.Template, name: "mix://{+path}", accept: apWide}}
)

// apRoutes are the requests of the property.
func apRoutes() []apRoute {
	T, P, R := policydecl.Tool, policydecl.Prompt, policydecl.Resource
	out := []apRoute{
		apNamed(call("search", ""), T, "search", "-"), apNamed(call("export", ""), T, "export", "self,user"),
		apNamed(call("hexport", ""), T, "hexport", "self,user"), apNamed(asTask("hexport"), T, "hexport", "self,user"),
		apNamed(asTask("texport"), T, "texport", "self,user"), apNamed(call("bare", ""), T, "bare", "-"),
		apNamed(call("hand", ""), T, "hand", "user,verified"), apNamed(call("wide", ""), T, "wide", apWide),
		apNamed(call("own", ""), T, "own", "user,unverified"), apNamed(call("late", ""), T, "late", "user,verified"),
		apNamed(call("late hand", ""), T, "late hand", "user,verified"),
		apNamed(apPrompt("brief"), P, "brief", "user"), apNamed(apPrompt("open"), P, "open", "-"), apNamed(apPrompt("late"), P, "late", "-"),
		apNamed(complete(`{"type":"ref/prompt","name":"brief"}`), P, "brief", "user"),
		apNamed(complete(`{"type":"ref/prompt","name":"open"}`), P, "open", "-"),
		apNamed(complete(`{"type":"ref/prompt","name":"none"}`), P, "none", "-"),

		apURI(read("records://customers", ""), apCustomers, "prefixes records://customers/"), apURI(apSubscribe("records://customers"), apCustomers, "prefixes records://customers/"),
		apURI(apListen("records://customers"), apCustomers, "prefixes records://customers/"), apURI(apCompleteURI("records://customers"), apCustomers, "prefixes records://customers/"),
		apURI(read("notes://export?data=x", ""), apExport), apURI(read("file:///secret/key", ""), apSecret, "templates file:///{+path}"),
		apURI(read("notes://item/7", ""), nil, "templates notes://item/{id}"),
		apURI(apSubscribe("notes://item/7"), nil, "templates notes://item/{id}"),
		apURI(apCompleteURI("notes://item/7"), nil, "templates notes://item/{id}"),
		apURI(read("file:///public/a", ""), nil, "templates file:///{+path}"),
		apURI(read("over://x", ""), []apDecl{apOverAll}),
		apURI(read("over://h/1", ""), []apDecl{apOverAll, apOverH}, "resources over://h/1", "prefixes over://h/"),
		apURI(read("over://h/s/1", ""), []apDecl{apOverAll, apOverS}, "prefixes over://h/"),
		apURI(apListen("over://h/s/1"), []apDecl{apOverAll, apOverS}, "prefixes over://h/"),
		apURI(read("solo://h/1", ""), nil, "templates solo://h/{id}"),
		apURI(read("mix://h/1", ""), apMixed, "resources mix://h/1", "prefixes mix://h/"),
		apURI(apSubscribe("mix://h/1"), apMixed, "resources mix://h/1", "prefixes mix://h/"),
		apURI(read("plain://a/one", ""), nil, "resources plain://a/one", "templates plain://{+x}", "prefixes plain://a/"),
		apURI(read("plain://a/hand", ""), []apDecl{{kind: R, name: "plain://a/hand", accept: "user,verified"}}, "templates plain://{+x}", "prefixes plain://a/"),
		apURI(read("plain://a/wide", ""), []apDecl{{kind: R, name: "plain://a/wide", accept: "user,unverified"}}, "templates plain://{+x}", "prefixes plain://a/"),
		apURI(read("own://r", ""), []apDecl{{kind: R, name: "own://r", accept: "user,unverified", session: true}}, "templates own://{id}"),
		apURI(read("own://bare", ""), nil, "resources own://bare", "templates own://{id}"),
		apURI(read("late://r", ""), []apDecl{{kind: R, name: "late://r", accept: "user,unverified"}}),
		apURI(apSubscribe("gone://x"), nil, "resources gone://x"),
	}
	for i := range out {
		if out[i].request.method == "subscriptions/listen" {
			out[i].era = modern
		}
		if strings.Contains(out[i].request.params, `"mix://h/1"`) {
			out[i].plain = "mix://h/1"
		}
	}
	for _, uri := range []string{
		"over://h/s/..%2F1", "over://h/%73/x", "OVER://h/1", "over://h//1", "over://h/s;x/1", "file:///secret/..%2Fpublic/a",
		"file:///public/..%2Fsecret/a", "file:///%73ecret/a", "plain://a/%6Fne", "mix://h/..%2Fz", "notes://item/..%2Fexport", "records://customers?x=1",
	} {
		for _, req := range []request{read(uri, ""), apSubscribe(uri), apCompleteURI(uri)} {
			out = append(out, apRoute{name: req.method + " " + uri, request: req, era: legacy, odd: true})
		}
	}
	for _, text := range []string{"notes://item/{id}", "notes://export{?data}", "over://{+path}", "over://h/{id}", "file:///{+path}", "gone://{x}"} {
		out = append(out, apRoute{name: "complete " + text, request: apCompleteURI(text), era: legacy, odd: true})
	}
	return out
}

// apCandidates are the targets that generated overrides name.
func apCandidates() []overrides.Target {
	var out []overrides.Target
	add := func(kind policydecl.TargetKind, names ...string) {
		for _, name := range names {
			out = append(out, overrides.Target{Kind: kind, Name: name, Optional: name == "own" || name == "late" || name == "late hand" || name == "none"})
		}
	}
	add(policydecl.Tool, "search", "export", "hexport", "texport", "bare", "hand", "wide", "own", "late", "late hand")
	add(policydecl.Prompt, "brief", "open", "late", "none")
	add(policydecl.Resource, "records://customers", "plain://a/one", "plain://a/hand", "plain://a/wide", "over://h/1", "mix://h/1", "own://r", "own://bare", "late://r", "gone://x")
	add(policydecl.Template, "notes://item/{id}", "notes://export{?data}", "file:///{+path}", "over://{+path}", "over://h/{id}", "mix://{+path}", "plain://{+x}", "own://{id}", "solo://h/{id}")
	add(policydecl.Prefix, "file:///secret/", "over://h/", "over://h/s/", "mix://h/", "plain://a/", "records://customers/")
	return out
}
