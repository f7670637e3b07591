package middleware_test

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// mtTarget is a target's mode, in both forms.
type mtTarget struct {
	kind policydecl.TargetKind
	name string
	mode middleware.Mode
}

// mtCase is a server's mode and those of targets, and what becomes of requests.
type mtCase struct {
	name    string
	server  middleware.Mode
	targets []mtTarget
	asks    []mtAsk
}

// mtAsk is one request, the list that its refusal names or "ran", and what the record says.
type mtAsk struct {
	request request
	label   string
	want    string
	verdict decision.Verdict
	mode    middleware.Mode
}

const (
	mtReport  = middleware.DangerouslyReport
	mtOff     = middleware.DangerouslyOff
	mtEnforce = middleware.Enforce
	mtDefault = "self,user,host,verified"
)

// mtReported, mtRefused and mtUnjudged are what a record says; mtClean is an acceptance.
func mtReported(r request, label string) mtAsk {
	return mtAsk{r, label, "ran", decision.Refused, mtReport}
}

func mtRefused(r request, label, accept string) mtAsk {
	return mtAsk{r, label, accept, decision.Refused, mtEnforce}
}

func mtUnjudged(r request, label string) mtAsk {
	return mtAsk{r, label, "ran", decision.Unjudged, mtOff}
}

func mtClean(r request, label string, mode middleware.Mode) mtAsk {
	return mtAsk{r, label, "ran", decision.Accepted, mode}
}

// mtServer is R with patterns that overlap, and with resources that no helper knows.
func mtServer() *recipient {
	r := newRecipient()
	r.server.AddResource(mcp.NewResource("plain://a/r", "r"), r.resource("plain"))
	r.server.AddResourceTemplate(mcp.NewResourceTemplate("solo://h/{id}", "solo"), r.template("solo"))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("dual://{+path}", "dual"), onlyUser, r.template("dual")))
	r.try(middleware.Govern(r.server, policydecl.Prefix, "dual://s/", apPolicy("user,verified")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("mix://{+path}", "mixed"), apPolicy(apWide), r.template("mixed")))
	r.server.AddResource(mcp.NewResource("mix://a/r", "r"), r.resource("mix"))
	return r
}

