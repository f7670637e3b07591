package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// H5: an adapter is told which lists have to be read before a request can be judged, and
// none for a request that is refused whatever they say.
func TestNeedsList(t *testing.T) {
	tests := []struct {
		name           string
		uri, from      string
		method, params string
		do             func(*testing.T, *host.Connection)
		want           string
	}{
		{"a tool", recordsURI, "user", "tools/call", `{"name":"x"}`, nil, "[tools]"},
		{"a prompt", recordsURI, "user", "prompts/get", `{"name":"x"}`, nil, "[prompts]"},
		{"a resource", recordsURI, "user", "resources/read", `{"uri":"x://y"}`, nil, "[resources templates]"},
		{"a subscription", recordsURI, "user", "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x://y"]}}`, nil, "[resources templates]"},
		{"no subscription", recordsURI, "user", "subscriptions/listen", `{}`, nil, "[]"},
		{"a completion of a prompt", recordsURI, "user", "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"}}`, nil, "[prompts]"},
		{"a completion of a resource", recordsURI, "user", "completion/complete", `{"ref":{"type":"ref/resource","uri":"x://y"}}`, nil, "[resources templates]"},
		{"a completion of something else", recordsURI, "user", "completion/complete", `{}`, nil, "[]"},
		{"a method that names nothing", recordsURI, "user", "x/y", `{"name":"x"}`, nil, "[]"},
		{"a request that carries nothing", recordsURI, "user", "tools/list", ``, nil, "[]"},
		{"one that names nothing", recordsURI, "user", "tools/call", `{}`, nil, "[]"},
		{"one that cannot be read", recordsURI, "user", "tools/call", `{"name":"x","name":"y"}`, nil, "[]"},
		{"over the ceiling", fetchURI, "records", "tools/call", `{"name":"x"}`, nil, "[]"},
		{"unknown, to a server that is known", recordsURI, "unknown", "tools/call", `{"name":"x"}`, nil, "[tools]"},
		{"read", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) { list(t, c, policydecl.Tool, "[]") }, "[]"},
		{"read to the end, but not to date", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) {
			must(t, c.Page(context.Background(), policydecl.Tool, []byte(`{"tools":[]}`), true))
		}, "[tools]"},
		{"changed", recordsURI, "user", "resources/read", `{"uri":"x://y"}`, func(t *testing.T, c *host.Connection) {
			c.Fresh(policydecl.Resource)
			c.Fresh(policydecl.Template)
			c.Stale(policydecl.Template)
		}, "[templates]"},
		{"read in vain", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) {
			list(t, c, policydecl.Tool, "[]")
			_ = c.Page(context.Background(), policydecl.Tool, []byte(`{}`), true)
		}, "[tools]"},
		{"a hello that cannot be read", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) { _ = c.Hello(context.Background(), nil) }, "[]"},
		{"closed", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) { c.Close() }, "[]"},
		{"kinds that are none", recordsURI, "user", "tools/call", `{"name":"x"}`, func(t *testing.T, c *host.Connection) {
			c.Fresh(0)
			c.Stale(policydecl.Prefix)
			if c.Page(context.Background(), policydecl.Prefix, []byte(`{}`), true) == nil {
				t.Error("a list of prefixes was read")
			}
		}, "[tools]"},
	}
	for _, tt := range tests {
		b := newBench(t, host.Config{})
		c := b.silent(tt.uri)
		p := b.turn(tt.from)
		if got := c.NeedsList(p, tt.method, json.RawMessage(tt.params)); len(got) > 0 {
			t.Errorf("%s: needs %v before a hello", tt.name, got)
		}
		must(t, c.Hello(context.Background(), []byte(`{}`)))
		if tt.do != nil {
			tt.do(t, c)
		}
		for range 3 {
			equal(t, tt.name, fmt.Sprint(c.NeedsList(p, tt.method, json.RawMessage(tt.params))), tt.want)
		}
		equal(t, tt.name+": records", b.count(), 0)
	}
}

// What an adapter refuses is recorded as what the core refuses is.
func TestRefuse(t *testing.T) {
	b := newBench(t, host.Config{Private: true})
	c := b.open(recordsURI)
	for _, tt := range []struct {
		p              *host.Partition
		params, target string
		label          string
	}{
		{b.turn("user+fetch"), `{"name":"x","arguments":{"a":1}}`, "x", "=user, =unverified"},
		{nil, `{"name":"x"}`, "x", "=unverified, ?"},
		{b.turn("user"), `{`, "", "=user"},
	} {
		refusal := c.Refuse(context.Background(), tt.p, "tools/call", json.RawMessage(tt.params), "because")
		for _, r := range []host.Record{refusal.Record(), b.last()} {
			if r.Outcome != host.NotSent || r.Reason != "because" || r.Target != tt.target || r.Server != recordsURI || r.Method != "tools/call" ||
				r.Partition != tt.p.Name() || said(r.Label) != tt.label || r.Time.IsZero() {
				t.Errorf("%s: recorded as %+v with %s", tt.params, r, said(r.Label))
			}
		}
		equal(t, "text", refusal.Error(), "The call was not permitted.")
	}
	equal(t, "records", b.count(), 3)
}
