package middleware_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// swServer is R with a tool that no set of overrides opens and one that none closes. It
// announces no changed lists: there would be more of these than mcp-go's queues hold.
func swServer() *recipient {
	r := newRecipient(server.WithToolCapabilities(false))
	r.try(middleware.AddTool(r.server, mcp.NewTool("vault"), policydecl.AcceptFrom("host"), r.tool("vault")))
	r.try(middleware.AddTool(r.server, mcp.NewTool("free"), onlyUser, r.tool("free")))
	return r
}

// swSets are the overrides that follow each other, the last of which stays.
func swSets() []overrides.Overrides {
	vault := apTarget(policydecl.Tool, "vault", "host", mtEnforce)
	free := apTarget(policydecl.Tool, "free", "user", 0)
	return []overrides.Overrides{
		{},
		{Mode: mtReport, DangerouslyLoosen: true, Targets: []overrides.Target{vault}},
		{Default: apPolicy("user"), Targets: []overrides.Target{vault, free, apTarget(policydecl.Resource, "records://customers", "user", 0)}},
		{Mode: mtOff, DangerouslyLoosen: true, Targets: []overrides.Target{vault}},
		{DangerouslyLoosen: true, Default: apPolicy("user,unverified"), Targets: []overrides.Target{
			vault, apTarget(policydecl.Tool, "export", "user,unverified", 0), apTarget(policydecl.Tool, "hexport", "user,unverified", 0),
			apTarget(policydecl.Prompt, "brief", "user,unverified", 0), apTarget(policydecl.Template, "file:///{+path}", "", 0),
		}},
		{Default: apPolicy("user,host"), Mode: mtEnforce, Targets: []overrides.Target{
			vault, apTarget(policydecl.Tool, "export", "user", 0), apTarget(policydecl.Prompt, "brief", "", 0),
			apTarget(policydecl.Prefix, "notes://item/", "verified", 0),
			{Kind: policydecl.Tool, Name: "coming", Policy: onlyUser, Optional: true},
		}},
	}
}

// TestSwapUnderLoad: while overrides are applied and tools come and go, every answer is the
// handler's or a refusal in the draft's form, what every set refuses never runs, what every
// set accepts always does, each request has one record, and afterwards the last set counts.
// Run it with -race.
func TestSwapUnderLoad(t *testing.T) {
	book := newRecordBook()
	r := swServer()
	g, lines := everywhere(t, r, book.config())
	each := 120
	if testing.Short() {
		each = 40
	}
	var free, sent atomic.Int64
	var stop atomic.Bool
	var workers, changers sync.WaitGroup
	for i, l := range []namedLine{lines[0], lines[0], lines[1], lines[2], lines[3]} {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(i)))
			for n := range each {
				swAsk(t, l, random, &free, &sent, fmt.Sprintf(`"%d-%d"`, i, n))
			}
		})
	}
	applied := 0
	changers.Go(func() {
		for sets := swSets(); !stop.Load() || applied < 60; applied++ {
			if err := g.Apply(sets[applied%len(sets)]); err != nil {
				t.Errorf("Apply: %v", err)
			}
			if err := g.Apply(apMistakes[applied%len(apMistakes)].o); err == nil {
				t.Error("a mistake was applied")
			}
		}
	})
	changers.Go(func() {
		for i := 0; !stop.Load() || i < 30; i++ {
			if err := middleware.AddTool(r.server, mcp.NewTool("coming"), apPolicy("user,verified"), r.tool("coming")); err != nil {
				t.Error(err)
			}
			r.try(middleware.Govern(r.server, policydecl.Prefix, "swap://p/", apPolicy([]string{"host", "user"}[i%2])))
			r.server.DeleteTools("coming")
		}
	})
	workers.Wait()
	stop.Store(true)
	changers.Wait()
	ran := r.ran.take()
	if int64(ran["free"]) != free.Load() || free.Load() == 0 || ran["vault"] > 0 || ran["export"] == 0 {
		t.Errorf("%d calls of free; ran %v", free.Load(), ran)
	}
	all := book.take(t, int(sent.Load()))
	for id, of := range byID(all) {
		if len(of) != 1 {
			t.Errorf("%s has %d records: %v", id, len(of), of)
		}
	}
	swLast(t, g, lines)
}

