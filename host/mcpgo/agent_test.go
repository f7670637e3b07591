package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// agent is a host, its records, and all text that its model has been given.
type agent struct {
	*host.Host
	mu      sync.Mutex
	records []host.Record
	model   []string
}

func newAgent(t testing.TB, cfg host.Config) *agent {
	t.Helper()
	a := &agent{}
	cfg.Record = func(_ context.Context, r host.Record) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.records = append(a.records, r)
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Host = h
	return a
}

// outcomes returns what was recorded since the last call.
func (a *agent) outcomes() (list []host.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.records {
		list = append(list, r.Outcome)
	}
	a.records = nil
	return list
}

// last returns the last record.
func (a *agent) last(t testing.TB) host.Record {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.records) == 0 {
		t.Fatal("nothing was recorded")
	}
	return a.records[len(a.records)-1]
}

// tell notes what a model is given.
func (a *agent) tell(v any, err error) {
	b, _ := json.Marshal(v)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = append(a.model, string(b))
	if err != nil {
		a.model = append(a.model, err.Error())
	}
}

// dial connects the agent over inner in an era.
func (a *agent) dial(t testing.TB, e era, s host.Server, inner transport.Interface, opts ...client.ClientOption) (*client.Client, *host.Connection) {
	t.Helper()
	opts = append(opts, client.WithDiscoverTimeout(patience))
	if e == legacy {
		opts = append(opts, client.WithProtocolVersion(string(legacy)))
	}
	c, conn, err := mcpgo.Connect(deadline(t), a.Host, s, inner, mcp.Implementation{Name: "agent", Version: "1"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if e != "" && c.ProtocolVersion() != string(e) {
		t.Fatalf("the protocol is %s, want %s", c.ProtocolVersion(), e)
	}
	return c, conn
}

// connect connects the agent with a remote.
func (a *agent) connect(t testing.TB, l line, e era, r *remote, is policydecl.Assurance, opts ...client.ClientOption) (*client.Client, *host.Connection) {
	t.Helper()
	c, conn := a.dial(t, e, host.Server{URI: r.uri, Assurance: is}, l.open(t, r), opts...)
	c.OnNotification(r.heard)
	r.took()
	return c, conn
}

// turn opens a partition in which the user has spoken and no server, and returns a
// context for it.
func (a *agent) turn(t testing.TB, from ...host.Sources) (context.Context, *host.Partition) {
	t.Helper()
	p := a.Open(host.Turn{Name: t.Name(), From: append([]host.Sources{host.UserInput()}, from...), Shown: []*host.Connection{}})
	return host.WithPartition(deadline(t), p), p
}

// listAll lists everything outside of any turn. What a remote says beside its lists counts
// for whoever waits for them (H2), and a test may want a turn without it.
func listAll(t testing.TB, c *client.Client, r *remote) {
	t.Helper()
	ctx := deadline(t)
	_, tools := c.ListTools(ctx, mcp.ListToolsRequest{})
	_, prompts := c.ListPrompts(ctx, mcp.ListPromptsRequest{})
	_, resources := c.ListResources(ctx, mcp.ListResourcesRequest{})
	_, templates := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	permitted(t, errors.Join(tools, prompts, resources, templates))
	r.took()
}

func call(name string) mcp.CallToolRequest {
	return mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: map[string]any{}}}
}

// permitted fails the test unless a call was answered.
func permitted(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("not permitted: %v", err)
	}
}

// refusedBy fails the test unless err is the one refusal, and the last record has the
// outcome.
func (a *agent) refusedBy(t testing.TB, want host.Outcome, err error) {
	t.Helper()
	if err == nil || err.Error() != flowerrors.ModelText || !mcpgo.IsRefusal(err) {
		t.Fatalf("the client has %v, want the refusal", err)
	}
	if got := a.last(t); got.Outcome != want {
		t.Fatalf("recorded %s (%s), want %s", got.Outcome, got.Reason, want)
	}
}

// principals returns whom a partition holds, as principal and assurance.
func principals(p *host.Partition) string {
	var list []string
	for _, c := range p.Sources().Contributors() {
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}
