package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A tool that has the name of another server's is not called until somebody agrees: the
// model may mean the other. Closing a connection frees no name, since a server could wait
// until the one that the model knows is away. The steps are of connections a1, a2, … to server a, and so on.
func TestNameTaken(t *testing.T) {
	for name, steps := range map[string]string{
		"the first has it":                                      "a1 lists, b1 lists, a1 ok, b1 name, b1 asked 1",
		"asked once":                                            "a1 lists, b1 lists, b1 lists, b1 asked 1, b1 name",
		"approved":                                              "a1 lists, b1 lists, b1 approves, b1 ok, a1 ok, b1 lists, b1 asked 1, b1 ok",
		"before anybody has listed it":                          "a1 ok, b1 ok",
		"listed by one that is closed":                          "a1 closes, a1 lists, b1 lists, b1 ok",
		"not free when the first is closed":                     "a1 lists, a1 closes, b1 lists, b1 name, a2 lists, a2 ok",
		"not for one that was asked about":                      "a1 lists, b1 lists, a1 closes, b1 lists, b1 name, a2 lists, a2 ok, b1 name",
		"approved after the first has gone":                     "a1 lists, b1 lists, a1 closes, b1 approves, b1 ok",
		"and then the first has it as before":                   "a1 lists, b1 lists, a1 closes, b1 approves, a2 lists, a2 ok, b1 ok",
		"two connections to one server":                         "a1 lists, a2 lists, a1 ok, a2 ok, a1 closes, b1 lists, b1 name, a2 ok",
		"both are closed":                                       "a1 lists, a2 lists, a2 closes, a1 closes, b1 lists, b1 name",
		"one that was approved holds the name too":              "a1 lists, b1 lists, b1 approves, a1 closes, c1 lists, c1 name, b1 ok",
		"not a third one's either":                              "a1 lists, b1 lists, a1 closes, c1 lists, c1 name, b1 name, b1 approves, b1 ok, c1 name",
		"approved, and it comes back":                           "a1 lists, b1 lists, b1 approves, b1 closes, b2 lists, b2 asked 1, b2 ok",
		"and all that were approved do":                         "a1 lists, b1 lists, b1 approves, c1 lists, c1 approves, a1 closes, b1 closes, d1 lists, d1 name, c1 ok",
		"an approval of a connection that is closed":            "a1 lists, b1 lists, b1 closes, b1 approves not, a1 closes, c1 lists, c1 name",
		"a third one":                                           "a1 lists, b1 lists, c1 lists, c1 name, c1 asked 2",
		"the first is closed, and nobody else's is taken by it": "a1 lists, b1 closes, c1 lists, c1 name",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			conns := map[string]*host.Connection{}
			for step := range strings.SplitSeq(steps, ", ") {
				id, what, _ := strings.Cut(step, " ")
				c := conns[id]
				if c == nil {
					var err error
					// The spelling of a URI makes no other server.
					c, err = b.Connect(host.Server{URI: []string{"https://", "HTTPS://"}[id[1]%2] + id[:1] + ".example/mcp"})
					must(t, err)
					must(t, c.Hello(context.Background(), []byte(`{}`)))
					list(t, c, policydecl.Tool, `[]`)
					conns[id] = c
				}
				nameStep(t, b, c, step, what)
			}
		})
	}
}

func nameStep(t *testing.T, b *bench, c *host.Connection, step, what string) {
	t.Helper()
	switch {
	case what == "lists":
		list(t, c, policydecl.Tool, `[{"name":"export"},{"name":"export"}]`)
	case what == "closes":
		c.Close()
	case strings.HasPrefix(what, "approves"):
		pending := c.Pending()
		equal(t, step+": pending", targetsOf(pending), "export")
		equal(t, step, c.Approve(pending[0]), what == "approves")
	case strings.HasPrefix(what, "asked"):
		equal(t, step, fmt.Sprint("asked ", len(b.asked)), what)
		for _, a := range b.asked {
			if a.Question != host.NameTaken || a.Kind != policydecl.Tool || a.Target != "export" || !strings.EqualFold(a.Other, "https://a.example/mcp") || a.Server == a.Other {
				t.Errorf("%s: %+v", step, a)
			}
		}
	default:
		want := map[string]host.Outcome{"ok": host.Answered, "name": host.BlockedByName}[what]
		got, _ := send(t, c, b.turn("user"), "tools/call", `{"name":"export"}`)
		equal(t, step, got, want)
		got, _ = send(t, c, b.turn("user"), "tools/call", `{"name":"another"}`)
		equal(t, step+": another tool", got, host.Answered)
	}
}