var mtCases = []mtCase{
	{"a tool only reported", mtEnforce, []mtTarget{{policydecl.Tool, "search", mtReport}}, []mtAsk{
		mtReported(call("search", ""), labelX), mtClean(call("search", ""), labelU, mtReport), mtRefused(call("export", ""), labelX, "self,user"),
	}},
	{"a tool enforced", mtReport, []mtTarget{{policydecl.Tool, "export", mtEnforce}}, []mtAsk{
		mtRefused(call("export", ""), labelV, "self,user"), mtReported(call("search", ""), labelX), mtReported(read("records://customers", ""), labelX),
	}},
	{"a tool off", mtEnforce, []mtTarget{{policydecl.Tool, "search", mtOff}}, []mtAsk{
		mtUnjudged(call("search", ""), labelX), mtUnjudged(call("search", ""), labelU), mtRefused(call("export", ""), labelV, "self,user"),
	}},
	{"a tool enforced on a server that is off", mtOff, []mtTarget{{policydecl.Tool, "export", mtEnforce}}, []mtAsk{
		mtRefused(call("export", ""), labelV, "self,user"), mtUnjudged(call("search", ""), labelX), mtUnjudged(apPrompt("brief"), labelX),
	}},
	{"a resource enforced on a server that is off", mtOff, []mtTarget{{policydecl.Resource, "records://customers", mtEnforce}}, []mtAsk{
		mtRefused(read("records://customers", ""), labelV, "self,user"), mtUnjudged(read("notes://export?data=1", ""), labelX),
		mtRefused(apCompleteURI("records://customers"), labelV, "self,user"),
	}},
	{"a prompt", mtEnforce, []mtTarget{{policydecl.Prompt, "brief", mtReport}}, []mtAsk{
		mtReported(apPrompt("brief"), labelV), mtReported(complete(`{"type":"ref/prompt","name":"brief"}`), labelV),
	}},
	{"a resource", mtEnforce, []mtTarget{{policydecl.Resource, "records://customers", mtReport}}, []mtAsk{
		mtReported(read("records://customers", ""), labelV), mtReported(apCompleteURI("records://customers"), labelV),
		mtReported(apCompleteURI("records://customers?x"), labelV),
	}},
	{"a template with a policy", mtEnforce, []mtTarget{{policydecl.Template, "notes://export{?data}", mtReport}}, []mtAsk{
		mtReported(read("notes://export?data=x", ""), labelV), mtReported(apCompleteURI("notes://export{?data}"), labelV),
		mtRefused(read("notes://item/1", ""), labelX, mtDefault),
	}},
	{"a template without", mtEnforce, []mtTarget{{policydecl.Template, "notes://item/{id}", mtReport}}, []mtAsk{
		mtReported(read("notes://item/1", ""), labelX), mtRefused(read("file:///public/a", ""), labelX, mtDefault),
	}},
	{"a prefix", mtEnforce, []mtTarget{{policydecl.Prefix, "file:///secret/", mtReport}}, []mtAsk{
		mtReported(read("file:///secret/key", ""), labelV), mtRefused(read("file:///public/a", ""), labelX, mtDefault),
	}},
	{"a resource without a policy", mtEnforce, []mtTarget{{policydecl.Resource, "plain://a/r", mtReport}}, []mtAsk{
		mtReported(read("plain://a/r", ""), labelX), mtClean(read("plain://a/r", ""), labelV, mtReport),
	}},
	{"a prefix around it", mtEnforce, []mtTarget{{policydecl.Prefix, "plain://a/", mtOff}}, []mtAsk{mtUnjudged(read("plain://a/r", ""), labelX)}},
	{"a template that no helper knows", mtEnforce, []mtTarget{{policydecl.Template, "solo://h/{id}", mtReport}}, []mtAsk{mtReported(read("solo://h/1", ""), labelX)}},
	{"a prefix around that", mtEnforce, []mtTarget{{policydecl.Prefix, "solo://h/", mtReport}}, []mtAsk{mtReported(read("solo://h/1", ""), labelX)}},
	{"the stricter of two modes", mtEnforce, []mtTarget{{policydecl.Prefix, "plain://a/", mtReport}, {policydecl.Resource, "plain://a/r", mtEnforce}}, []mtAsk{
		mtRefused(read("plain://a/r", ""), labelX, mtDefault),
	}},
	{"and the other way round", mtReport, []mtTarget{{policydecl.Prefix, "plain://a/", mtEnforce}, {policydecl.Resource, "plain://a/r", mtReport}}, []mtAsk{
		mtRefused(read("plain://a/r", ""), labelX, mtDefault),
	}},
	{"a plain resource below a template", mtEnforce, []mtTarget{{policydecl.Resource, "mix://a/r", mtReport}}, []mtAsk{
		mtReported(read("mix://a/r", ""), labelX), mtClean(read("mix://b/r", ""), labelX, mtEnforce),
	}},
	{"two policies, the first reported", mtEnforce, []mtTarget{{policydecl.Template, "dual://{+path}", mtReport}}, []mtAsk{
		mtReported(read("dual://s/1", ""), labelV), mtRefused(read("dual://s/1", ""), labelX, "user,verified"), mtReported(read("dual://t/1", ""), labelX),
	}},
	{"two policies, the second reported", mtEnforce, []mtTarget{{policydecl.Prefix, "dual://s/", mtReport}}, []mtAsk{
		mtRefused(read("dual://s/1", ""), labelV, "user"), mtClean(read("dual://s/1", ""), labelU, mtEnforce),
	}},
	{"two policies, one off, one reported", mtEnforce, []mtTarget{{policydecl.Prefix, "dual://s/", mtOff}, {policydecl.Template, "dual://{+path}", mtReport}}, []mtAsk{
		mtReported(read("dual://s/1", ""), labelV),
	}},
	{"both off", mtEnforce, []mtTarget{{policydecl.Prefix, "dual://s/", mtOff}, {policydecl.Template, "dual://{+path}", mtOff}}, []mtAsk{
		mtUnjudged(read("dual://s/1", ""), labelX), mtUnjudged(read("dual://t/1", ""), labelX),
	}},
}

// TestModesOfTargets asks on every transport and in both eras, with modes that the code
// has set and with the same modes set by the operator (M1, M2, D2).
func TestModesOfTargets(t *testing.T) {
	for _, c := range mtCases {
		for _, by := range []string{"code", "operator", "operator later"} {
			t.Run(c.name+"/"+by, func(t *testing.T) {
				book := newRecordBook()
				cfg := book.config()
				o := overrides.Overrides{Mode: c.server, DangerouslyLoosen: true}
				for _, target := range c.targets {
					o.Targets = append(o.Targets, overrides.Target{Kind: target.kind, Name: target.name, Mode: target.mode})
				}
				switch by {
				case "code":
					cfg.Mode = c.server
					for _, target := range c.targets {
						cfg.Modes = append(cfg.Modes, middleware.TargetMode{Kind: target.kind, Name: target.name, Mode: target.mode})
					}
				case "operator":
					cfg.Overrides = o
				}
				g, lines := everywhere(t, mtServer(), cfg)
				if by == "operator later" {
					apMust(t, g, o)
				}
				for _, l := range lines {
					for _, e := range eras {
						for _, ask := range c.asks {
							ask.check(t, l, e, book)
						}
					}
				}
			})
		}
	}
}

func (ask mtAsk) check(t *testing.T, l namedLine, e era, book *recordBook) {
	t.Helper()
	got, rec := apVerdict(t, l.line, e, ask.request.with(ask.label)), book.one(t)
	if got != ask.want || rec.Verdict != ask.verdict || rec.Mode != ask.mode {
		t.Errorf("%s in %s, %s: %q, record %s in mode %s; want %q, %s in mode %s",
			l.name, e, ask.request.params, got, rec.Verdict, rec.Mode, ask.want, ask.verdict, ask.mode)
	}
	if rec.Stopped() != (ask.want != "ran") || rec.WouldStop() != (ask.verdict == decision.Refused && ask.mode == mtReport) {
		t.Errorf("%s in %s: stopped %v, would stop %v", l.name, e, rec.Stopped(), rec.WouldStop())
	}
}

