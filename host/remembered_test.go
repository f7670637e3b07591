package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// tokens returns n different tokens of the given length, as JSON.
func tokens(n, length int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"https://t%d.example/%s"`, i, strings.Repeat("x", length)))
	}
	return strings.Join(list, ",")
}

// A token that is longer than anything a label can name accepts nobody, and is not kept.
func TestOverlongTokens(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user",`+tokens(50, policydecl.MaxString)+`]}}]`)
	for from, want := range map[string]host.Outcome{"user": host.Answered, "user+fetch": host.BlockedByPolicy} {
		outcome, _ := send(t, c, b.turn(from), "tools/call", `{"name":"x"}`)
		equal(t, from, outcome, want)
	}
	if r := b.last(); !strings.Contains(r.Reason, "over-long") && r.Outcome == host.BlockedByPolicy || len(r.Reason) > 600 {
		t.Errorf("the reason is %q", r.Reason)
	}
	for _, a := range append(c.Pending(), b.asked...) {
		for _, p := range append(a.Old, a.New...) {
			for _, token := range p.Tokens() {
				if len(token) > policydecl.MaxString {
					t.Errorf("a token of %d bytes is kept", len(token))
				}
			}
		}
	}
}

// What is kept of one server is bounded in bytes. Of a kind that takes more nothing is
// called, until the server lists less.
func TestMaxRemembered(t *testing.T) {
	half := host.MaxRemembered / 2 / 2000
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf(`{"name":"%d%s"}`, i, strings.Repeat("x", host.MaxName-8)))
	}
	for name, entries := range map[string]string{
		"policies": `[{"name":"x"},{"name":"y","flowPolicy":{"acceptFrom":[` + tokens(half, 1950) + `]}},{"name":"z","flowPolicy":{"acceptFrom":[` + tokens(half, 1950) + `]}}]`,
		"one policy in both places": `[{"name":"x","flowPolicy":{"acceptFrom":[` + tokens(half, 1950) + `]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":[` +
			strings.ReplaceAll(tokens(half+100, 1950), "https", "http") + `]}}}]`,
		"names": `[{"name":"x"},` + strings.Join(names, ",") + `]`,
	} {
		b := newBench(t, host.Config{})
		c := b.open(recordsURI)
		for range 3 {
			if err := c.Page(t.Context(), policydecl.Tool, []byte(`{"tools":`+entries+`}`), true); err == nil {
				t.Errorf("%s: they are kept", name)
			}
		}
		call := func(what string, want host.Outcome) {
			outcome, _ := send(t, c, b.turn("user"), "tools/call", `{"name":"x"}`)
			equal(t, name+": "+what, outcome, want)
		}
		call("a tool", host.NotSent)
		outcome, _ := send(t, c, b.turn("user"), "resources/read", `{"uri":"x://y"}`)
		equal(t, name+": another kind", outcome, host.Answered)
		list(t, c, policydecl.Tool, `[{"name":"x"}]`)
		call("a tool of a shorter list", host.Answered)
	}
}

// A server that announces too much is sent nothing.
func TestMaxRememberedDefault(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	form := func(scheme string) string {
		return `{"policy":true,"default":{"acceptFrom":["user",` + strings.ReplaceAll(tokens(2500, 1950), "https", scheme) + `]}}`
	}
	hello := `{"capabilities":{"flow":` + form("http") + `,"extensions":{"io.modelcontextprotocol/flow":` + form("https") + `}}}`
	if c.Hello(t.Context(), []byte(hello)) == nil {
		t.Error("it is kept")
	}
	outcome, _ := send(t, c, b.turn("user"), "tools/call", `{"name":"x"}`)
	equal(t, "a call", outcome, host.NotSent)
}

// The hook has the context of whoever has read what the server says, is asked about one
// offer once, and about a bounded number at a time. What it is not asked stays pending.
func TestQuestions(t *testing.T) {
	type key struct{}
	asked, agree := 0, false
	h, err := host.New(host.Config{Approve: func(ctx context.Context, _ host.Approval) bool {
		if ctx.Value(key{}) != "mine" {
			t.Error("it has another context")
		}
		asked++
		return agree
	}})
	must(t, err)
	c, err := h.Connect(host.Server{URI: recordsURI, Assurance: policydecl.Verified})
	must(t, err)
	ctx := context.WithValue(t.Context(), key{}, "mine")
	must(t, c.Hello(ctx, []byte(`{}`)))
	lists := func(n int, tokens string) {
		t.Helper()
		var entries []string
		for i := range n {
			entries = append(entries, fmt.Sprintf(`{"name":"t%d","flowPolicy":{"acceptFrom":[%s]}}`, i, tokens))
		}
		must(t, c.Page(ctx, policydecl.Tool, []byte(`{"tools":[`+strings.Join(entries, ",")+`]}`), true))
	}
	const strict, loose, other = `"user"`, `"user","host"`, `"user","tofu"`
	lists(1, strict)
	for range 3 {
		lists(1, loose)
		lists(1, other)
		lists(1, strict)
	}
	equal(t, "asked about two offers", asked, 2)
	asked, agree = 0, true
	lists(1, `"user","self"`)
	lists(1, strict)
	lists(1, `"user","self"`)
	equal(t, "asked again about what was agreed to and is new again", asked, 2)
	equal(t, "pending", len(c.Pending()), 0)

	asked, agree = 0, false
	lists(300, strict)
	lists(300, loose)
	equal(t, "asked about one list", asked, 100)
	equal(t, "pending", len(c.Pending()), 300)
	must(t, c.Hello(ctx, []byte(`{}`)))
	for i := range 20 {
		lists(100, fmt.Sprintf(`"user","https://s%d.example/mcp"`, i))
	}
	equal(t, "asked in all", asked, 1000-2)
}

// Several connections at a time can list more than one may. The next one knows that there was
// more than is kept, and takes nothing for new.
func TestMaxRememberedTogether(t *testing.T) {
	b := newBench(t, host.Config{})
	big := func(name string) string {
		return `[{"name":"x"},{"name":"` + name + `","flowPolicy":{"acceptFrom":["user",` + tokens(3000, 1950) + `]}}]`
	}
	first, second := b.open(recordsURI), b.open(recordsURI)
	list(t, first, policydecl.Tool, big("a"))
	list(t, second, policydecl.Tool, big("b"))
	third := b.open(recordsURI)
	if third.Page(t.Context(), policydecl.Tool, []byte(`{"tools":[{"name":"b","flowPolicy":{"acceptFrom":["user","unverified"]}}]}`), true) == nil {
		t.Error("what was forgotten is taken for new")
	}
	list(t, third, policydecl.Tool, `[{"name":"x"}]`)
	outcome, _ := send(t, third, b.turn("user+fetch"), "tools/call", `{"name":"x"}`)
	equal(t, "one that was kept", outcome, host.Answered)
	outcome, _ = send(t, third, b.turn("user+fetch"), "tools/call", `{"name":"a"}`)
	equal(t, "another", outcome, host.BlockedByPolicy)
}
