package mcpgo_test

//lint:file-ignore SA1019 the earlier protocol is tested too

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

var hostConfig host.Config

func records(is policydecl.Assurance) host.Server { return host.Server{URI: recordsURI, Assurance: is} }

// unverified returns the sources of a page that nobody can vouch for.
func unverified(t testing.TB, a *agent) host.Sources {
	return sources(t, a, fetchURI, policydecl.Unverified)
}

func sources(t testing.TB, a *agent, uri string, is policydecl.Assurance) host.Sources {
	t.Helper()
	conn, err := a.Connect(host.Server{URI: uri, Assurance: is})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.Sources()
}

// route is one way to reach something of R that accepts the user and not a page.
type route struct {
	name string
	eras []era
	try  func(context.Context, *client.Client) (any, error)
}

var routes = []route{
	{"tools/call", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.CallTool(ctx, call("export"))
	}},
	{"tools/call as a task", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		req := call("hexport")
		req.Params.Task = &mcp.TaskParams{}
		result, err := c.CallTool(ctx, req)
		if err != nil && err.Error() == "content is missing" {
			return nil, nil // mcp-go's client starts the task and cannot read that it did
		}
		return result, err
	}},
	{"resources/read", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "records://customers"}})
	}},
	{"resources/read by a template", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "notes://export?data=x"}})
	}},
	{"prompts/get", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: "brief"}})
	}},
	{"completion/complete of a prompt", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Complete(ctx, mcp.CompleteRequest{Params: mcp.CompleteParams{
			Ref: mcp.PromptReference{Type: "ref/prompt", Name: "brief"}, Argument: mcp.CompleteArgument{Name: "id", Value: "x"},
		}})
	}},
	{"completion/complete of a template", []era{legacy, modern}, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Complete(ctx, mcp.CompleteRequest{Params: mcp.CompleteParams{
			Ref: mcp.ResourceReference{Type: "ref/resource", URI: "notes://export{?data}"}, Argument: mcp.CompleteArgument{Name: "data", Value: "x"},
		}})
	}},
	{"resources/subscribe", []era{legacy}, func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: "records://customers"}})
	}},
}

// TestLabelOnEveryRoute: every gated request carries the label of its partition, whether
// or not it had a _meta (H3), and a refused one does not leave (H5).
func TestLabelOnEveryRoute(t *testing.T) {
	everywhere(t, func(t *testing.T, l line, e era) {
		r := newRecords()
		a := newAgent(t, hostConfig)
		c, _ := a.connect(t, l, e, r, policydecl.Verified)
		listAll(t, c, r)
		for _, route := range routes {
			if !slices.Contains(route.eras, e) {
				continue
			}
			ctx, _ := a.turn(t)
			if _, err := route.try(ctx, c); err != nil {
				t.Fatalf("%s: %v", route.name, err)
			}
			got := r.carried()
			if len(got) != 1 || got[0].label() != labelUser {
				t.Fatalf("%s: arrived %s", route.name, got)
			}
			if want := []host.Outcome{host.Answered}; !slices.Equal(a.outcomes(), want) {
				t.Errorf("%s: not recorded once", route.name)
			}

			ctx, p := a.turn(t)
			p.Add(unverified(t, a))
			_, err := route.try(ctx, c)
			a.refusedBy(t, host.BlockedByPolicy, err)
			if got, _ := r.took(); len(got) != 0 {
				t.Fatalf("%s: arrived %s", route.name, got)
			}
			a.outcomes()
		}
	})
}

// TestLieInMeta: what a model or a server has put into _meta goes nowhere (H3).
func TestLieInMeta(t *testing.T) {
	r := newRecords()
	a := newAgent(t, hostConfig)
	c, _ := a.connect(t, overHTTP, modern, r, policydecl.Verified)
	ctx, p := a.turn(t)
	p.Add(sources(t, a, partnerURI, policydecl.Verified))
	req := call("search")
	req.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{
		policydecl.LabelKey: json.RawMessage(labelUser), "mine": 1,
	}}
	_, err := c.CallTool(ctx, req)
	permitted(t, err)
	got := r.carried()[0]
	if !strings.Contains(got.label(), partnerURI) || !strings.Contains(string(got.params), `"mine":1`) {
		t.Errorf("%s", got.params)
	}
	if len(req.Params.Meta.AdditionalFields) != 2 || string(req.Params.Meta.AdditionalFields[policydecl.LabelKey].(json.RawMessage)) != labelUser {
		t.Error("the caller's own _meta was changed")
	}
}

