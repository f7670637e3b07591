package middleware_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// apSaid is what the author of the publishing server says of its declarations: a policy
// by name, "-" or nothing for none.
type apSaid map[string]string

// apShop is a server with several pages of everything, whose author says what said says.
// Declarations without a policy are registered past the helpers.
func apShop(said apSaid) *recipient {
	r := newRecipient()
	meta := func() *mcp.Meta {
		return &mcp.Meta{AdditionalFields: map[string]any{"a.example/first": 1, "z.example/last": []any{"<&>", 1.0}}}
	}
	for _, name := range []string{"one", "two", "three", "four", "meta"} {
		tool, prompt := mcp.NewTool("t-"+name, mcp.WithDescription("a < b & c"), mcp.WithString("x")), mcp.NewPrompt("p-"+name, mcp.WithArgument("id"))
		resource, template := mcp.NewResource("shop://r/"+name, "r-"+name), mcp.NewResourceTemplate("shop://t/"+name+"/{id}", "t-"+name)
		if name == "meta" {
			tool.Meta, prompt.Meta, resource.Meta, template.Meta = meta(), meta(), meta(), meta()
		}
		policy := func(of string) (policydecl.Policy, bool) {
			accept, ok := said[of]
			return apPolicy(accept), ok && accept != "-"
		}
		if p, ok := policy(tool.Name); ok {
			r.try(middleware.AddTool(r.server, tool, p, r.tool(name)))
		} else {
			r.server.AddTool(tool, r.tool(name))
		}
		if p, ok := policy(prompt.Name); ok {
			r.try(middleware.AddPrompt(r.server, prompt, p, noPrompt))
		} else {
			r.server.AddPrompt(prompt, noPrompt)
		}
		if p, ok := policy(resource.URI); ok {
			r.try(middleware.AddResource(r.server, resource, p, r.resource(name)))
		} else {
			r.server.AddResource(resource, r.resource(name))
		}
		if p, ok := policy(template.URITemplate.Raw()); ok {
			r.try(middleware.AddResourceTemplate(r.server, template, p, r.template(name)))
		} else {
			r.server.AddResourceTemplate(template, r.template(name))
		}
	}
	return r
}

// apPages returns every page of every list, as the bytes that came.
func apPages(t testing.TB, l line, e era) string {
	t.Helper()
	var b strings.Builder
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		cursor := ""
		for page := 0; ; page++ {
			if page > 9 {
				t.Fatal("pages without an end")
			}
			r := request{id: "7", method: method}
			if cursor != "" {
				r.params = `"cursor":"` + cursor + `"`
			}
			a := l.exchange(t, e, r)
			var next struct{ NextCursor string }
			result := a.reply(t).Result
			if err := json.Unmarshal(result, &next); err != nil {
				t.Fatal(err)
			}
			b.WriteString(method + " " + string(result) + "\n")
			if cursor = next.NextCursor; cursor == "" {
				break
			}
		}
	}
	return b.String()
}

var (
	apShopCode = apSaid{
		"t-two": "self,user", "t-meta": "user,verified", "p-two": "self,user", "p-meta": "user,verified",
		"shop://r/two": "self,user", "shop://r/meta": "user,verified", "shop://t/two/{id}": "self,user", "shop://t/meta/{id}": "user,verified",
	}
	// What overrides say of some of these, and of some that have no policy.
	apShopOver = apSaid{
		"t-one": "user", "t-two": "", "t-meta": "verified", "p-one": "user", "p-two": "", "p-meta": "verified",
		"shop://r/one": "user", "shop://r/two": "", "shop://r/meta": "verified", "shop://t/one/{id}": "user", "shop://t/two/{id}": "", "shop://t/meta/{id}": "verified",
	}
)

// apShopOverrides are overrides that say the same.
func apShopOverrides() (o overrides.Overrides) {
	for name, accept := range apShopOver {
		kind := policydecl.Tool
		switch {
		case strings.HasPrefix(name, "p-"):
			kind = policydecl.Prompt
		case strings.HasPrefix(name, "shop://r/"):
			kind = policydecl.Resource
		case strings.HasPrefix(name, "shop://t/"):
			kind = policydecl.Template
		}
		o.Targets = append(o.Targets, apTarget(kind, name, accept, 0))
	}
	o.Targets = append(o.Targets, apTarget(policydecl.Prefix, "shop://r/", "user,verified", 0), apTarget(policydecl.Tool, "search", "-", middleware.Enforce))
	return o
}

// TestApplyPublishes: what overrides say of a declaration is published as if its author had
// said it, and nothing else changes, byte for byte and page by page; and taking them back
// takes that back (D1, D3, D4).
func TestApplyPublishes(t *testing.T) {
	said := apSaid{}
	for _, part := range []apSaid{apShopCode, apShopOver} {
		for name, accept := range part {
			said[name] = accept
		}
	}
	views := func(t *testing.T, lines []namedLine) (out []string) {
		for _, l := range lines {
			for _, e := range eras {
				out = append(out, apPages(t, l.line, e))
			}
		}
		return out
	}
	same := func(t *testing.T, what string, got, want []string) {
		t.Helper()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s, %d: %s", what, i, apDiffer(got[i], want[i]))
			}
		}
	}
	var want []string
	t.Run("said by the author", func(t *testing.T) {
		_, lines := everywhere(t, apShop(said), config())
		want = views(t, lines)
	})
	for _, loosen := range []bool{false, true} {
		t.Run("said by the operator", func(t *testing.T) {
			r := apShop(apShopCode)
			g, lines := everywhere(t, r, config())
			before, registered := views(t, lines), apRegistered(t, r.server)
			if before[0] == want[0] {
				t.Fatal("the two servers publish the same")
			}
			o := apShopOverrides()
			o.DangerouslyLoosen = loosen
			for range 2 {
				apMust(t, g, o)
				same(t, "with overrides", views(t, lines), want)
				if now := apRegistered(t, r.server); now != registered {
					t.Errorf("what is registered has changed:\n%s\nwas\n%s", now, registered)
				}
				apMust(t, g, overrides.Overrides{})
				same(t, "taken back", views(t, lines), before)
			}
			// Nor has a list that showed the overrides left anything in force.
			for name, accept := range map[string]string{"t-one": "self,user,host,verified", "t-two": "self,user", "t-meta": "user,verified"} {
				if got := apVerdict(t, lines[0].line, legacy, call(name, labelX)); got != accept {
					t.Errorf("%s: %q, want %q", name, got, accept)
				}
			}
		})
	}
}