// TestModesOfSubscriptions: the door judges each URI in the mode of what it matches, and a
// list by the weightiest finding.
func TestModesOfSubscriptions(t *testing.T) {
	book := newRecordBook()
	cfg := book.config()
	cfg.Modes = []middleware.TargetMode{
		{Kind: policydecl.Resource, Name: "records://customers", Mode: mtReport},
		{Kind: policydecl.Resource, Name: "gone://off", Mode: mtOff},
		{Kind: policydecl.Resource, Name: "gone://report", Mode: mtReport},
	}
	_, lines := everywhere(t, mtServer(), cfg)
	listen := func(uris string) request {
		return request{method: "subscriptions/listen", params: `"notifications":{"resourceSubscriptions":[` + uris + `]}`}
	}
	for _, l := range lines {
		for _, ask := range []mtAsk{
			mtReported(apSubscribe("records://customers"), labelV), mtUnjudged(apSubscribe("gone://off"), labelX),
			mtReported(apSubscribe("gone://report"), labelX), mtRefused(apSubscribe("gone://other"), labelX, mtDefault),
		} {
			ask.check(t, l, legacy, book)
		}
		for i, ask := range []mtAsk{
			mtReported(listen(`"records://customers","notes://item/1"`), labelV), mtReported(listen(`"gone://off","records://customers"`), labelX),
			mtUnjudged(listen(`"gone://off"`), labelX), mtRefused(listen(`"gone://report","notes://item/1"`), labelX, mtDefault),
			mtRefused(listen(`"records://customers","notes://export"`), labelV, "user"),
		} {
			ask.request.id = string(rune('1' + i))
			ask.check(t, l, modern, book)
		}
	}
}

// TestModesOfTasks: a call as a task that would be refused is one record, and a task.
func TestModesOfTasks(t *testing.T) {
	book := newRecordBook()
	cfg := book.config()
	cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "hexport", Mode: mtReport}, {Kind: policydecl.Tool, Name: "texport", Mode: mtReport}}
	_, lines := everywhere(t, mtServer(), cfg)
	for _, e := range eras {
		for _, name := range []string{"hexport", "texport"} {
			mtReported(asTask(name), labelX).check(t, lines[0], e, book)
			lines[0].line.wait(t, "task:ended")
			sameCounts(t, lines[0].line.took(t), name, "task:created", "task:ended")
		}
	}
}

// TestModesUnderTheOperators: the operator's mode of the server bounds what the code says of
// targets, and the operator's word on a target counts before the code's.
func TestModesUnderTheOperators(t *testing.T) {
	for _, c := range []struct {
		name   string
		server middleware.Mode
		o      overrides.Overrides
		want   []middleware.Mode // of search, which the code reports, export, which it enforces, and hexport
	}{
		{"nothing", mtReport, overrides.Overrides{}, []middleware.Mode{mtReport, mtEnforce, mtReport}},
		{"enforce", mtReport, overrides.Overrides{Mode: mtEnforce}, []middleware.Mode{mtEnforce, mtEnforce, mtEnforce}},
		{"report where off", mtOff, overrides.Overrides{Mode: mtReport}, []middleware.Mode{mtReport, mtEnforce, mtReport}},
		{"enforce, but one", mtReport, overrides.Overrides{Mode: mtEnforce, Targets: []overrides.Target{apTarget(policydecl.Tool, "hexport", "-", mtReport)}},
			[]middleware.Mode{mtEnforce, mtEnforce, mtReport}},
		{"one target", mtReport, apOver(apTarget(policydecl.Tool, "search", "-", mtEnforce)), []middleware.Mode{mtEnforce, mtEnforce, mtReport}},
		{"loosened", mtEnforce, apLoose(apTarget(policydecl.Tool, "export", "-", mtOff)), []middleware.Mode{mtReport, mtOff, mtEnforce}},
		{"a looser server", mtEnforce, overrides.Overrides{Mode: mtOff, DangerouslyLoosen: true}, []middleware.Mode{mtReport, mtEnforce, mtOff}},
	} {
		t.Run(c.name, func(t *testing.T) {
			book := newRecordBook()
			cfg := book.config()
			cfg.Mode = c.server
			cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "search", Mode: mtReport}, {Kind: policydecl.Tool, Name: "export", Mode: mtEnforce}}
			g, lines := everywhere(t, mtServer(), cfg)
			apMust(t, g, c.o)
			for _, l := range lines {
				for i, name := range []string{"search", "export", "hexport"} {
					got, rec := apVerdict(t, l.line, modern, call(name, labelX)), book.one(t)
					if (got == "ran") != (c.want[i] != mtEnforce) || rec.Mode != c.want[i] {
						t.Errorf("%s, %s: %q, %v; want mode %s", l.name, name, got, rec, c.want[i])
					}
				}
			}
		})
	}
}
