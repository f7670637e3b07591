package mcpgo_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const changed = "notifications/tools/list_changed"

// TestListedOnce: the policies are read before the first call, all pages of them, and not
// again until the server says that they have changed.
func TestListedOnce(t *testing.T) {
	f := newFake("")
	f.set("tools/list", pages("tools", "["+toolText("a")+"]", "["+toolText("b", "user")+"]"))
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	for _, want := range []string{"tools/list tools/list tools/call", "tools/call"} {
		ctx, _ := a.turn(t)
		permitted(t, step(ctx, c, "b"))
		if got := f.methods(); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
	f.say(changed)
	ctx, _ := a.turn(t, unverified(t, a))
	a.refusedBy(t, host.BlockedByPolicy, step(ctx, c, "b"))
	if got := f.methods(); got != "tools/list tools/list" {
		t.Errorf("after a change sent %s", got)
	}
}

// applicationLists are ways in which an application lists tools, and what is sent for them
// and a call.
var applicationLists = []struct {
	name, want string
	list       func(context.Context, *fake, lister) error
}{
	{"whole", "tools/list tools/list tools/call", func(ctx context.Context, _ *fake, c lister) error {
		_, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		return err
	}},
	{"first page", "tools/list tools/list tools/list tools/call", func(ctx context.Context, _ *fake, c lister) error {
		_, err := c.ListToolsByPage(ctx, mcp.ListToolsRequest{})
		return err
	}},
	{"last page", "tools/list tools/list tools/list tools/call", func(ctx context.Context, _ *fake, c lister) error {
		req := mcp.ListToolsRequest{}
		req.Params.Cursor = "1"
		_, err := c.ListToolsByPage(ctx, req)
		return err
	}},
	{"a page left out", "tools/list tools/list tools/list tools/list tools/list tools/call", func(ctx context.Context, f *fake, c lister) error {
		f.set("tools/list", pages("tools", "[]", "["+toolText("b")+"]", "[]"))
		req := mcp.ListToolsRequest{}
		if _, err := c.ListToolsByPage(ctx, req); err != nil {
			return err
		}
		req.Params.Cursor = "2"
		_, err := c.ListToolsByPage(ctx, req)
		return err
	}},
	{"changed under way", "tools/list tools/list tools/list tools/list tools/call", func(ctx context.Context, f *fake, c lister) error {
		two, once := f.on["tools/list"], true
		f.set("tools/list", func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			if once {
				once = false
				f.say(changed)
			}
			return two(ctx, r)
		})
		_, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		return err
	}},
	{"changed in between", "tools/list tools/list tools/list tools/list tools/call", func(ctx context.Context, f *fake, c lister) error {
		req := mcp.ListToolsRequest{}
		if _, err := c.ListToolsByPage(ctx, req); err != nil {
			return err
		}
		f.say(changed)
		req.Params.Cursor = "1"
		_, err := c.ListToolsByPage(ctx, req)
		return err
	}},
}

// TestListOfTheApplication: what the application has listed to its end the adapter does
// not list; a part of a list is not the list.
func TestListOfTheApplication(t *testing.T) {
	for _, test := range applicationLists {
		t.Run(test.name, func(t *testing.T) {
			f := newFake("")
			f.set("tools/list", pages("tools", "["+toolText("a")+"]", "["+toolText("b")+"]"))
			a := newAgent(t, hostConfig)
			c, _ := f.connect(t, a)
			ctx, p := a.turn(t)
			if err := test.list(ctx, f, c); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(principals(p), recordsURI) {
				t.Error("the descriptions did not count")
			}
			permitted(t, step(ctx, c, "b"))
			if got := f.methods(); got != test.want {
				t.Errorf("sent %s, want %s", got, test.want)
			}
		})
	}
}

type lister interface {
	ListTools(context.Context, mcp.ListToolsRequest) (*mcp.ListToolsResult, error)
	ListToolsByPage(context.Context, mcp.ListToolsRequest) (*mcp.ListToolsResult, error)
}

// TestOwnListDoesNotCount: what only the host has read is in no model's context.
func TestOwnListDoesNotCount(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, p := a.turn(t)
	f.set("tools/call", func(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if got := principals(p); got != "user urn:mcp:user" {
			t.Errorf("while the call is at the server the partition holds %s", got)
		}
		return reply(`{"content":[]}`)(nil, r)
	})
	permitted(t, step(ctx, c, "a"))
	if !strings.Contains(principals(p), recordsURI) {
		t.Error("the result did not count")
	}
}

// TestKindsThatAreNotThere: a kind that is not announced, or whose list the server does
// not know, has no declarations; the default governs.
func TestKindsThatAreNotThere(t *testing.T) {
	for name, want := range map[string]string{
		`{}`:             "tools/call",
		`{"tools":null}`: "tools/list tools/call",
		`{"tools":{}}`:   "tools/list tools/call",
	} {
		f := newFake("[]")
		f.set("initialize", reply(`{"protocolVersion":"2025-11-25","capabilities":`+name+`,"serverInfo":{"name":"f","version":"1"}}`))
		f.set("tools/list", fail(mcp.METHOD_NOT_FOUND, "what?"))
		a := newAgent(t, hostConfig)
		c, _ := f.connect(t, a)
		for _, want := range []string{want, "tools/call"} {
			ctx, _ := a.turn(t)
			permitted(t, step(ctx, c, "a"))
			if got := f.methods(); got != want {
				t.Errorf("%s: sent %s, want %s", name, got, want)
			}
		}
	}
}

