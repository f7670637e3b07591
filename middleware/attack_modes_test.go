package middleware_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// someEnforced is a server in a loose mode of which a few targets are enforced, as while it
// is rolled out.
func someEnforced(mode middleware.Mode) middleware.Config {
	cfg := config()
	cfg.Mode = mode
	for _, t := range []middleware.TargetMode{
		{Kind: policydecl.Prompt, Name: "brief"}, {Kind: policydecl.Resource, Name: "records://customers"},
		{Kind: policydecl.Prefix, Name: "file:///secret/"}, {Kind: policydecl.Template, Name: "notes://export{?data}"},
		{Kind: policydecl.Tool, Name: "export"}, {Kind: policydecl.Tool, Name: "hexport"}, {Kind: policydecl.Tool, Name: "texport"},
	} {
		t.Mode = middleware.Enforce
		cfg.Modes = append(cfg.Modes, t)
	}
	return cfg
}

// unclear are messages for enforced targets that keep the gate from reading something, so
// that it would not know whose mode counts.
func unclear() map[string]string {
	long := strings.Repeat("a", 9<<10)
	text := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
	}
	return map[string]string{
		"completion, _meta is no object":  text("completion/complete", `"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"id","value":"a"},"_meta":"x"`),
		"reference, _meta is no object":   text("completion/complete", `"ref":{"type":"ref/resource","uri":"notes://export{?data}"},"argument":{"name":"id","value":"a"},"_meta":7`),
		"subscription, _meta is a list":   text("resources/subscribe", `"uri":"records://customers","_meta":[]`),
		"call, _meta is no object":        text("tools/call", `"name":"export","_meta":"x"`),
		"read of a long URI":              text("resources/read", `"uri":"file:///secret/key?`+long+`"`),
		"read of a long URI of a query":   text("resources/read", `"uri":"notes://export?data=`+long+`"`),
		"subscription to a long URI":      text("resources/subscribe", `"uri":"records://customers?`+long+`"`),
		"completion for a long URI":       text("completion/complete", `"ref":{"type":"ref/resource","uri":"records://customers?`+long+`"},"argument":{"name":"id","value":"a"}`),
		"envelope twice":                  `{"jsonrpc":"2.0","JSONRPC":"2.0","id":1,"method":"tools/call","params":{"name":"export"}}`,
		"method twice":                    `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"export"}}`,
		"task tool, name twice":           text("tools/call", `"name":"search","Name":"texport","task":{}`),
		"subscription, uri twice":         text("resources/subscribe", `"uri":"notes://item/1","URI":"records://customers"`),
		"completion, reference twice":     text("completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"Ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"id","value":"a"}`),
		"prompt, the id is true":          `{"jsonrpc":"2.0","id":true,"method":"prompts/get","params":{"name":"brief"}}`,
		"completion, the id is an object": `{"jsonrpc":"2.0","id":{},"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"id","value":"a"}}}`,
	}
}

