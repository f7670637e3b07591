package policydecl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

func BenchmarkLabelOf(b *testing.B) {
	for _, n := range []int{1, 2, 4, 16, 256} {
		b.Run(fmt.Sprintf("contributors=%d", n), func(b *testing.B) {
			v := wireLabel(n)
			if l := policydecl.LabelOf(v, true, defaultLimits); l.Class() != policydecl.ClassOK || l.Len() != n {
				b.Fatal(seen(l))
			}
			b.ReportAllocs()
			for b.Loop() {
				policydecl.LabelOf(v, true, defaultLimits)
			}
		})
	}
	// Hostile: as much as the budgets let through, and just over.
	for name, raw := range map[string]string{
		"unknown":   labelOfSize(65_536),
		"oversized": labelOfSize(1 << 20),
		"unusable":  `{"contributors":[` + strings.TrimSuffix(strings.Repeat(`{"principal":"\u202e`+strings.Repeat("x", 150)+`"},`, 256), ",") + `]}`,
	} {
		b.Run("hostile="+name, func(b *testing.B) {
			v := decode(b, raw)
			b.ReportAllocs()
			for b.Loop() {
				policydecl.LabelOf(v, true, defaultLimits)
			}
		})
	}
}

func BenchmarkParseLabel(b *testing.B) {
	for _, n := range []int{1, 4, 256} {
		b.Run(fmt.Sprintf("contributors=%d", n), func(b *testing.B) {
			raw, err := json.Marshal(wireLabel(n))
			if err != nil {
				b.Fatal(err)
			}
			if l := policydecl.ParseLabel(raw, defaultLimits); l.Class() != policydecl.ClassOK {
				b.Fatal(seen(l))
			}
			b.ReportAllocs()
			for b.Loop() {
				policydecl.ParseLabel(raw, defaultLimits)
			}
		})
	}
}

// The growth that matters: flat in the tokens, linear in the contributors.
func BenchmarkDecide(b *testing.B) {
	for _, tokens := range []int{4, 40, 400, 4000} {
		for _, contributors := range []int{1, 4, 16, 256} {
			b.Run(fmt.Sprintf("tokens=%d/contributors=%d", tokens, contributors), func(b *testing.B) {
				set := mustCompile(b, policydecl.Config{})
				l := policydecl.LabelOf(wireLabel(contributors), true, defaultLimits)
				// Every contributor is accepted by its principal, the dearest way.
				list := manyTokens(tokens)
				if contributors > tokens-1 {
					list = append(list, "verified")
				}
				p := policydecl.AcceptFrom(list...)
				if d := set.Decide(context.Background(), &l, p); !d.Accepted() {
					b.Fatal(d.Violation())
				}
				b.ReportAllocs()
				for b.Loop() {
					set.Decide(context.Background(), &l, p)
				}
			})
		}
	}
}

func BenchmarkDecideRefused(b *testing.B) {
	for _, tokens := range []int{4, 400} {
		b.Run(fmt.Sprintf("tokens=%d", tokens), func(b *testing.B) {
			set := mustCompile(b, policydecl.Config{})
			p := policydecl.AcceptFrom(manyTokens(tokens)...)
			if d := set.Decide(context.Background(), &labelX, p); d.Accepted() {
				b.Fatal("accepted")
			}
			b.ReportAllocs()
			for b.Loop() {
				set.Decide(context.Background(), &labelX, p)
			}
		})
	}
}

func BenchmarkDecideVendor(b *testing.B) {
	set := withMatcher(b, yes)
	l, p := label(user(), server(partnerURI, policydecl.TOFU)), policydecl.AcceptFrom("user", gold)
	b.ReportAllocs()
	for b.Loop() {
		set.Decide(context.Background(), &l, p)
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		cfg := policydecl.Config{}
		p := policydecl.AcceptFrom("user")
		for i := range n {
			cfg.Targets = append(cfg.Targets,
				policydecl.Declaration{Kind: policydecl.Tool, Name: fmt.Sprintf("tool%d", i), Policy: p},
				policydecl.Declaration{Kind: policydecl.Resource, Name: fmt.Sprintf("records://customers/%d", i), Policy: p})
		}
		set := mustCompile(b, cfg)
		b.Run(fmt.Sprintf("tool/targets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := set.Tool("tool7"); !ok {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprintf("resource/targets=%d", n), func(b *testing.B) {
			buf := make([]policydecl.Policy, 0, 4)
			b.ReportAllocs()
			for b.Loop() {
				if ps, err := set.Resource(buf, "records://customers/7?since=1"); err != nil || len(ps) != 1 {
					b.Fatal(ps, err)
				}
			}
		})
	}
}
