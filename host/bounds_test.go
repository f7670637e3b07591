package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// entries lists n tools, from the given one.
func entries(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"t%d"}`, from+i)
	}
	return "[" + strings.TrimPrefix(b.String(), ",") + "]"
}

// Of a server that lists more than a host keeps, nothing of that kind is called.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", host.MaxName)
	tests := []struct {
		name  string
		kind  policydecl.TargetKind
		lists []string
		want  host.Outcome // of a call of t0 or a read of t://0
		count int          // of questions
	}{
		{"as many as are kept", policydecl.Tool, []string{entries(0, host.MaxDeclarations)}, host.Answered, 0},
		{"again", policydecl.Tool, []string{entries(0, host.MaxDeclarations), entries(0, host.MaxDeclarations)}, host.Answered, 0},
		{"one more", policydecl.Tool, []string{entries(0, host.MaxDeclarations+1)}, host.NotSent, 0},
		{"one more, later", policydecl.Tool, []string{entries(0, host.MaxDeclarations), entries(host.MaxDeclarations, 1)}, host.NotSent, 0},
		{"and fewer again", policydecl.Tool, []string{entries(0, host.MaxDeclarations+1), entries(5, 1)}, host.Answered, 0},
		{"the longest name", policydecl.Tool, []string{`[{"name":"` + long + `"}]`}, host.Answered, 0},
		{"a longer one", policydecl.Tool, []string{`[{"name":"` + long + `x","flowPolicy":{"acceptFrom":[]}}]`}, host.NotSent, 0},
		{"a longer template", policydecl.Template, []string{`[{"uriTemplate":"t://{` + long + `}","flowPolicy":{"acceptFrom":[]}}]`}, host.NotSent, 0},
		{"a policy that is too long", policydecl.Tool, []string{`[{"name":"t0","flowPolicy":{"acceptFrom":["user"` + strings.Repeat(`,"user"`, policydecl.MaxTokens) + `]}}]`}, host.BlockedByPolicy, 0},
		{"nested deep", policydecl.Tool, []string{`[{"name":"t0","inputSchema":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}]`}, host.Answered, 0},
		{"nested too deep", policydecl.Tool, []string{`[{"name":"t0","inputSchema":` + strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000) + `}]`}, host.NotSent, 0},
		{"a policy nested deep", policydecl.Tool, []string{`[{"name":"t0","flowPolicy":{"acceptFrom":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}]`}, host.BlockedByPolicy, 0},
		{"a number that nobody can hold", policydecl.Tool, []string{`[{"name":"t0","x":1e999}]`}, host.NotSent, 0},
		{"text that is not UTF-8", policydecl.Tool, []string{"[{\"name\":\"t0\",\"x\":\"\xff\"}]"}, host.NotSent, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			c := b.open(recordsURI)
			for _, entries := range tt.lists {
				err := c.Page(context.Background(), tt.kind, fmt.Appendf(nil, `{%q:%s}`, lists[tt.kind], entries), true)
				if err == nil {
					c.Fresh(tt.kind)
				} else if len(err.Error()) > 300 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			}
			got, _ := send(t, c, b.turn("unknown"), "tools/call", `{"name":"t0"}`)
			if tt.kind == policydecl.Template {
				got, _ = send(t, c, b.turn("unknown"), "resources/read", `{"uri":"t://0"}`)
			}
			equal(t, "outcome", got, tt.want)
			equal(t, "questions", len(b.asked), tt.count)
			// What is over the bound is not kept for other servers to trip over.
			other := b.open(partnerURI)
			list(t, other, policydecl.Tool, entries(host.MaxDeclarations, 1))
			got, _ = send(t, other, b.turn("user"), "tools/call", fmt.Sprintf(`{"name":"t%d"}`, host.MaxDeclarations))
			equal(t, "another server's", got, host.Answered)
		})
	}
}

// A request has to say what it is about.
func TestRequestNamesSomething(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	long := strings.Repeat("x", host.MaxName+1)
	for _, tt := range []struct{ method, params string }{
		{"tools/call", ``}, {"tools/call", `{}`}, {"tools/call", `{"name":""}`}, {"tools/call", `{"name":7}`},
		{"tools/call", `{"name":["x"]}`}, {"tools/call", `{"name":"` + long + `"}`},
		{"prompts/get", `{"uri":"x"}`}, {"prompts/get", `{"name":null}`},
		{"resources/read", `{}`}, {"resources/read", `{"uri":{}}`}, {"resources/read", `{"uri":"x://` + long + `"}`},
		{"resources/subscribe", `{"name":"x"}`},
		{"subscriptions/listen", `{"notifications":7}`},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":"x://y"}}`},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x://y",7]}}`},
		{"subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x://y",null]}}`},
		{"completion/complete", `{"ref":7}`}, {"completion/complete", `{"ref":{"type":7}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt"}}`}, {"completion/complete", `{"ref":{"type":"ref/resource","name":"x"}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a","Name":"b"}}`},
	} {
		got, _ := send(t, c, b.turn("user"), tt.method, tt.params)
		equal(t, tt.method+" "+tt.params[:min(80, len(tt.params))], got, host.NotSent)
	}
}

// What nobody has made refuses, and does not panic.
func TestZeroValues(t *testing.T) {
	ctx := context.Background()
	h := &host.Host{}
	made, err := h.Connect(host.Server{URI: recordsURI})
	must(t, err)
	must(t, made.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user","unverified"]}}}}`)))
	list(t, made, policydecl.Tool, `[{"name":"x"}]`)
	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{made}})
	got, _ := send(t, made, turn, "tools/call", `{"name":"x"}`)
	equal(t, "a zero host, which is one without options", got, host.Answered)
	got, _ = send(t, made, nil, "tools/call", `{"name":"x"}`)
	equal(t, "a zero host and no partition", got, host.BlockedByCeiling)

	if _, err := (*host.Host)(nil).Connect(host.Server{URI: recordsURI}); err == nil {
		t.Error("no host connects")
	}
	got, _ = send(t, made, (*host.Host)(nil).Open(host.Turn{}), "tools/call", `{"name":"x"}`)
	equal(t, "a partition of no host", got, host.BlockedByCeiling)

	for name, c := range map[string]*host.Connection{"a zero connection": {}, "no connection": nil} {
		for _, method := range []string{"tools/call", "ping"} {
			got, _ = send(t, c, turn, method, `{"name":"x"}`)
			equal(t, name+" "+method, got, host.NotSent)
		}
		if c.Hello(context.Background(), []byte(`{}`)) == nil || c.Page(context.Background(), policydecl.Tool, []byte(`{"tools":[]}`), true) == nil {
			t.Errorf("%s reads", name)
		}
		c.Stale(policydecl.Tool)
		c.Fresh(policydecl.Tool)
		c.Heard(nil)
		c.Heard(turn)
		equal(t, name+" was heard", told(turn.Sources()), "user, records=unverified, ?")
		equal(t, name+" agrees", c.Approve(host.Approval{Question: host.NameTaken}), false)
		equal(t, name+" waits", len(c.Pending())+len(c.NeedsList(turn, "tools/call", nil)), 0)
		equal(t, name+" refuses", c.Refuse(ctx, turn, "tools/call", nil, "x").Record().Outcome, host.NotSent)
		equal(t, name+" is", c.Server(), host.Server{})
		equal(t, name+" comes from", told(c.Sources()), "?")
		c.Close()
	}

	for name, r := range map[string]*host.Request{"a zero request": {}, "no request": nil} {
		r.Answered(ctx)
		r.Failed(ctx, nil)
		if err := r.Error(ctx, json.RawMessage(`{"code":1}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.Error(ctx, json.RawMessage(refusalText)); err == nil {
			t.Errorf("%s was not refused", name)
		}
	}

	var none *host.Partition
	none.Add(host.UserInput())
	none.Incomplete()
	for name, p := range map[string]*host.Partition{"a zero partition": {}, "no partition": none, "a sub-partition of none": none.Sub(host.Turn{})} {
		p.Add(host.UserInput())
		equal(t, name+": complete", p.Sources().Complete(), false)
		equal(t, name+": name", p.Name(), "")
		p.Sub(host.Turn{Name: "x"}).Add(host.UserInput())
	}
	equal(t, "zero sources", said((host.Sources{}).Label(false)), "=unverified, ?")
	equal(t, "no refusal", (*host.Refusal)(nil).Error()+string((*host.Refusal)(nil).Record().Outcome), "The call was not permitted.")
}

// A context that is missing or has ended is no reason to send.
func TestNoContext(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []context.Context{nil, ended} {
		if _, err := c.Prepare(ctx, b.turn("user"), "tools/call", json.RawMessage(`{"name":"x"}`)); err == nil {
			t.Errorf("sent with %v", ctx)
		}
		equal(t, "outcome", b.last().Outcome, host.BlockedByPolicy)
		if b.last().Reason == "" {
			t.Error("no reason is recorded")
		}
	}
}

// Every mistake in what the host is told of a server is reported at once.
func TestConnect(t *testing.T) {
	b := newBench(t, host.Config{})
	for _, tt := range []struct {
		server host.Server
		want   string
	}{
		{host.Server{URI: recordsURI}, ""},
		{host.Server{URI: "urn:example:stdio", Assurance: policydecl.Verified, Publisher: publisher}, ""},
		{host.Server{}, "uri"},
		{host.Server{URI: "records"}, "uri"},
		{host.Server{URI: recordsURI + "#x"}, "uri"},
		{host.Server{URI: "urn:mcp:user"}, "uri reserved"},
		{host.Server{URI: "URN:MCP:host"}, "uri reserved"},
		{host.Server{URI: "urn:mcp:host", Assurance: policydecl.Host, Publisher: publisher}, "uri reserved, assurance reserved"},
		{host.Server{URI: recordsURI, Assurance: policydecl.User}, "assurance reserved"},
		{host.Server{URI: recordsURI, Assurance: policydecl.Host}, "assurance reserved"},
		{host.Server{URI: recordsURI, Assurance: 77}, "assurance reserved"},
		{host.Server{URI: recordsURI, Publisher: "acme"}, "publisher"},
		{host.Server{URI: "https://*.example/", Assurance: policydecl.TOFU}, "uri"},
		{host.Server{URI: "x", Assurance: policydecl.User, Publisher: "y"}, "uri, assurance, publisher"},
	} {
		c, err := b.Connect(tt.server)
		var got []string
		for fault := range flowerrors.All(err) {
			got = append(got, fault.Path+" "+string(fault.Reason))
		}
		if (err == nil) != (tt.want == "") || (c == nil) != (err != nil) || len(got) != len(strings.Fields(strings.ReplaceAll(tt.want, " reserved", ""))) {
			t.Errorf("%+v: %v", tt.server, err)
			continue
		}
		for i, want := range strings.Split(tt.want, ", ") {
			if tt.want != "" && !strings.HasPrefix(got[i], want) {
				t.Errorf("%+v: %q, want %q", tt.server, got, tt.want)
			}
		}
	}
	if _, err := b.Connect(host.Server{URI: recordsURI, Assurance: 77}); err == nil || !strings.Contains(err.Error(), `"77"`) {
		t.Errorf("an assurance that there is not: %v", err)
	}
	_, err := host.New(host.Config{Matchers: map[string]policydecl.Matcher{"x": nil}})
	var fault *flowerrors.ConfigError
	if !errors.As(err, &fault) {
		t.Errorf("a matcher that is none: %v", err)
	}
}

// H5: published vendor tokens are decided by the host's matchers (P3), which are its own.
func TestMatchers(t *testing.T) {
	matchers := map[string]policydecl.Matcher{
		"com.example.tier": func(_ context.Context, token string, c policydecl.Contributor) (bool, error) {
			return token == "com.example.tier:gold" && c.Principal() == fetchURI, nil
		},
		"com.example.bad": func(context.Context, string, policydecl.Contributor) (bool, error) { panic("no") },
	}
	b := newBench(t, host.Config{Matchers: matchers})
	delete(matchers, "com.example.tier")
	c := b.open(recordsURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user","com.example.bad:x","com.example.tier:gold"]}}]`)
	got, _ := send(t, c, b.turn("user+fetch"), "tools/call", `{"name":"x"}`)
	equal(t, "one it matches", got, host.Answered)
	got, _ = send(t, c, b.turn("user+chat"), "tools/call", `{"name":"x"}`)
	equal(t, "one it does not", got, host.BlockedByPolicy)
	if !strings.Contains(b.last().Reason, "com.example.bad") {
		t.Errorf("the reason is %q", b.last().Reason)
	}
}

// The switches for tests of servers do what they say and no more.
func TestDangerously(t *testing.T) {
	b := newBench(t, host.Config{DangerouslyIgnoreServerPolicies: true})
	c, fetch := b.open(recordsURI), b.open(fetchURI)
	list(t, c, policydecl.Tool, `[{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]`)
	got, l := send(t, c, b.turn("user+fetch"), "tools/call", `{"name":"x"}`)
	equal(t, "a refused request", got, host.Answered)
	equal(t, "its label", said(l), "user, fetch=unverified")
	got, _ = send(t, fetch, b.turn("user+records"), "tools/call", `{"name":"x"}`)
	equal(t, "the ceiling", got, host.BlockedByCeiling)
	list(t, fetch, policydecl.Tool, `[{"name":"x"}]`)
	got, _ = send(t, fetch, b.turn("user"), "tools/call", `{"name":"x"}`)
	equal(t, "a name that is taken", got, host.BlockedByName)
}
