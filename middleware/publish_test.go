package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What the gate adds to an answer, as text. The policies of the fixtures hold no
// object, and a policy is the last member of its declaration.
var (
	addedPolicy     = regexp.MustCompile(`,"flowPolicy":(\{[^{}]*\})\}`)
	addedCapability = regexp.MustCompile(`,"flow":(\{"policy":(?:true|false),"default":\{[^{}]*\}\}),"extensions":\{"io\.modelcontextprotocol/flow":(\{[^{}]*\{[^{}]*\}\})\}\}`)
	policyMirror    = regexp.MustCompile(`"io\.modelcontextprotocol/flowPolicy":(\{[^{}]*\})`)
	capabilities    = regexp.MustCompile(`"result":\{.*"capabilities":\{`)
)

// unpublished takes what the gate publishes out of got, having made sure that it
// is there: beside every policy in a declaration's _meta of want the same policy
// (D1), and the capability twice (D2). What is left can be compared (D3).
func unpublished(t testing.TB, got, want answer) (answer, answer) {
	t.Helper()
	take := func(gated, control string) string {
		policies, flows := policyMirror.FindAllStringSubmatch(control, -1), len(capabilities.FindAllString(control, -1))
		if len(policies) == 0 && flows == 0 {
			return gated
		}
		added, flow := addedPolicy.FindAllStringSubmatch(gated, -1), addedCapability.FindAllStringSubmatch(gated, -1)
		if !slices.EqualFunc(added, policies, func(a, b []string) bool { return a[1] == b[1] }) {
			t.Errorf("added %s, declared %s", added, policies)
		}
		if len(flow) != flows || flows > 0 && flow[0][1] != flow[0][2] {
			t.Errorf("%d capabilities, want %d: %s", len(flow), flows, gated)
		}
		return addedCapability.ReplaceAllString(addedPolicy.ReplaceAllString(gated, "}"), "}")
	}
	// Its length is announced as it is (case 42).
	got.header = got.header.Clone()
	for _, a := range []*answer{&got, &want} {
		if n := a.header.Get("Content-Length"); n != "" {
			if n != strconv.Itoa(len(a.raw)) {
				t.Errorf("Content-Length %s, body of %d bytes", n, len(a.raw))
			}
		}
	}
	raw := take(got.raw, want.raw)
	if raw != got.raw && got.header.Get("Content-Length") != "" && want.header.Get("Content-Length") != "" {
		got.header.Set("Content-Length", strconv.Itoa(len(raw)))
	}
	got.raw = raw
	got.messages = slices.Clone(got.messages)
	for i := range min(len(got.messages), len(want.messages)) {
		got.messages[i] = json.RawMessage(take(string(got.messages[i]), string(want.messages[i])))
	}
	return got, want
}

