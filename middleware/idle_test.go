package middleware_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// P6: what is said of something that the server has not got is no mistake, because it may
// come later, but the log tells of it: when the gate is made, and when overrides change.
func TestIdleTargetsAreLogged(t *testing.T) {
	const text = "something that the server has not got now"
	for _, row := range []struct {
		kind policydecl.TargetKind
		name string
		want string // in the log, "" for nothing
	}{
		{policydecl.Tool, "search", ""},
		{policydecl.Tool, "serach", `tools[\"serach\"]`},
		{policydecl.Prompt, "breif", `prompts[\"breif\"]`},
		{policydecl.Resource, "notes://item/7", ""}, // of a template
		{policydecl.Resource, "notes://itm/7", `resources[\"notes://itm/7\"]`},
		{policydecl.Resource, "FILE:///a/../b", ""},
		{policydecl.Template, "notes://item/{id}", ""},
		{policydecl.Template, "notes://itm/{id}", `templates[\"notes://itm/{id}\"]`},
		{policydecl.Prefix, "file:///secret/deeper/", ""},
		{policydecl.Prefix, "notes://item/", ""},
		{policydecl.Prefix, "nots://item/", `prefixes[\"nots://item/\"]`},
	} {
		var log bytes.Buffer
		bxNew(t, func(f *bxFix, cfg *middleware.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if err := middleware.Govern(f.srv, row.kind, row.name, policydecl.AcceptFrom("user")); err != nil {
				t.Fatal(err)
			}
		})
		told := func(where string) {
			t.Helper()
			if got := log.String(); strings.Contains(got, text) != (row.want != "") || !strings.Contains(got, row.want) {
				t.Errorf("%s, %v %s: %s", where, row.kind, row.name, got)
			}
			log.Reset()
		}
		told("Govern")

		f := bxNew(t, func(_ *bxFix, cfg *middleware.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if log.Len() > 0 {
			t.Errorf("without a reason: %s", log.String())
		}
		over := overrides.Target{Kind: row.kind, Name: row.name, Policy: policydecl.AcceptFrom("user")}
		if row.want != "" && (row.kind == policydecl.Tool || row.kind == policydecl.Prompt) {
			continue // of overrides that is a mistake
		}
		if err := f.gate.Apply(overrides.Overrides{Targets: []overrides.Target{over}}); err != nil {
			t.Fatal(row.name, err)
		}
		told("overrides")
		over.Optional = true
		if err := f.gate.Apply(overrides.Overrides{Mode: middleware.Enforce, Targets: []overrides.Target{over}}); err == nil && strings.Contains(log.String(), text) {
			t.Errorf("optional, %s: %s", row.name, log.String())
		}
	}
}