// An approval is of what was asked about, and of nothing else.
func TestApprove(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]`)
	good := c.Pending()[0]
	old, agreed := fmt.Sprint(tokensOf(good.Old)), fmt.Sprint(tokensOf(good.New))
	equal(t, "old", old, "[[user]]")
	equal(t, "new", agreed, "[[user host]]")
	equal(t, "the hook's", fmt.Sprint(tokensOf(b.asked[0].Old), tokensOf(b.asked[0].New)), "[[user]] [[user host]]")

	change := func(f func(*host.Approval)) host.Approval {
		a := good
		f(&a)
		return a
	}
	for name, a := range map[string]host.Approval{
		"nothing":            {},
		"of another server":  change(func(a *host.Approval) { a.Server = fetchURI }),
		"of another tool":    change(func(a *host.Approval) { a.Target = "y" }),
		"of another kind":    change(func(a *host.Approval) { a.Kind = policydecl.Prompt }),
		"of the default":     change(func(a *host.Approval) { a.Target = "" }),
		"of another policy":  change(func(a *host.Approval) { a.New = []policydecl.Policy{policydecl.AcceptFrom("user")} }),
		"of a looser one":    change(func(a *host.Approval) { a.New = []policydecl.Policy{policydecl.AcceptFrom("user", "host", "tofu")} }),
		"of no policy":       change(func(a *host.Approval) { a.New = nil }),
		"of an absent one":   change(func(a *host.Approval) { a.New = []policydecl.Policy{{}} }),
		"of several":         change(func(a *host.Approval) { a.New = append(a.New[:1:1], a.New...) }),
		"of a name":          change(func(a *host.Approval) { a.Question = host.NameTaken }),
		"of another concern": change(func(a *host.Approval) { a.Question = "x" }),
	} {
		equal(t, "an approval "+name, c.Approve(a), false)
	}
	equal(t, "pending", len(c.Pending()), 1)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user","host","tofu"]}}]`)
	equal(t, "an approval that is out of date", c.Approve(good), false)
	equal(t, "the new one", c.Approve(c.Pending()[0]), true)
	equal(t, "afterwards", len(c.Pending()), 0)

	must(t, c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":[]}}}}`)))
	must(t, c.Hello(context.Background(), []byte(`{}`)))
	a := c.Pending()[0]
	equal(t, "old and new", fmt.Sprint(tokensOf(a.Old), tokensOf(a.New)), "[[]] []")
	a.New = []policydecl.Policy{policydecl.AcceptFrom()}
	equal(t, "an empty policy is not none (P4)", c.Approve(a), false)
	a.New = nil
	equal(t, "none", c.Approve(a), true)
}

func tokensOf(list []policydecl.Policy) [][]string {
	out := [][]string{}
	for _, p := range list {
		out = append(out, p.Tokens())
	}
	return out
}

// An approval of a name says beside whom, and a name that is listed often is held once.
func TestApproveName(t *testing.T) {
	b := newBench(t, host.Config{})
	first, second := b.open(recordsURI), b.open(partnerURI)
	for range 3 {
		list(t, first, policydecl.Tool, `[{"name":"x"},{"name":"x"}]`)
		list(t, second, policydecl.Tool, `[{"name":"x"}]`)
	}
	a := second.Pending()[0]
	a.Other = fetchURI
	equal(t, "beside another", second.Approve(a), false)
	a.Other = recordsURI
	a.Target = "y"
	equal(t, "another name", second.Approve(a), false)
	a.Target = "x"
	equal(t, "the name", second.Approve(a), true)
	equal(t, "again", second.Approve(a), false)
	list(t, second, policydecl.Tool, `[{"name":"x"}]`)
	equal(t, "holders", host.Holders(b.Host, "x"), 2)

	third := b.open(newsURI)
	list(t, third, policydecl.Tool, `[{"name":"x"}]`)
	first.Close()
	second.Close()
	a = third.Pending()[0]
	a.Other = fetchURI
	equal(t, "beside another, when it is free", third.Approve(a), false)
}

// Pending is in a fixed order and gives away nothing that its caller could change.
func TestPending(t *testing.T) {
	b := newBench(t, host.Config{})
	other := b.open(partnerURI)
	c := b.open(recordsURI)
	must(t, c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}`)))
	const was, is = `"flowPolicy":{"acceptFrom":["user"]}`, `"flowPolicy":{"acceptFrom":["user","host"]}`
	list(t, other, policydecl.Tool, `[{"name":"a"},{"name":"b"}]`)
	for _, policy := range []string{was, is} {
		list(t, c, policydecl.Tool, `[{"name":"b",`+policy+`},{"name":"a",`+policy+`}]`)
		list(t, c, policydecl.Prompt, `[{"name":"b",`+policy+`}]`)
		list(t, c, policydecl.Template, `[{"uriTemplate":"b://{x}",`+policy+`}]`)
		list(t, c, policydecl.Resource, `[{"uri":"b://x",`+policy+`}]`)
	}
	must(t, c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}}`)))
	for range 20 {
		var got []string
		for _, a := range c.Pending() {
			got = append(got, fmt.Sprintf("%s %v %s", a.Question, a.Kind, a.Target))
			if len(a.New) > 0 {
				a.New[0] = policydecl.Policy{}
			}
		}
		want := "name-taken tools a; name-taken tools b; policy-loosened TargetKind(0) ; policy-loosened tools a; policy-loosened tools b; " +
			"policy-loosened prompts b; policy-loosened resources b://x; policy-loosened templates b://{x}"
		equal(t, "pending", strings.Join(got, "; "), want)
	}
}
