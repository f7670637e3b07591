package middleware_test

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestApplyReplaces: with DangerouslyLoosen a policy takes the place of the code's, also in
// handlers that helpers have registered, and for what no helper has (D4).
func TestApplyReplaces(t *testing.T) {
	T, P, R, M, X := policydecl.Tool, policydecl.Prompt, policydecl.Resource, policydecl.Template, policydecl.Prefix
	brief := complete(`{"type":"ref/prompt","name":"brief"}`)
	var cases []apCase
	for _, c := range []struct {
		target   overrides.Target
		requests []request
	}{
		{apTarget(T, "search", "unverified,user", 0), []request{call("search", "")}},
		{apTarget(T, "export", "unverified,user", 0), []request{call("export", "")}},
		{apTarget(T, "hand", "unverified,user", 0), []request{call("hand", "")}},
		{apTarget(P, "brief", "unverified,user", 0), []request{apPrompt("brief"), brief}},
		{apTarget(R, "records://customers", "unverified,user", 0), []request{
			read("records://customers", ""), apSubscribe("records://customers"), apCompleteURI("records://customers"),
		}},
		{apTarget(R, "plain://r", "unverified,user", 0), []request{read("plain://r", ""), apSubscribe("plain://r")}},
		{apTarget(X, "plain://r/", "unverified,user", 0), []request{apSubscribe("plain://r/1")}},
		{apTarget(M, "notes://export{?data}", "unverified,user", 0), []request{read("notes://export?data=x", ""), apCompleteURI("notes://export{?data}")}},
		{apTarget(M, "notes://item/{id}", "unverified,user", 0), []request{read("notes://item/7", ""), apCompleteURI("notes://item/{id}")}},
		{apTarget(M, "solo://{+path}", "unverified,user", 0), []request{read("solo://x/1", "")}},
		{apTarget(X, "solo://x/", "unverified,user", 0), []request{read("solo://x/1", "")}},
		{apTarget(X, "file:///secret/", "unverified,user", 0), []request{read("file:///secret/key", "")}},
		{overrides.Target{Kind: T, Name: "late", Policy: apPolicy("unverified,user"), Optional: true}, []request{call("late", "")}},
	} {
		for _, r := range c.requests {
			cases = append(cases, apCase{c.target.Name + " " + r.method, apLoose(c.target), r, "ran", labelX})
			cases = append(cases, apCase{c.target.Name + " " + r.method + " narrower besides", apLoose(c.target), r, "unverified,user", labelV})
		}
	}
	wide := overrides.Overrides{Default: apPolicy("unverified,user"), DangerouslyLoosen: true}
	cases = append(cases,
		apCase{"default", wide, call("search", ""), "ran", labelX},
		apCase{"default of what nobody knows", wide, apSubscribe("gone://x"), "ran", labelX},
		apCase{"default of a plain resource", wide, read("plain://r", ""), "ran", labelX},
		apCase{"default, and an own policy", wide, call("export", ""), "self,user", labelX},
		apCase{"a prefix, and a template's own policy", apLoose(apTarget(X, "notes://export/", "unverified", 0)), read("notes://export?data=x", ""), "user", labelX},
		apCase{"nobody", apLoose(apTarget(T, "export", "", 0)), call("export", ""), "", labelU},
	)
	apCases(t, cases)
}

// TestApplyReplacesForTasks: the same for calls that run as tasks, whose policy is asked
// for once more when mcp-go calls the handler.
func TestApplyReplacesForTasks(t *testing.T) {
	g, lines := everywhere(t, newRecipient(), config())
	apMust(t, g, apLoose(apTarget(policydecl.Tool, "hexport", "unverified,user", 0), apTarget(policydecl.Tool, "texport", "unverified,user", 0)))
	l := lines[0]
	for _, e := range eras {
		for _, name := range []string{"hexport", "texport"} {
			if got := apVerdict(t, l.line, e, asTask(name).with(labelV)); got != "unverified,user" {
				t.Errorf("%s in %s: %q", name, e, got)
			}
			sameCounts(t, l.line.took(t))
			if got := apVerdict(t, l.line, e, asTask(name).with(labelX)); got != "ran" {
				t.Errorf("%s in %s: %q", name, e, got)
			}
			l.line.wait(t, "task:ended")
			sameCounts(t, l.line.took(t), name, "task:created", "task:ended")
		}
	}
}

// TestApplyBackAndForth: looser overrides end when they are taken back.
func TestApplyBackAndForth(t *testing.T) {
	r := newRecipient()
	r.server.AddResource(mcp.NewResource("plain://r", "r"), r.resource("plain"))
	g, lines := everywhere(t, r, config())
	loose := apLoose(
		apTarget(policydecl.Tool, "export", "unverified,user", 0), apTarget(policydecl.Resource, "records://customers", "unverified,user", 0),
		apTarget(policydecl.Resource, "plain://r", "unverified,user", 0), apTarget(policydecl.Prompt, "brief", "-", middleware.DangerouslyOff),
	)
	for range 3 {
		for _, step := range []struct {
			o    overrides.Overrides
			want []string
		}{
			{loose, []string{"ran", "ran", "ran", "ran"}},
			{overrides.Overrides{}, []string{"self,user", "self,user", "self,user,host,verified", "user"}},
		} {
			apMust(t, g, step.o)
			for _, l := range lines {
				for i, req := range []request{call("export", labelX), read("records://customers", labelX), read("plain://r", labelX), apPrompt("brief").with(labelX)} {
					if got := apVerdict(t, l.line, legacy, req); got != step.want[i] {
						t.Errorf("%s, %s: %q, want %q", l.name, req.method, got, step.want[i])
					}
				}
			}
		}
	}
}
