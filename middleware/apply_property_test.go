package middleware_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apConfigs are what the code of the world's server may say.
var apConfigs = []struct {
	name string
	set  func(*middleware.Config)
}{
	{"plain", func(*middleware.Config) {}},
	{"some only reported", func(cfg *middleware.Config) {
		cfg.Default = apPolicy("user,verified")
		cfg.Modes = []middleware.TargetMode{
			{Kind: policydecl.Tool, Name: "search", Mode: middleware.DangerouslyReport},
			{Kind: policydecl.Tool, Name: "wide", Mode: middleware.DangerouslyOff},
			{Kind: policydecl.Prompt, Name: "open", Mode: middleware.DangerouslyReport},
			{Kind: policydecl.Resource, Name: "plain://a/one", Mode: middleware.DangerouslyReport},
			{Kind: policydecl.Template, Name: "over://{+path}", Mode: middleware.DangerouslyReport},
			{Kind: policydecl.Prefix, Name: "plain://a/", Mode: middleware.DangerouslyReport},
			{Kind: policydecl.Template, Name: "solo://h/{id}", Mode: middleware.DangerouslyOff},
			{Kind: policydecl.Prefix, Name: "mix://h/", Mode: middleware.DangerouslyReport},
		}
	}},
	{"some enforced", func(cfg *middleware.Config) {
		cfg.Mode = middleware.DangerouslyReport
		cfg.Default = apPolicy(apWide)
		cfg.Modes = []middleware.TargetMode{
			{Kind: policydecl.Tool, Name: "export", Mode: middleware.Enforce},
			{Kind: policydecl.Tool, Name: "bare", Mode: middleware.DangerouslyOff},
			{Kind: policydecl.Prompt, Name: "brief", Mode: middleware.Enforce},
			{Kind: policydecl.Prefix, Name: "over://h/s/", Mode: middleware.Enforce},
			{Kind: policydecl.Template, Name: "notes://item/{id}", Mode: middleware.Enforce},
			{Kind: policydecl.Resource, Name: "gone://x", Mode: middleware.Enforce},
			{Kind: policydecl.Prefix, Name: "mix://h/", Mode: middleware.Enforce},
		}
	}},
}

// apGenerate makes overrides.
func apGenerate(random *rand.Rand, loosen bool) overrides.Overrides {
	tokens := []string{"user", "verified", "self", "host", "unverified", "https://partner.example/mcp", "tofu"}
	policy := func() policydecl.Policy {
		list, odds := []string{}, 2
		for i, token := range tokens {
			if i == 1 && random.IntN(2) == 0 {
				odds = 5 // mostly narrow, so that most are taken
			}
			if random.IntN(odds) == 0 {
				list = append(list, token)
			}
			if i == 0 && random.IntN(2) == 0 && !loosen {
				break
			}
		}
		return policydecl.AcceptFrom(list...)
	}
	o := overrides.Overrides{DangerouslyLoosen: loosen}
	if random.IntN(3) == 0 {
		o.Default = policy()
	}
	if random.IntN(3) == 0 {
		o.Mode = middleware.Mode(1 + random.IntN(3))
	}
	all := apCandidates()
	for _, i := range random.Perm(len(all))[:1+random.IntN(12)] {
		target := all[i]
		if random.IntN(4) > 0 {
			target.Policy = policy()
		}
		if target.Policy.IsZero() || random.IntN(3) == 0 {
			target.Mode = middleware.Mode(1 + random.IntN(3))
			if random.IntN(2) == 0 && !loosen {
				target.Mode = middleware.Enforce
			}
		}
		o.Targets = append(o.Targets, target)
	}
	return o
}

