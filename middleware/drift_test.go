package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What an attack found: ways for what lists say, what a read meets and what a subscription
// meets to differ.

func drTask(name string) mcp.Tool {
	t := mcp.NewTool(name)
	t.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}
	return t
}

// D4, P5: a task tool that is registered again without the helper keeps its policy beside the
// default; before the gate is made that is a mistake, as for any other kind.
func TestTaskToolAgain(t *testing.T) {
	f := bxNew(t)
	f.srv.AddTaskTool(drTask("texport"), func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		f.note("tool texport again", "")
		return &mcp.CreateTaskResult{}, nil
	})
	bxEras(t, func(t *testing.T, modern bool) {
		msg := bxMsg("1", "tools/call", `"name":"texport","arguments":{},"task":{"ttl":1000}`, bxV, modern)
		for name, send := range f.ways(t) {
			if got := bxVerdict(t, send(msg)); got == "ALLOW" || len(f.took()) > 0 {
				t.Errorf("%s: %s", name, got)
			}
		}
	})

	for _, template := range []bool{false, true} {
		f = bxServer(t, false)
		want := `tools["texport"]`
		if template {
			want = `templates["notes://export{?data}"]`
			f.srv.AddResourceTemplate(mcp.NewResourceTemplate("notes://export{?data}", "note"), server.ResourceTemplateHandlerFunc(f.resource("again")))
		} else {
			f.srv.AddTaskTool(drTask("texport"), func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) { return nil, nil })
		}
		_, err := middleware.New(f.srv, bxConfig())
		wantMistakes(t, err, want)
	}
}

// D4: a policy that is written into a resource's _meta by hand counts beside one by Govern.
func TestHandWrittenBesideGovern(t *testing.T) {
	f := bxNew(t, func(f *bxFix, _ *middleware.Config) {
		if err := middleware.Govern(f.srv, policydecl.Resource, "a://r", policydecl.AcceptFrom("user", "verified")); err != nil {
			t.Fatal(err)
		}
	})
	r := mcp.NewResource("a://r", "r")
	r.Meta = &mcp.Meta{AdditionalFields: map[string]any{keyFlowPolicy: map[string]any{"acceptFrom": []any{"user"}}}}
	f.srv.AddResource(r, f.resource("hand"))
	bxEras(t, func(t *testing.T, modern bool) {
		read := func(label string) string { return bxMsg("1", "resources/read", `"uri":"a://r"`, label, modern) }
		f.expect(t, read(bxV), "DENY", "")
		f.expect(t, read(bxU), "ALLOW", "resource hand a://r")
	})
}

// G2: a subscription to a resource, and a completion for it, meet what a read of it
// does, also where it is registered again without a policy.
func TestSubscriptionMeetsWhatAReadDoes(t *testing.T) {
	f := bxNew(t)
	loose := policydecl.AcceptFrom("self", "user", "unverified")
	if err := middleware.AddResource(f.srv, mcp.NewResource("a://r", "r"), loose, f.resource("helper")); err != nil {
		t.Fatal(err)
	}
	subscribe := func(label string) string { return bxMsg("1", "resources/subscribe", `"uri":"a://r"`, label, false) }
	read := func(label string) string { return bxMsg("1", "resources/read", `"uri":"a://r"`, label, false) }
	complete := func(label string) string {
		return bxMsg("1", "completion/complete", `"ref":{"type":"ref/resource","uri":"a://r"},"argument":{"name":"a","value":"b"}`, label, false)
	}
	verdicts := func(msg string) (all []string) {
		for _, send := range f.ways(t) {
			all = append(all, strings.Replace(bxVerdict(t, send(msg)), "REJECT", "DENY", 1))
		}
		f.took()
		return all
	}
	check := func(when, label, want string) {
		t.Helper()
		for _, msg := range []string{read(label), subscribe(label), complete(label)} {
			for _, got := range verdicts(msg) {
				if got != want {
					t.Errorf("%s: %s, want %s: %s", when, got, want, msg)
				}
			}
		}
	}
	check("by the helper", bxX, "ALLOW")
	f.srv.DeleteResources("a://r")
	f.srv.AddResource(mcp.NewResource("a://r", "r"), f.resource("again"))
	check("again", bxX, "DENY")
	check("again", bxU, "ALLOW")
}

// M2: the record of an ambiguous message has the method and the id that mcp-go has read.
func TestAmbiguousRecordIsOfWhatRuns(t *testing.T) {
	book := newRecordBook()
	f := bxNew(t, func(_ *bxFix, cfg *middleware.Config) { cfg.Sinks = book.config().Sinks })
	for _, msg := range []string{
		`{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{"name":"export"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/list","method":"tools/call","params":{"name":"export"}}`,
		`{"jsonrpc":"2.0","id":8,"params":{"name":"export","Name":"search"},"method":"tools/call"}`,
	} {
		for name, send := range f.ways(t) {
			send(msg)
			if rec := book.one(t); rec.Reason != decision.ReasonAmbiguous || rec.Method != "tools/call" || rec.RequestID != "8" {
				t.Errorf("%s: %s: %+v", name, msg, rec)
			}
		}
	}
}