// listed returns the declarations of an answer's list by name, as they are written.
func listed(t testing.TB, a answer, list string) map[string]string {
	t.Helper()
	var result map[string]json.RawMessage
	var elements []json.RawMessage
	if err := json.Unmarshal(a.reply(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(result[list], &elements); err != nil {
		t.Fatalf("%s: %v", result[list], err)
	}
	by := map[string]string{}
	for _, e := range elements {
		var d struct{ Name string }
		if err := json.Unmarshal(e, &d); err != nil {
			t.Fatal(err)
		}
		by[d.Name] = string(e)
	}
	return by
}

// TestPublished: each kind of declaration carries its own policy twice, one without
// has none, and the capability says what the default is (D1, D2), on every line.
func TestPublished(t *testing.T) {
	_, lines := everywhere(t, newRecipient(), config())
	r, h := gatedSSE(t)
	lines = append(lines, namedLine{"legacy SSE", listenSSE(t, h, r.ran)})
	for _, l := range lines {
		for _, e := range eras {
			if l.name == "legacy SSE" && e == modern {
				continue // that transport has one era
			}
			for method, want := range map[string]struct{ list, name, policy string }{
				"tools/list":               {"tools", "export", `{"acceptFrom":["self","user"]}`},
				"resources/list":           {"resources", "customers", `{"acceptFrom":["self","user"]}`},
				"prompts/list":             {"prompts", "brief", `{"acceptFrom":["user"]}`},
				"resources/templates/list": {"resourceTemplates", "note", `{"acceptFrom":["user"]}`},
			} {
				by := listed(t, l.line.exchange(t, e, request{method: method}), want.list)
				if got := by[want.name]; !strings.HasSuffix(got, `,"flowPolicy":`+want.policy+`}`) ||
					!strings.Contains(got, `"_meta":{"io.modelcontextprotocol/flowPolicy":`+want.policy+`}`) {
					t.Errorf("%s in %s: %s: %s of %s", l.name, e, method, got, by)
				}
				if got := by["search"]; strings.Contains(got, "flowPolicy") {
					t.Errorf("%s in %s: %s has no policy of its own", l.name, e, got)
				}
			}
		}
		capability := `{"policy":true,"default":{"acceptFrom":["self","user","host","verified"]}}`
		for _, method := range []string{"initialize", "server/discover"} {
			e := modern
			if method == "initialize" {
				e = legacy
			}
			if l.name == "legacy SSE" && e == modern {
				continue
			}
			var got struct {
				Capabilities struct {
					Flow       json.RawMessage
					Extensions map[string]json.RawMessage
				}
			}
			a := l.line.exchange(t, e, ungatedRequests[method])
			if err := json.Unmarshal(a.reply(t).Result, &got); err != nil {
				t.Fatal(err)
			}
			if c := got.Capabilities; string(c.Flow) != capability || string(c.Extensions["io.modelcontextprotocol/flow"]) != capability {
				t.Errorf("%s: %s: %s", l.name, method, a.messages)
			}
		}
	}
}

// TestPublishedAtRunTime: what is added and removed at run time is in the
// next list with its policy (D4), within filters and pages.
func TestPublishedAtRunTime(t *testing.T) {
	hidden := func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
		return slices.DeleteFunc(slices.Clone(tools), func(tool mcp.Tool) bool { return tool.Name == "hidden" })
	}
	r := newRecipient(server.WithToolFilter(hidden), server.WithPaginationLimit(2))
	_, lines := everywhere(t, r, config())
	add := func(name string, p policydecl.Policy) {
		t.Helper()
		if err := middleware.AddTool(r.server, mcp.NewTool(name), p, nothing); err != nil {
			t.Fatal(err)
		}
	}
	want := func(l namedLine, e era, name, policy string) {
		t.Helper()
		found, cursor := "", ""
		for range 20 {
			q := request{method: "tools/list"}
			if cursor != "" {
				q.params = `"cursor":` + strconv.Quote(cursor)
			}
			a := l.line.exchange(t, e, q)
			by := listed(t, a, "tools")
			if by[name] != "" {
				found = by[name]
			}
			var page struct{ NextCursor string }
			if err := json.Unmarshal(a.reply(t).Result, &page); err != nil {
				t.Fatal(err)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		published := strings.HasSuffix(found, `,"flowPolicy":`+policy+`}`) && strings.Count(found, policy) == 2
		if policy == "" {
			published = found == ""
		}
		if !published {
			t.Errorf("%s in %s: %s is %s, want policy %s", l.name, e, name, found, policy)
		}
	}
	for _, l := range lines {
		for _, e := range eras {
			add("late", onlyUser)
			add("hidden", onlyUser)
			want(l, e, "late", `{"acceptFrom":["user"]}`)
			want(l, e, "hidden", "")
			r.server.DeleteTools("late", "hidden")
			want(l, e, "late", "")
		}
	}
}

// TestPublishedInSession: a session's own tools are published to it.
func TestPublishedInSession(t *testing.T) {
	r, s := newSessionRecipient()
	h, err := middleware.Handler(r.server, config(), server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	if err := middleware.AddSessionTool(r.server, id, mcp.NewTool("own"), onlyUser, r.tool("own")); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*httpLine{l, l.streaming()} {
		by := listed(t, l.exchangeIn(t, legacy, request{method: "tools/list"}, id), "tools")
		if !strings.HasSuffix(by["own"], `,"flowPolicy":{"acceptFrom":["user"]}}`) {
			t.Errorf("%s", by)
		}
	}
}

// TestNotificationsBesideLists: a list inside a stream is one event, behind what the
// server sent before it.
func TestNotificationsBesideLists(t *testing.T) {
	_, lines := everywhere(t, newRecipient(), config())
	for _, e := range eras {
		a := lines[1].line.exchange(t, e, request{method: "tools/list"})
		if len(a.messages) < 2 || !strings.Contains(string(a.messages[0]), "notifications/") {
			t.Fatalf("no notification: %s", a.messages)
		}
		if !strings.Contains(string(a.messages[len(a.messages)-1]), `"flowPolicy"`) {
			t.Errorf("%s", a.messages)
		}
	}
}

// BenchmarkPublish lists 1,000 tools of a gated server, each with a policy, over HTTP,
// as a ratio to the same tools on mcp-go alone: without policies, where the aim is at
// most 1.2, and with the policies in _meta, whose encoding is mcp-go's.
func BenchmarkPublish(b *testing.B) {
	fresh := func() *server.MCPServer {
		return server.NewMCPServer("s", "1", server.WithToolCapabilities(true))
	}
	gated, bare, mirrored := fresh(), fresh(), fresh()
	for i := range 1000 {
		tool := mcp.NewTool(fmt.Sprintf("tool%04d", i), mcp.WithDescription("Looks up the records of a customer and returns them, newest first."),
			mcp.WithString("customer", mcp.Required(), mcp.Description("The customer's id.")),
			mcp.WithNumber("limit", mcp.Description("How many records to return at most.")))
		if err := middleware.AddTool(gated, tool, selfUser, nothing); err != nil {
			b.Fatal(err)
		}
		bare.AddTool(tool, nothing)
		tool.Meta = mcp.NewMetaFromMap(map[string]any{policydecl.PolicyKey: selfUser})
		mirrored.AddTool(tool, nothing)
	}
	h, err := middleware.Handler(gated, config(), server.WithStateLess(true))
	if err != nil {
		b.Fatal(err)
	}
	on := bxServe(b, h)
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for name, s := range map[string]*server.MCPServer{"alone": bare, "with _meta": mirrored} {
		off := bxServe(b, server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
		b.Run(name, func(b *testing.B) {
			bxPair(b, 1, func() { on(msg) }, func() { off(msg) })
		})
	}
}
