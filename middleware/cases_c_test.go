package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Cases 30 to 38: URIs, principals and tokens.

// bxFrom is a complete label of one contributor.
func bxFrom(principal, assurance string) string {
	p, _ := json.Marshal(principal)
	return `{"contributors":[{"principal":` + string(p) + `,"assurance":"` + assurance + `"}],"complete":true}`
}

// bxTool adds a tool with a policy to the fixture before its gate is made.
func bxTool(t testing.TB, name string, tokens ...string) func(*bxFix, *middleware.Config) {
	return func(f *bxFix, _ *middleware.Config) {
		if err := middleware.AddTool(f.srv, mcp.NewTool(name), policydecl.AcceptFrom(tokens...), f.tool(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func bxAtURI(uri string) func(*bxFix, *middleware.Config) {
	return func(_ *bxFix, cfg *middleware.Config) { cfg.URI = uri }
}

// allowed checks one call in both eras and on every way.
func (f *bxFix) allowed(t *testing.T, tool, label string, want bool) {
	t.Helper()
	for _, modern := range []bool{false, true} {
		msg := bxMsg("1", "tools/call", `"name":"`+tool+`"`, label, modern)
		if want {
			f.expect(t, msg, "ALLOW", "tool "+tool)
		} else {
			f.expect(t, msg, "DENY", "")
		}
	}
}

// U1: a slash at the end is another URI.
func TestCaseC30TrailingSlash(t *testing.T) {
	for _, own := range []string{"https://records.example", "https://records.example/", "HTTPS://Records.Example:443"} {
		f := bxNew(t, bxAtURI(own), bxTool(t, "mine", "self"))
		for principal, want := range map[string]bool{
			"https://records.example/": true, "https://records.example": true, "https://RECORDS.example:443/": true,
			"https://records.example//": false, "https://records.example/.": false, "https://records.example:80": false, "http://records.example/": false,
			"https://records.example/?": false, "https://records.example/#": false, "https://records.example./": false,
		} {
			f.allowed(t, "mine", bxFrom(principal, "unverified"), want)
			f.allowed(t, "export", bxFrom(principal, "unverified"), want)
		}
	}
	f := bxNew(t) // its URI has a path
	for _, p := range []string{"https://records.example/mcp/", "https://records.example/", "https://records.example/MCP", "https://records.example/mcp/."} {
		f.allowed(t, "export", bxFrom(p, "unverified"), false)
	}
	f.allowed(t, "export", bxFrom("https://records.example/mcp", "unverified"), true)
}

// U1 and U3: letter case.
func TestCaseC31LetterCase(t *testing.T) {
	f := bxNew(t, bxTool(t, "partner", "https://mcp.partner.example/mcp"), bxTool(t, "urn", "urn:mcp:user"))
	for principal, want := range map[string]bool{
		"HTTPS://MCP.Partner.example:443/mcp": true, "https://mcp.partner.example/mcp": true, "https://mcp.partner.example/MCP": false,
		"https://mcp.partner.example:8443/mcp": false, "http://mcp.partner.example/mcp": false, "https://mcp.partner.example:80/mcp": false,
		"https://mcp.partner.example/%6dcp": false, "https://mcp.partner.example/mcp?": false, "https://user@mcp.partner.example/mcp": false,
		"https://mcp.partner.example\\mcp": false, " https://mcp.partner.example/mcp": false, "https://mcp.partner.example/mcp\n": false,
	} {
		f.allowed(t, "partner", bxFrom(principal, "unverified"), want)
	}
	// A principal's text raises nobody's assurance.
	for _, p := range []string{"URN:mcp:user", "urn:mcp:user", "urn:MCP:user", "urn:mcp:host"} {
		f.allowed(t, "export", bxFrom(p, "unverified"), false)
		f.allowed(t, "search", bxFrom(p, "tofu"), false)
	}
	f.allowed(t, "urn", bxFrom("URN:MCP:user", "unverified"), true) // U3
	f.allowed(t, "urn", bxFrom("urn:mcp:USER", "unverified"), false)
}

// U1: the default port of the scheme only.
func TestCaseC32DefaultPort(t *testing.T) {
	f := bxNew(t, bxTool(t, "tls", "https://mcp.partner.example:443/mcp"), bxTool(t, "plain", "http://mcp.partner.example:80/mcp"))
	f.allowed(t, "tls", bxFrom("https://mcp.partner.example/mcp", "verified"), true)
	f.allowed(t, "tls", bxFrom("https://mcp.partner.example:80/mcp", "verified"), false)
	f.allowed(t, "tls", bxFrom("http://mcp.partner.example/mcp", "verified"), false)
	f.allowed(t, "plain", bxFrom("http://mcp.partner.example/mcp", "verified"), true)
	f.allowed(t, "plain", bxFrom("http://mcp.partner.example:443/mcp", "verified"), false)
	f.allowed(t, "tls", bxFrom("https://mcp.partner.example:0443/mcp", "verified"), false)
}

// P1 and U1: URIs are compared whole.
func TestCaseC33SharedPrefix(t *testing.T) {
	f := bxNew(t, bxTool(t, "one", "https://records.example/mcp"), bxTool(t, "published", "publisher:https://acme.example/p.json"))
	for _, p := range []string{
		"https://records.example/mcp-evil", "https://records.example/mcp/x", "https://records.example.evil.example/mcp", "https://records.example/mc",
		"https://evil.example/https://records.example/mcp", "https://records.example@evil.example/mcp", "https://records.example/mcp%00", "xhttps://records.example/mcp",
	} {
		f.allowed(t, "one", bxFrom(p, "verified"), false)
		f.allowed(t, "export", bxFrom(p, "unverified"), false)
	}
	publisher := func(uri string) string {
		return `{"contributors":[{"assurance":"unverified","publisher":"` + uri + `"}],"complete":true}`
	}
	f.allowed(t, "published", publisher("https://acme.example/p.json"), true)
	for _, p := range []string{"https://acme.example/p.json.evil", "https://acme.example/p.jso", "https://acme.example/p.json/", "publisher:https://acme.example/p.json"} {
		f.allowed(t, "published", publisher(p), false)
	}
	f.allowed(t, "published", bxFrom("https://acme.example/p.json", "verified"), false) // a principal is no publisher
}

// P6: tokens that are too broad to mean anything.
func TestCaseC34BroadTokens(t *testing.T) {
	for _, token := range []string{"*", "https://*", "h*", "https://.*", "user*", " user", "User", "mostly-fine", "", "https://", "https://*.example/m", "publisher:", "publisher:*", "urn:", "self ", "SELF"} {
		f := bxServer(t, false)
		err := middleware.AddTool(f.srv, mcp.NewTool("broad"), policydecl.AcceptFrom("user", token), f.tool("broad"))
		var c *flowerrors.ConfigError
		if !errors.As(err, &c) || c.Path != `tools["broad"].acceptFrom[1]` || c.Value != token {
			t.Errorf("token %q: %v", token, err)
		}
		if _, err := middleware.New(f.srv, bxConfig()); err == nil {
			t.Errorf("a server with token %q was built", token)
		}
	}
	f := bxNew(t, bxTool(t, "two", "https://foo.example/m", "https://bar.example/m"))
	f.allowed(t, "two", bxFrom("https://foo.example/m", "unverified"), true)
	for _, p := range []string{"https://barfoo.example/m", "https://foo.example/mhttps://bar.example/m", "https://foo.example", "https://x.foo.example/m"} {
		f.allowed(t, "two", bxFrom(p, "verified"), false)
	}
}

// P4: an empty list is not an absent policy.
func TestCaseC35EmptyList(t *testing.T) {
	f := bxNew(t, bxTool(t, "closed"))
	f.allowed(t, "closed", bxU, false)
	f.allowed(t, "closed", bxFrom(bxURI, "user"), false)
	body := bxPost(f.handler(t), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
	var list struct {
		Result struct {
			Tools []struct {
				Name string                     `json:"name"`
				Meta map[string]json.RawMessage `json:"_meta"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"closed": `{"acceptFrom":[]}`, "export": `{"acceptFrom":["self","user"]}`, "hexport": `{"acceptFrom":["self","user"]}`,
		"texport": `{"acceptFrom":["self","user"]}`, "search": "",
	}
	for _, tool := range list.Result.Tools {
		if got := string(tool.Meta[policydecl.PolicyKey]); got != want[tool.Name] {
			t.Errorf("%s publishes %q, want %q", tool.Name, got, want[tool.Name])
		}
		delete(want, tool.Name)
	}
	if len(want) != 0 {
		t.Errorf("not listed: %v", want)
	}
	// Empty by default is closed by default; unset is the draft's.
	shut := bxNew(t, func(_ *bxFix, cfg *middleware.Config) { cfg.Default = policydecl.AcceptFrom() })
	shut.allowed(t, "search", bxU, false)
	f.allowed(t, "search", bxU, true)
}

// P3: a matcher that fails matches nothing.
func TestCaseC36FailingMatcher(t *testing.T) {
	matchers := map[string]policydecl.Matcher{
		"errs":   func(context.Context, string, policydecl.Contributor) (bool, error) { return true, errors.New("no") },
		"panics": func(context.Context, string, policydecl.Contributor) (bool, error) { panic("no") },
		"overruns": func(ctx context.Context, _ string, _ policydecl.Contributor) (bool, error) {
			<-ctx.Done()
			return true, nil
		},
		"refuses": func(context.Context, string, policydecl.Contributor) (bool, error) { return false, nil },
	}
	for name, m := range matchers {
		t.Run(name, func(t *testing.T) {
			f := bxNew(t, bxTool(t, "tiered", "com.example.tier:gold"), func(_ *bxFix, cfg *middleware.Config) {
				cfg.Matchers = map[string]policydecl.Matcher{"com.example.tier": m}
			})
			f.allowed(t, "tiered", bxU, false)
			f.allowed(t, "search", bxU, true) // the server lives
		})
	}
	t.Run("matches", func(t *testing.T) {
		f := bxNew(t, bxTool(t, "tiered", "com.example.tier:gold"), func(_ *bxFix, cfg *middleware.Config) {
			cfg.Matchers = map[string]policydecl.Matcher{"com.example.tier": func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
				return token == "com.example.tier:gold" && c.Principal() == "urn:mcp:user", nil
			}}
		})
		f.allowed(t, "tiered", bxU, true)
		f.allowed(t, "tiered", bxV, false)
	})
	t.Run("cancelled", func(t *testing.T) {
		for _, tool := range []string{"tiered", "search"} {
			ctx, cancel := context.WithCancel(context.Background())
			f := bxNew(t, bxTool(t, "tiered", "com.example.tier:gold"), func(_ *bxFix, cfg *middleware.Config) {
				cfg.Matchers = map[string]policydecl.Matcher{"com.example.tier": func(context.Context, string, policydecl.Contributor) (bool, error) {
					cancel()
					return true, nil
				}}
			})
			if tool == "search" {
				cancel()
			}
			f.srv.HandleMessage(ctx, json.RawMessage(bxCall(tool, bxU)))
			if runs := f.took(); len(runs) != 0 {
				t.Errorf("%s ran for a request that was cancelled: %v", tool, runs)
			}
			cancel()
		}
	})
}

// read checks a read and a subscription of uri in the label's name.
func (f *bxFix) read(t *testing.T, uri, label, want, ran string) {
	t.Helper()
	u, _ := json.Marshal(uri)
	f.expect(t, bxMsg("1", "resources/read", `"uri":`+string(u), label, false), want, ran)
	f.expect(t, bxMsg("1", "resources/read", `"uri":`+string(u), label, true), want, ran)
}

func TestCaseC37NonASCII(t *testing.T) {
	strict := func(f *bxFix, _ *middleware.Config) {
		if err := middleware.AddResource(f.srv, mcp.NewResource("docs://café/list", "list"), policydecl.AcceptFrom("user"), f.resource("list")); err != nil {
			t.Fatal(err)
		}
	}
	catchAll := func(f *bxFix, _ *middleware.Config) {
		f.srv.AddResourceTemplate(mcp.NewResourceTemplate("docs://{+rest}", "rest"), server.ResourceTemplateHandlerFunc(f.resource("rest")))
	}
	f := bxNew(t, strict)
	f.read(t, "docs://café/list", bxV, "DENY", "")
	f.read(t, "docs://café/list", bxU, "ALLOW", "resource list docs://café/list")
	for _, uri := range []string{"docs://caf%C3%A9/list", "docs://caf%c3%a9/list"} {
		f.read(t, uri, bxV, "DENY or REJECT", "")
		f.read(t, uri, bxU, "REJECT", "") // mcp-go alone does not find it
	}
	f = bxNew(t, strict, catchAll)
	for _, uri := range []string{"docs://café/list", "docs://caf%C3%A9/list", "docs://caf%c3%a9/list", "docs://caf%25C3%25A9/list", "docs://caf%C3%A9/x/../list", "DOCS://caf%C3%A9/list?x"} {
		want := "DENY"
		if strings.HasPrefix(uri, "DOCS") {
			want = "DENY or REJECT" // no template takes it
		}
		f.read(t, uri, bxV, want, "")
	}
	f.read(t, "docs://caf%C3%A9/list", bxU, "ALLOW", "resource rest docs://caf%C3%A9/list")
	f.read(t, "docs://other/list", bxV, "ALLOW", "resource rest docs://other/list")
}

func TestCaseC38CommaHeavyURI(t *testing.T) {
	f := bxNew(t, func(f *bxFix, _ *middleware.Config) {
		for i := range 200 {
			tmpl := fmt.Sprintf("list%d://{a,b,c,d}{?e,f,g}", i%100)
			if i >= 100 {
				tmpl = fmt.Sprintf("list://{+a,b,c}/%d{?e,f}", i)
			}
			if err := middleware.AddResourceTemplate(f.srv, mcp.NewResourceTemplate(tmpl, "t"), policydecl.AcceptFrom("user"), server.ResourceTemplateHandlerFunc(f.resource("list"))); err != nil {
				t.Fatal(err)
			}
		}
	})
	h, plain := f.handler(t), server.NewStreamableHTTPServer(bxServer(t, true).srv, server.WithStateLess(true))
	for _, uri := range []string{
		"list://" + strings.Repeat(",%", 1<<19), "list://" + strings.Repeat("%2C,", 1<<18), // over the cap
		"list://" + strings.Repeat(",", 8<<10-7), "list://" + strings.Repeat("%2C", 2700), "list://" + strings.Repeat(",%25", 2040), "list0://" + strings.Repeat(",/", 4000),
		"list://" + strings.Repeat("%252F..%2f", 800), "list://" + strings.Repeat("/../;x", 1300),
	} {
		msg := bxMsg("1", "resources/subscribe", `"uri":"`+uri+`"`, bxV, false)
		took := bxBest(func() {
			if v := bxVerdict(t, bxPost(h, msg).body); v == "ALLOW" && len(uri) > 8<<10 {
				t.Errorf("a URI of %d bytes: %q", len(uri), v)
			}
		})
		// mcp-go decodes the message several times, which is not the gate's doing.
		alone := bxBest(func() { bxPost(plain, msg) })
		if took > 100*time.Millisecond+2*alone {
			t.Errorf("%.20s… of %d bytes took %v, mcp-go alone %v", uri, len(uri), took, alone)
		}
		if len(uri) > 8<<10 {
			// A template takes it, and the user says so: still refused.
			taken := "file:///" + strings.TrimPrefix(uri, "list://")
			got := bxPost(h, bxMsg("1", "resources/read", `"uri":"`+taken+`"`, bxU, false))
			if a := bxParse(t, got.body); a.Error == nil || got.status != http.StatusOK {
				t.Errorf("a read of %d bytes: %d %.100s", len(uri), got.status, got.body)
			}
		}
	}
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}

// bxBest returns the shortest of many runs.
func bxBest(f func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for range 15 {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least
}
