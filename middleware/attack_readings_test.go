package middleware_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestAttackLeftBehind: a request that a peer leaves behind under an id that it goes on using
// lends nothing to a later one, least of all the overrides that were in force (M1, M2).
func TestAttackLeftBehind(t *testing.T) {
	loose := overrides.Overrides{Mode: middleware.DangerouslyReport, DangerouslyLoosen: true}
	r, book := newRecipient(), newRecordBook()
	cfg := book.config()
	cfg.Overrides = loose
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := listenPipe(t, r, g)
	l.send(t, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["notes://item/1"]},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	l.wait(t, "hook:listen")
	l.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export","task":5}}`)
	book.take(t, 2)
	if err := g.Apply(overrides.Overrides{}); err != nil {
		t.Fatal(err)
	}
	l.took(t)
	l.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export"}}`)
	if rec := book.one(t); !rec.Stopped() {
		t.Errorf("%v", rec)
	}
	sameCounts(t, l.took(t))
}

// TestAttackReadings: the mode of a part of the space is about what is read as that part in
// every reading, and what comes later or has a policy of its own is not outside of it (R2, M1).
func TestAttackReadings(t *testing.T) {
	r := newRecipient()
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("box://h/{+path}", "all"), r.template("all"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("box://h/{dir}/{name}", "two"), r.template("two"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("ov://item/{id}", "item"), r.template("item"))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("wide://{+path}", "wide"), apPolicy(apWide), r.template("wide")))
	r.server.AddResource(mcp.NewResource("wide://plain", "plain"), r.resource("plain"))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("vault://{+path}", "vault"), onlyUser, r.template("vault")))
	r.try(middleware.Govern(r.server, policydecl.Prefix, "vault://secret/", apPolicy("user,host,unverified")))
	cfg := config()
	cfg.Modes = []middleware.TargetMode{
		{Kind: policydecl.Template, Name: "box://h/{dir}/{name}", Mode: middleware.DangerouslyReport},
		{Kind: policydecl.Prefix, Name: "box://h/public/", Mode: middleware.DangerouslyReport},
		{Kind: policydecl.Template, Name: "ov://item/{id}", Mode: middleware.DangerouslyReport},
		{Kind: policydecl.Template, Name: "vault://{+path}", Mode: middleware.DangerouslyReport},
		{Kind: policydecl.Prefix, Name: "vault://secret/", Mode: middleware.Enforce},
	}
	_, lines := everywhere(t, r, cfg)
	check := func(e era, req request, runs bool) {
		t.Helper()
		for _, l := range lines {
			a := l.line.exchange(t, e, req.with(labelX))
			if (a.lastError(t) == nil) != runs {
				t.Errorf("%s, %s: %s", l.name, req.params, a.messages)
			}
			if ran := l.line.took(t); !runs && len(ran) > 0 {
				t.Errorf("%s, %s: ran %v", l.name, req.params, ran)
			}
		}
	}
	for uri, runs := range map[string]bool{
		"box://h/public/a/b": true, "box://h/secret/key": false, "box://h/public/../secret/key": false, "box://h/public/..%2fsecret/key": false,
		"vault://public/1": true, "vault://secret/1": false, "wide://plain": false, "wide://other": true, "ov://item/1": true,
	} {
		check(legacy, read(uri, ""), runs)
		if !runs {
			check(legacy, apSubscribe(uri), false)
		}
	}
	check(legacy, complete(`{"type":"ref/resource","uri":"wide://plain"}`), false)
	r.try(middleware.AddResource(r.server, mcp.NewResource("ov://item/secret", "secret"), noPolicy, r.resource("secret")))
	check(legacy, read("ov://item/secret", ""), false)
	r.server.AddResource(mcp.NewResource("ov://item/late", "late"), r.resource("late"))
	check(legacy, read("ov://item/late", ""), false)
}

// TestAttackLateHook: a hook that comes after the gate and renames a call does not bring it
// into the looser mode of the name that the peer has sent (G6).
func TestAttackLateHook(t *testing.T) {
	r := newRecipient()
	g, err := middleware.New(r.server, someEnforced(middleware.DangerouslyReport))
	if err != nil {
		t.Fatal(err)
	}
	r.hooks.AddBeforeCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest) {
		req.Params.Name, req.Params.Task = "texport", &mcp.TaskParams{}
	})
	for _, l := range serve(t, g, r) {
		if a := l.line.exchange(t, legacy, call("search", labelX)); a.reply(t).Result != nil {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		sameCounts(t, l.line.took(t))
	}
}

// declarer is a log handler that declares something.
type declarer struct {
	slog.Handler
	server *server.MCPServer
}

func (h declarer) Enabled(context.Context, slog.Level) bool { return true }

func (h declarer) Handle(context.Context, slog.Record) error {
	return middleware.Govern(h.server, policydecl.Tool, "logged", onlyUser)
}

// New holds no lock while it logs what is not enforced.
func TestLoggerThatDeclares(t *testing.T) {
	r := newRecipient()
	cfg := config()
	cfg.Mode, cfg.Logger = middleware.DangerouslyReport, slog.New(declarer{slog.DiscardHandler, r.server})
	if _, err := middleware.New(r.server, cfg); err != nil {
		t.Fatal(err)
	}
}