// swAsk does one random thing and judges the answer.
func swAsk(t *testing.T, l namedLine, random *rand.Rand, free, sent *atomic.Int64, id string) {
	e := eras[random.IntN(2)]
	label := []string{labelU, labelV, labelX, labelNone}[random.IntN(4)]
	rt := routes[random.IntN(len(routes))]
	switch n := random.IntN(8); {
	case n == 0:
		rt = route{name: "vault", request: call("vault", "")}
		label = labelX
	case n == 1:
		rt = route{name: "free", request: call("free", "")}
		label = labelU
		free.Add(1)
	case n == 2:
		rt = route{name: "coming", request: call("coming", "")}
	case n == 3:
		swList(t, l, e)
		return
	}
	if rt.only != "" && rt.only != e || rt.endless && (l.name == "stdio" || l.name == "in process") || slices.Contains(rt.effects, "task:created") {
		return // notifications of tasks would come between the messages of other lines
	}
	r := rt.request.with(label)
	r.id = id
	a := l.line.exchange(t, e, r)
	sent.Add(1)
	if slices.ContainsFunc(a.messages, isAcknowledgement) {
		return
	}
	got := a.reply(t)
	ran := got.Result != nil
	if !ran {
		if _, err := apAcceptFrom(got.Error); err != nil && (rt.name != "coming" || errorCode(t, got.Error) != -32602) {
			t.Errorf("%s on %s in %s: %v", rt.name, l.name, e, err)
		}
	}
	if rt.name == "vault" && ran || rt.name == "free" && !ran {
		t.Errorf("%s on %s in %s: %s", rt.name, l.name, e, a.messages)
	}
}

// swList asks for a list and for what the server says of itself, whose policies must always
// be whole.
func swList(t *testing.T, l namedLine, e era) {
	for _, tool := range listed(t, l.line.exchange(t, e, request{id: `"list"`, method: "tools/list"}), "tools") {
		beside, mirror := addedPolicy.FindAllStringSubmatch(tool, -1), policyMirror.FindAllStringSubmatch(tool, -1)
		if len(beside) > len(mirror) || len(beside) == 1 && beside[0][1] != mirror[0][1] {
			t.Errorf("%s on %s: %s", e, l.name, tool)
		}
	}
}

// swLast compares a gate to which overrides were applied with one that began with them.
func swLast(t *testing.T, g *middleware.Gate, lines []namedLine) {
	t.Helper()
	for i, o := range swSets() {
		apMust(t, g, o)
		cfg := config()
		cfg.Overrides = o
		r := swServer()
		fresh, err := middleware.New(r.server, cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := apView(t, fresh, startInProcess(t, fresh.InProcess(), r.ran))
		for _, l := range []namedLine{lines[0], lines[3]} {
			if got := apView(t, g, l.line); got != want {
				t.Errorf("set %d on %s: %s", i, l.name, apDiffer(got, want))
			}
		}
	}
}

// TestSwapKeepsWhatWasJudged: a request that is on its way is judged by what was in force
// when it came in. A middleware of the author's holds it at the seam meanwhile.
func TestSwapKeepsWhatWasJudged(t *testing.T) {
	loose := apLoose(apTarget(policydecl.Tool, "export", "user,unverified", 0))
	for _, c := range []struct {
		name          string
		before, after overrides.Overrides
		want          string
	}{
		{"looser", overrides.Overrides{}, loose, "self,user"},
		{"off", overrides.Overrides{}, overrides.Overrides{Mode: mtOff, DangerouslyLoosen: true}, "self,user"},
		{"tighter", loose, overrides.Overrides{}, "ran"},
		{"nobody", loose, apOver(apTarget(policydecl.Tool, "export", "", 0)), "ran"},
		{"from report to enforce", overrides.Overrides{Mode: mtReport, DangerouslyLoosen: true}, overrides.Overrides{}, "ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			book := newRecordBook()
			r := newRecipient()
			var swap func()
			r.server.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
				return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					swap()
					return next(ctx, req)
				}
			})
			cfg := book.config()
			cfg.Overrides = c.before
			g, lines := everywhere(t, r, cfg)
			for _, l := range lines {
				for _, e := range eras {
					apMust(t, g, c.before)
					digest := g.Settings()
					swap = func() { apMust(t, g, c.after) }
					if got := apVerdict(t, l.line, e, call("export", labelX)); got != c.want {
						t.Errorf("%s in %s: %q, want %q", l.name, e, got, c.want)
					}
					if rec := book.one(t); rec.Settings != digest || rec.Verdict == decision.Fault {
						t.Errorf("%s in %s: %v", l.name, e, rec)
					}
				}
			}
		})
	}
}