// TestResourcesNeedBothLists: a template governs URIs as well.
func TestResourcesNeedBothLists(t *testing.T) {
	f := newFake("[]")
	f.set("resources/list", reply(`{"resources":[]}`))
	f.set("resources/templates/list", reply(`{"resourceTemplates":[{"uriTemplate":"a://{x}","name":"a","flowPolicy":{"acceptFrom":["user"]}}]}`))
	f.set("resources/read", reply(`{"contents":[]}`))
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, p := a.turn(t)
	permitted(t, step(ctx, c, "a://1"))
	if got := f.methods(); got != "resources/list resources/templates/list resources/read" {
		t.Errorf("sent %s", got)
	}
	p.Add(unverified(t, a))
	a.refusedBy(t, host.BlockedByPolicy, step(ctx, c, "a://1"))
	f.set("resources/templates/list", fail(mcp.INTERNAL_ERROR, "broken"))
	f.say("notifications/resources/list_changed")
	ctx, _ = a.turn(t)
	a.refusedBy(t, host.NotSent, step(ctx, c, "a://1"))
}

// TestNewHelloMakesStale: a server that was started anew may list something else.
func TestNewHelloMakesStale(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	c, _ := f.connect(t, a)
	ctx, _ := a.turn(t)
	permitted(t, step(ctx, c, "a"))
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	f.methods()
	ctx, _ = a.turn(t)
	permitted(t, step(ctx, c, "a"))
	if got := f.methods(); got != "tools/list tools/call" {
		t.Errorf("sent %s", got)
	}
}

// TestNothingListedForTheBlocked: what the ceiling blocks causes no request at all, not
// even for a list: that would tell an unverified server that something was tried.
func TestNothingListedForTheBlocked(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	c, _ := f.connectAs(t, a, host.Server{URI: fetchURI})
	ctx, _ := a.turn(t, sources(t, a, partnerURI, policydecl.Verified))
	a.refusedBy(t, host.BlockedByCeiling, step(ctx, c, "a"))
	if got := f.methods(); got != "" {
		t.Errorf("sent %s", got)
	}
}

// TestListLooksLikeTheApplication: the adapter's own requests carry the application's
// authorization and its era's marks, and nothing of what the other request is about.
func TestListLooksLikeTheApplication(t *testing.T) {
	for _, e := range []era{legacy, modern} {
		r := newRecords()
		var heads []http.Header
		var mu sync.Mutex
		r.hooks.AddBeforeListTools(func(_ context.Context, _ any, req *mcp.ListToolsRequest) {
			mu.Lock()
			defer mu.Unlock()
			heads = append(heads, req.Header)
		})
		a := newAgent(t, hostConfig)
		c, _ := a.connect(t, overHTTP, e, r, policydecl.Verified)
		ctx, _ := a.turn(t)
		req := call("export")
		req.Params.Arguments = map[string]any{"secret": "xyzzy"}
		req.Header = http.Header{"Authorization": {"Bearer t"}, "Mcp-Param-Secret": {"xyzzy"}}
		_, err := c.CallTool(ctx, req)
		permitted(t, err)
		got, _ := r.took()
		for _, g := range got {
			if g.method == "tools/list" && strings.Contains(string(g.params), "xyzzy") {
				t.Errorf("%s: the list was asked for with %s", e, g.params)
			}
		}
		if len(heads) == 0 {
			t.Fatal("no list was asked for")
		}
		for _, h := range heads {
			if h.Get("Authorization") != "Bearer t" || h.Get("Mcp-Param-Secret") != "" || h.Get("Mcp-Name") != "" {
				t.Errorf("%s: %v", e, h)
			}
			if want := map[era]string{legacy: "", modern: "tools/list"}[e]; h.Get("Mcp-Method") != want {
				t.Errorf("%s: Mcp-Method is %q", e, h.Get("Mcp-Method"))
			}
		}
	}
}

// TestListenBringsChanges: in the 2026-07-28 protocol changes come on a stream that the
// application asks for, from a partition of its own.
func TestListenBringsChanges(t *testing.T) {
	for _, l := range []line{overHTTP, overStdio} {
		t.Run(l.name, func(t *testing.T) {
			r := newRecords()
			a := newAgent(t, hostConfig)
			c, _ := a.connect(t, l, modern, r, policydecl.Verified)
			got := make(chan string, 64)
			c.OnNotification(func(n mcp.JSONRPCNotification) { got <- n.Method })
			wait := func(method string) {
				t.Helper()
				for {
					select {
					case m := <-got:
						if m == method {
							return
						}
					case <-deadline(t).Done():
						t.Fatalf("no %s", method)
					}
				}
			}
			own := a.Open(host.Turn{From: []host.Sources{host.HostText()}, Shown: []*host.Connection{}})
			stop, err := c.ListenAsync(host.WithPartition(deadline(t), own), mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
			permitted(t, err)
			wait("notifications/subscriptions/acknowledged")
			ctx, _ := a.turn(t)
			permitted(t, step(ctx, c, "search"))
			r.took()
			r.tool("late", onlyUser, "late")
			wait(changed)
			ctx, p := a.turn(t, unverified(t, a))
			a.refusedBy(t, host.BlockedByPolicy, step(ctx, c, "late"))
			if got, _ := r.took(); len(got) == 0 || got[0].method != "tools/list" {
				t.Errorf("arrived %s", got)
			}
			if holds(p) || !holds(own) {
				t.Errorf("they hold %s / %s", principals(p), principals(own))
			}
			stop()
		})
	}
}