// TestAttackUnclear: who makes a message unclear does not get into the mode of the server
// where what he is after is enforced (M1, L8, R4, G2); and the record does not say that it ran.
func TestAttackUnclear(t *testing.T) {
	for _, mode := range []middleware.Mode{middleware.DangerouslyReport, middleware.DangerouslyOff} {
		book := newRecordBook()
		cfg := someEnforced(mode)
		cfg.Sinks = []decision.Sink{book}
		// An author's middleware that answers without a handler: the way out has to hold (G3).
		cache := func(server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("kept"), nil
			}
		}
		r := newRecipient(server.WithToolHandlerMiddleware(cache))
		g, err := middleware.New(r.server, cfg)
		if err != nil {
			t.Fatal(err)
		}
		h, err := g.Handler(server.WithStateLess(true))
		if err != nil {
			t.Fatal(err)
		}
		for name, msg := range unclear() {
			got := bxPost(h, msg)
			if strings.Contains(got.body, `"result"`) {
				t.Errorf("%v, %s: %s", mode, name, got.body)
			}
			if ran := r.ran.take(); len(ran) > 0 {
				t.Errorf("%v, %s: ran %v", mode, name, ran)
			}
			if rec := book.one(t); !rec.Stopped() || rec.Verdict != decision.Invalid {
				t.Errorf("%v, %s: %v", mode, name, rec)
			}
		}
		for name, params := range map[string]string{"export": `"name":"export"`} {
			if got := bxPost(h, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`); !strings.Contains(got.body, keyFlowViolation) {
				t.Errorf("%v, %s in a cache: %s", mode, name, got.body)
			}
			book.one(t)
		}
	}
}

// TestAttackTamperedTargets: a gate that is not in order stops what is enforced, also where
// the server is not (G6).
func TestAttackTamperedTargets(t *testing.T) {
	enforced := map[string]bool{
		"strict tool": true, "optional task tool, at once": true, "optional task tool, as a task": true, "task tool": true,
		"static resource": true, "query template": true, "prefix": true, "subscribe": true, "listen": true, "prompt": true, "prompt completion": true,
		"strict template completion": true, "resource completion": true,
	}
	for _, tp := range tamperings {
		t.Run(tp.name, func(t *testing.T) {
			r := newRecipient()
			g, err := middleware.New(r.server, someEnforced(middleware.DangerouslyReport))
			if err != nil {
				t.Fatal(err)
			}
			tp.do(r)
			for _, l := range serve(t, g, r) {
				if l.name == "HTTP SSE" {
					continue // its hook may be gone
				}
				for _, e := range eras {
					for _, rt := range routes {
						if rt.only != "" && rt.only != e || !enforced[rt.name] {
							continue
						}
						a := l.line.exchange(t, e, rt.request.with(labelX))
						if got := a.reply(t); got.Result != nil {
							t.Errorf("%s on %s in %s: %s", rt.name, l.name, e, a.messages)
						}
						sameCounts(t, l.line.took(t))
					}
				}
			}
		})
	}
}

// TestAttackModesOfParts: a mode for a part of a wider target's space is about that part, if
// it is the stricter one; and that of one target does not open another (M1).
func TestAttackModesOfParts(t *testing.T) {
	r := newRecipient()
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("vault://{+path}", "vault"), onlyUser, r.template("vault")))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("open://{+path}", "all"), r.template("all"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("open://item/{id}", "item"), r.template("one"))
	r.server.AddResource(mcp.NewResource("open://item/secret", "secret"), r.resource("secret"))
	cfg := config()
	cfg.Modes = []middleware.TargetMode{
		{Kind: policydecl.Template, Name: "vault://{+path}", Mode: middleware.DangerouslyReport},
		{Kind: policydecl.Template, Name: "open://item/{id}", Mode: middleware.DangerouslyReport},
	}
	cfg.Overrides = overrides.Overrides{Targets: []overrides.Target{{Kind: policydecl.Prefix, Name: "vault://secret/", Mode: middleware.Enforce}}}
	_, lines := everywhere(t, r, cfg)
	for _, l := range lines {
		for uri, runs := range map[string]bool{
			"vault://public/1": true, "vault://secret/1": false, "vault://public/..%2Fsecret/1": false,
			"open://item/secret": false, "open://item/1": false, // the catch-all may answer as well
		} {
			a := l.line.exchange(t, legacy, read(uri, labelX))
			if (a.lastError(t) == nil) != runs {
				t.Errorf("%s, %s: %s", l.name, uri, a.messages)
			}
			l.line.took(t)
		}
	}
}

// TestRecordOfASharedID: another request with the same id, answered first, does not conclude
// one that goes on to run (M2).
func TestRecordOfASharedID(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	r := newRecipient(server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(inside)
			<-goOn
			return next(ctx, req)
		}
	}))
	book := newRecordBook()
	cfg := book.config()
	cfg.Mode = middleware.DangerouslyReport
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := listenPipe(t, r, g)
	l.send(t, call("export", labelX).body(legacy))
	<-inside
	l.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	first := l.next(t)
	close(goOn)
	second := l.next(t)
	if rec := book.one(t); rec.Verdict != decision.Refused || !rec.WouldStop() {
		t.Errorf("%v; answers %s, %s", rec, first, second)
	}
}

// TestReportRecordsWhatIsNotGated: what enforce would turn away although it is not gated, in
// mode report runs and has a record as well, so that a report of the records misses nothing.
func TestReportRecordsWhatIsNotGated(t *testing.T) {
	r, book := newRecipient(), newRecordBook()
	cfg := book.config()
	cfg.Mode = middleware.DangerouslyReport
	_, lines := everywhere(t, r, cfg)
	for _, l := range lines {
		if l.name == "in process" {
			continue // its client does not write such messages
		}
		a := l.line.exchange(t, legacy, request{method: "tools/list", params: `"cursor":"","Cursor":""`})
		var result struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(a.reply(t).Result, &result); err != nil || len(result.Tools) == 0 {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		if rec := book.one(t); rec.Reason != decision.ReasonAmbiguous || !rec.WouldStop() || rec.Target != "" || rec.Registered {
			t.Errorf("%s: %v", l.name, rec)
		}
	}
}