// ask sends one request in the world's session and returns its verdict: true for refused.
func (w *apWorld) ask(t testing.TB, rt apRoute, l apLabel) bool {
	t.Helper()
	session := ""
	if rt.era == legacy {
		session = w.session
	}
	a := w.line.exchangeIn(t, rt.era, rt.request.with(l.text), session)
	refused := a.lastError(t) != nil
	if refused {
		if _, err := apAcceptFrom(a.reply(t).Error); err != nil {
			t.Errorf("%s, %s: %v", rt.name, l.name, err)
		}
		sameCounts(t, w.ran.peek())
	} else if a.status != 200 && a.status != 400 {
		t.Errorf("%s, %s: status %d, %s", rt.name, l.name, a.status, a.messages)
	}
	if !refused && rt.request.params != "" && isTask(rt) {
		w.line.wait(t, "task:ended")
	}
	w.ran.take()
	return refused
}

func isTask(rt apRoute) bool {
	return rt.named != nil && (rt.named.name == "texport" || rt.named.name == "hexport" && rt.request.params == asTask("hexport").params)
}

// TestApplyNeverLoosens: whatever overrides Apply and New take without DangerouslyLoosen,
// a request that was refused without them is refused with them: for every label and every
// way in, and for what was declared by helpers, by hand, for a session or later (M1, P5,
// P8). The gate decides as its slow twin does, also with DangerouslyLoosen.
func TestApplyNeverLoosens(t *testing.T) {
	rounds := 15
	if middleware.ManyRequests <= 1_000 || testing.Short() {
		rounds = 6
	}
	routes := apRoutes()
	for _, code := range apConfigs {
		t.Run(code.name, func(t *testing.T) {
			cfg := config()
			code.set(&cfg)
			before := make([][]bool, len(routes))
			bare := apBuild(t, cfg, overrides.Overrides{}, true)
			for i, rt := range routes {
				for _, l := range apLabels {
					got := bare.ask(t, rt, l)
					before[i] = append(before[i], got)
					apAgree(t, apTwin{cfg: cfg}, rt, l, got)
				}
			}
			random := rand.New(rand.NewPCG(41, uint64(len(cfg.Modes))))
			for taken, tried := 0, 0; taken < rounds; tried++ {
				if tried > 2000 {
					t.Fatalf("only %d of %d overrides were taken", taken, tried)
				}
				o := apGenerate(random, tried%4 == 0)
				if w := apBuild(t, cfg, o, taken%2 == 0); w != nil {
					taken++
					text, _ := json.Marshal(o)
					t.Run(string(text), func(t *testing.T) { apCompare(t, w, apTwin{cfg: cfg, o: o}, routes, before) })
				}
			}
		})
	}
}

// apBuild makes a world with overrides, by New or by Apply, or nil if these are not taken.
func apBuild(t *testing.T, cfg middleware.Config, o overrides.Overrides, atOnce bool) *apWorld {
	t.Helper()
	r, s := newApServer()
	if atOnce {
		cfg.Overrides = o
	}
	g, err := middleware.New(r.server, cfg)
	if err == nil && !atOnce {
		err = g.Apply(o)
	}
	for e := range flowerrors.All(err) {
		if e.Reason != flowerrors.ReasonLoosens {
			t.Fatal(err)
		}
	}
	if err != nil {
		return nil
	}
	return newApWorld(t, g, r, s)
}

// apCompare asks everything.
func apCompare(t *testing.T, w *apWorld, twin apTwin, routes []apRoute, before [][]bool) {
	for i, rt := range routes {
		for j, l := range apLabels {
			got := w.ask(t, rt, l)
			if before[i][j] && !got && !twin.o.DangerouslyLoosen {
				t.Errorf("%s, label %s: was refused, and runs now", rt.name, l.name)
			}
			apAgree(t, twin, rt, l, got)
		}
	}
}

// apAgree compares a verdict with the twin's.
func apAgree(t *testing.T, w apTwin, rt apRoute, l apLabel, refused bool) {
	t.Helper()
	if !rt.odd && w.refuses(rt, l) != refused {
		t.Errorf("%s, label %s: refused %v, the twin says %v: %v", rt.name, l.name, refused, !refused, w.demands(rt))
	}
}
