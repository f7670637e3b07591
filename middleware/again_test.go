package middleware_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// D4, P5: what is registered again without a helper, over what a helper has registered with a
// policy, has to meet that policy and the default, and the log says so once. Removed and
// declared with a helper it has the new policy alone.
func TestRegisteredAgain(t *testing.T) {
	bxEras(t, func(t *testing.T, modern bool) {
		call := func(label string) string {
			return bxMsg("1", "tools/call", `"name":"export","arguments":{}`, label, modern)
		}
		prompt := func(label string) string { return bxMsg("1", "prompts/get", `"name":"brief"`, label, modern) }
		complete := func(label string) string {
			return bxMsg("1", "completion/complete", `"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"a","value":"b"}`, label, modern)
		}
		var log bytes.Buffer
		f := bxNew(t, func(_ *bxFix, cfg *middleware.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		again := func() {
			f.srv.AddTool(mcp.NewTool("export"), f.tool("export again"))
			f.srv.AddPrompt(mcp.NewPrompt("brief"), f.prompt("again"))
		}
		check := func(label, want, tool, prompted, completed string) {
			t.Helper()
			f.expect(t, call(label), want, tool)
			f.expect(t, prompt(label), want, prompted)
			f.expect(t, complete(label), want, completed)
		}
		for _, removed := range []bool{false, true} {
			if removed {
				f.srv.DeleteTools("export")
				f.srv.DeletePrompts("brief")
			}
			again()
			check(bxV, "DENY", "", "", "") // the default accepts it, the policy it had does not
			check(bxU, "ALLOW", "tool export again", "prompt again", "completion prompt brief")
		}
		if n := strings.Count(log.String(), "registered again without the policy it had"); n != 2 {
			t.Errorf("%d lines in the log, want one for the tool and one for the prompt: %s", n, log.String())
		}

		f.srv.DeleteTools("export")
		f.srv.DeletePrompts("brief")
		wide := policydecl.AcceptFrom("user", "verified")
		if err := middleware.AddTool(f.srv, mcp.NewTool("export"), wide, f.tool("export")); err != nil {
			t.Fatal(err)
		}
		if err := middleware.AddPrompt(f.srv, mcp.NewPrompt("brief"), wide, f.prompt("brief")); err != nil {
			t.Fatal(err)
		}
		check(bxV, "ALLOW", "tool export", "prompt brief", "completion prompt brief")
	})
}

// A policy that accepts more than the default opens nothing for what is registered under its
// name later (P4).
func TestRegisteredAgainWide(t *testing.T) {
	f := bxNew(t)
	if err := middleware.AddTool(f.srv, mcp.NewTool("open"), policydecl.AcceptFrom("user", "unverified"), f.tool("open")); err != nil {
		t.Fatal(err)
	}
	f.expect(t, bxCall("open", bxX), "ALLOW", "tool open")
	f.srv.DeleteTools("open")
	f.srv.AddTool(mcp.NewTool("open"), f.tool("open again"))
	f.expect(t, bxCall("open", bxX), "DENY", "")
	f.expect(t, bxCall("open", bxU), "ALLOW", "tool open again")
	f.expect(t, bxCall("open", bxV), "DENY", "")
}

// Who declares twice is told how to replace.
func TestDeclaredTwiceHint(t *testing.T) {
	f := bxNew(t)
	err := middleware.AddTool(f.srv, mcp.NewTool("export"), policydecl.AcceptFrom("user"), f.tool("export"))
	if err == nil || !strings.Contains(err.Error(), "take it from the server first, with DeleteTools") {
		t.Error(err)
	}
	err = middleware.AddPrompt(f.srv, mcp.NewPrompt("brief"), policydecl.AcceptFrom("user"), f.prompt("brief"))
	if err == nil || !strings.Contains(err.Error(), "with DeletePrompts") {
		t.Error(err)
	}
	err = middleware.AddResource(f.srv, mcp.NewResource("records://customers", "customers"), policydecl.AcceptFrom("user"), f.resource("static"))
	if err == nil || !strings.Contains(err.Error(), "with DeleteResources") {
		t.Error(err)
	}
}