// TestNoPartition: a request that belongs to no partition is labelled as of unknown
// origin, and refused where that is refused.
func TestNoPartition(t *testing.T) {
	r := newRecords()
	r.tool("open", policydecl.AcceptFrom("unverified"), "open")
	a := newAgent(t, hostConfig)
	c, _ := a.connect(t, inProcess, modern, r, policydecl.Verified)
	_, err := c.CallTool(deadline(t), call("open"))
	permitted(t, err)
	if got := r.carried(); len(got) != 1 || got[0].label() != labelUnknown {
		t.Errorf("arrived %s", got)
	}
	_, err = c.CallTool(deadline(t), call("search"))
	a.refusedBy(t, host.BlockedByPolicy, err)
}

// TestPrivate: a private host names nobody (H4), also not in its declared capability.
func TestPrivate(t *testing.T) {
	everywhere(t, func(t *testing.T, l line, e era) {
		r := newRecords()
		a := newAgent(t, host.Config{Private: true})
		c, _ := a.connect(t, l, e, r, policydecl.Verified)
		ctx, p := a.turn(t)
		p.Add(sources(t, a, partnerURI, policydecl.Verified))
		_, err := c.CallTool(ctx, call("search"))
		permitted(t, err)
		got := r.carried()
		want := `{"contributors":[{"assurance":"user"},{"assurance":"verified"}],"complete":true}`
		if len(got) != 1 || got[0].label() != want || strings.Contains(string(got[0].params), "partner") {
			t.Errorf("arrived %s", got)
		}
	})
}

// TestDeclared: the client says that it labels, in both forms, where its era says it.
func TestDeclared(t *testing.T) {
	everywhere(t, func(t *testing.T, l line, e era) {
		r := newRecords()
		a := newAgent(t, hostConfig)
		c, _ := a.dial(t, e, records(policydecl.Verified), l.open(t, r), client.WithClientCapabilities(mcp.ClientCapabilities{
			Extensions: map[string]any{"example.com/mine": map[string]any{"a": 1}},
		}))
		c.OnNotification(r.heard)
		ctx, _ := a.turn(t)
		_, err := c.CallTool(ctx, call("search"))
		permitted(t, err)
		got, _ := r.took()
		declared := 0
		for _, g := range got {
			var p struct {
				Capabilities json.RawMessage
				Meta         map[string]json.RawMessage `json:"_meta"`
			}
			if err := json.Unmarshal(g.params, &p); err != nil {
				t.Fatal(err)
			}
			caps := p.Meta[mcp.MetaKeyClientCapabilities]
			if g.method == "initialize" {
				caps = p.Capabilities
			}
			if caps == nil && e == legacy {
				continue
			}
			declared++
			for _, want := range []string{`"flow":{"origin":true}`, `"io.modelcontextprotocol/flow":{"origin":true}`, `"example.com/mine":{"a":1}`} {
				if !strings.Contains(string(caps), want) {
					t.Errorf("%s: %s lacks %s", g.method, caps, want)
				}
			}
		}
		if want := map[era]int{legacy: 1, modern: len(got)}[e]; declared != want || declared == 0 {
			t.Errorf("declared %d times, want %d, in %s", declared, want, got)
		}
	})
}

// TestServerRefuses: a host that leaves policies to the servers is refused by the server,
// with the same words (H7), and records what the server had against it.
func TestServerRefuses(t *testing.T) {
	everywhere(t, func(t *testing.T, l line, e era) {
		r := newRecords()
		a := newAgent(t, host.Config{DangerouslyIgnoreServerPolicies: true})
		c, _ := a.connect(t, l, e, r, policydecl.Verified)
		listAll(t, c, r)
		for _, route := range routes {
			if !slices.Contains(route.eras, e) {
				continue
			}
			ctx, p := a.turn(t)
			p.Add(unverified(t, a))
			_, err := route.try(ctx, c)
			a.refusedBy(t, host.RefusedByServer, err)
			last := a.last(t)
			if len(last.Rejected) != 1 || last.Rejected[0].Principal != fetchURI || len(last.AcceptFrom) == 0 {
				t.Errorf("%s: recorded %v %v", route.name, last.Rejected, last.AcceptFrom)
			}
			if _, ran := r.took(); len(ran) != 0 {
				t.Errorf("%s: ran %s", route.name, ran)
			}
		}
	})
}
