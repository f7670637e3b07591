package middleware_test

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// rollingChanges are overrides that replicas are moved to one after the other.
func rollingChanges() map[string]overrides.Overrides {
	var tight middleware.Config
	narrow(&tight)
	loosen := func(targets ...overrides.Target) overrides.Overrides {
		return overrides.Overrides{DangerouslyLoosen: true, Targets: targets}
	}
	unverified := overrides.Target{Kind: policydecl.Tool, Name: "export", Policy: policydecl.AcceptFrom("user", "unverified")}
	return map[string]overrides.Overrides{
		"tighter": tight.Overrides,
		"looser":  loosen(unverified),
		"both": loosen(unverified, overrides.Target{Kind: policydecl.Resource, Name: "records://customers", Policy: policydecl.AcceptFrom("host")},
			overrides.Target{Kind: policydecl.Prompt, Name: "brief", Mode: middleware.DangerouslyReport}),
		"report":  {DangerouslyLoosen: true, Mode: middleware.DangerouslyReport},
		"default": {Default: onlyUser},
	}
}

// TestRollingChange applies overrides to one replica and then to the other. On the way each
// request is answered exactly as in the state before or in the state after, by which
// replica it meets; so what both states refuse is refused all the time, and what both let
// through runs all the time.
func TestRollingChange(t *testing.T) {
	for name, change := range rollingChanges() {
		t.Run(name, func(t *testing.T) {
			before, p := newReplica(t, nil, stateless), newPool(t, nil, stateless)
			after := newReplica(t, func(c *middleware.Config) { c.Overrides = change }, stateless)
			differ := 0
			for _, moved := range []int{0, 1, 2} {
				if moved > 0 {
					if err := p.all[moved-1].gate.Apply(change); err != nil {
						t.Fatal(err)
					}
				}
				eachRouteAndLabel(func(cell string, e era, r request) {
					was, is := before.line.exchangeIn(t, e, r, ""), after.line.exchangeIn(t, e, r, "")
					if seen(was) != seen(is) {
						differ++
					}
					for i := range p.all {
						want := was
						if i < moved {
							want = is
						}
						p.turn(i)
						if got := p.exchangeIn(t, e, r, ""); seen(got) != seen(want) && !isStream(got, want) {
							t.Errorf("%s, %d moved, replica %d: %s\n  want %s", cell, moved, i, seen(got), seen(want))
						}
					}
				})
			}
			if differ == 0 {
				t.Error("the change changes nothing")
			}
			for i, rep := range p.all {
				if got, want := rep.gate.Settings(), after.gate.Settings(); got != want {
					t.Errorf("replica %d has the settings %s, want %s", i, got, want)
				}
			}
		})
	}
}

// isStream reports whether both answers are of a request that runs: tasks have random ids,
// and mcp-go may drop the acknowledgement of a listen.
func isStream(got, want answer) bool {
	random := func(a answer) bool {
		return a.contentType == "text/event-stream" && !strings.Contains(a.raw, `"error"`) || strings.Contains(a.raw, `"taskId"`)
	}
	return random(got) && random(want)
}

// TestReplicasAndOrigin: whether a host labels is unknown where its initialize did not come.
// No verdict depends on it, but for DangerouslyReportUndeclared, under which unknown means
// enforce.
func TestReplicasAndOrigin(t *testing.T) {
	const nothing, declared = `{}`, `{"flow":{"origin":true}}`
	refused, reported := decision.Refused, decision.Accepted
	for _, c := range []struct {
		name       string
		e          era
		caps       string
		undeclared bool // the switch
		stateless  bool
		origins    [2]string // by replica; the first has the initialize
		verdicts   [2]decision.Verdict
	}{
		{"says nothing", legacy, nothing, false, false, [2]string{"undeclared", "unknown"}, [2]decision.Verdict{refused, refused}},
		{"labels", legacy, declared, false, false, [2]string{"declared", "unknown"}, [2]decision.Verdict{refused, refused}},
		{"says nothing, tolerated", legacy, nothing, true, false, [2]string{"undeclared", "unknown"}, [2]decision.Verdict{reported, refused}},
		{"labels, tolerated", legacy, declared, true, false, [2]string{"declared", "unknown"}, [2]decision.Verdict{refused, refused}},
		{"says nothing, no sessions", legacy, nothing, true, true, [2]string{"unknown", "unknown"}, [2]decision.Verdict{refused, refused}},
		{"says nothing", modern, nothing, false, true, [2]string{"undeclared", "undeclared"}, [2]decision.Verdict{refused, refused}},
		{"labels", modern, declared, true, true, [2]string{"declared", "declared"}, [2]decision.Verdict{refused, refused}},
		{"says nothing, tolerated", modern, nothing, true, true, [2]string{"undeclared", "undeclared"}, [2]decision.Verdict{reported, reported}},
	} {
		t.Run(string(c.e)+"/"+c.name, func(t *testing.T) {
			var opts []server.StreamableHTTPOption
			if c.stateless {
				opts = append(opts, stateless)
			}
			p := newPool(t, func(cfg *middleware.Config) { cfg.DangerouslyReportUndeclared = c.undeclared }, opts...)
			session := ""
			if c.e == legacy {
				hello := &conversation{namedLine: namedLine{"HTTP", p.httpLine}}
				hello.initialize(t, `,"capabilities":`+c.caps)
				session = hello.session
			}
			for i, rep := range p.all {
				p.turn(i)
				r := call("export", labelX)
				r.caps = c.caps
				answered := reported
				if a := p.exchangeIn(t, c.e, r, session); a.reply(t).Error != nil {
					answered = refused
				}
				rec := rep.book.one(t)
				if answered != c.verdicts[i] || rec.Verdict != refused || rec.Stopped() != (answered == refused) || rec.FlowOrigin != c.origins[i] {
					t.Errorf("replica %d: %v, want %v and origin %s: %v", i, answered, c.verdicts[i], c.origins[i], rec)
				}
				if ran := rep.r.ran.take()["export"]; (ran == 1) != (answered == reported) {
					t.Errorf("replica %d: it ran %d times", i, ran)
				}
			}
		})
	}
}