// apDiffer shows where two texts part.
func apDiffer(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("…%.240s…\nwant …%.240s…", got[from:], want[from:])
}

// apRegistered is the text of all declarations that mcp-go shows.
func apRegistered(t testing.TB, s *server.MCPServer) string {
	t.Helper()
	text, err := json.Marshal([]any{s.ListTools()["t-one"].Tool, s.ListTools()["t-two"].Tool, s.ListTools()["t-meta"].Tool,
		s.ListPrompts()["p-one"].Prompt, s.ListPrompts()["p-two"].Prompt, s.ListPrompts()["p-meta"].Prompt,
		s.ListResources()["shop://r/one"].Resource, s.ListResources()["shop://r/two"].Resource, s.ListResources()["shop://r/meta"].Resource})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestApplyPublishesNothingWhenOff: a gate that is off adds nothing to an answer, also
// not what the overrides say.
func TestApplyPublishesNothingWhenOff(t *testing.T) {
	r := apShop(apShopCode)
	g, lines := everywhere(t, r, config())
	off := overrides.Overrides{Mode: middleware.DangerouslyOff, DangerouslyLoosen: true}
	apMust(t, g, off)
	for _, l := range lines {
		for _, e := range eras {
			apMust(t, g, off)
			want := apPages(t, l.line, e)
			if strings.Contains(want, `"flowPolicy":`) {
				t.Errorf("%s in %s: %s", l.name, e, want)
			}
			o := apShopOverrides()
			o.Mode, o.DangerouslyLoosen, o.Targets = off.Mode, true, o.Targets[:len(o.Targets)-1]
			apMust(t, g, o)
			if got := apPages(t, l.line, e); got != want {
				t.Errorf("%s in %s: %s", l.name, e, apDiffer(got, want))
			}
		}
	}
}

// TestApplyPublishesInSession: also of what a session has of its own.
func TestApplyPublishesInSession(t *testing.T) {
	r, s := newSessionRecipient()
	g, err := middleware.New(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	h, err := g.Handler(server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	r.try(middleware.AddSessionTool(r.server, id, mcp.NewTool("own"), apPolicy("user,verified"), r.tool("own")))
	list := func() []byte { return l.exchangeIn(t, legacy, request{method: "tools/list"}, id).reply(t).Result }
	before := list()
	apMust(t, g, apOver(overrides.Target{Kind: policydecl.Tool, Name: "own", Policy: onlyUser, Optional: true}))
	want := bytes.ReplaceAll(before, []byte(`{"acceptFrom":["user","verified"]}`), []byte(`{"acceptFrom":["user"]}`))
	for _, l := range []*httpLine{l, l.streaming()} {
		if got := l.exchangeIn(t, legacy, request{method: "tools/list"}, id).reply(t).Result; !bytes.Equal(got, want) || bytes.Equal(got, before) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	apMust(t, g, overrides.Overrides{})
	if got := list(); !bytes.Equal(got, before) {
		t.Errorf("%s\nwant %s", got, before)
	}
}

// A tool that comes after the overrides, with a policy that is narrower than theirs: lists
// show what both accept, which is what a call has to meet (D4).
func TestApplyPublishesWhatBothAccept(t *testing.T) {
	r := newRecipient()
	cfg := config()
	cfg.Overrides = overrides.Overrides{Targets: []overrides.Target{
		{Kind: policydecl.Tool, Name: "later", Policy: policydecl.AcceptFrom("user", "host", "self"), Optional: true},
	}}
	_, lines := everywhere(t, r, cfg)
	r.try(middleware.AddTool(r.server, mcp.NewTool("later"), policydecl.AcceptFrom("verified", "host", "user"), r.tool("later")))
	const published = `{"acceptFrom":["user","host"]}`
	for _, l := range lines {
		text := ""
		for cursor := ""; ; {
			req := request{method: "tools/list"}
			if cursor != "" {
				req.params = `"cursor":"` + cursor + `"`
			}
			a := l.line.exchange(t, legacy, req)
			if text = listed(t, a, "tools")["later"]; text != "" {
				break
			}
			var page struct{ NextCursor string }
			if err := json.Unmarshal(a.reply(t).Result, &page); err != nil || page.NextCursor == "" {
				t.Fatalf("%s: no such tool: %s", l.name, a.messages)
			}
			cursor = page.NextCursor
		}
		if !strings.Contains(text, `"flowPolicy":`+published) || !strings.Contains(text, `"`+keyFlowPolicy+`":`+published) {
			t.Errorf("%s: %s", l.name, text)
		}
		for label, accepted := range map[string]bool{labelU: true, labelV: false} {
			a := l.line.exchange(t, legacy, call("later", label))
			if (a.lastError(t) == nil) != accepted {
				t.Errorf("%s, %s: %s", l.name, label, a.messages)
			}
		}
		r.ran.take()
	}
}
