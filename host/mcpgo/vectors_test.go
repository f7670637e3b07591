package mcpgo_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/internal/vectors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestHostVectorResults: the results in testdata/vectors/hosts.json come back as the server
// has sent them (H5). TestHostVectors in package host, which sees no results, does the rest.
func TestHostVectorResults(t *testing.T) {
	list, err := vectors.Load[vectors.Host]("hosts")
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	for _, v := range list {
		for _, step := range v.Steps {
			if step.Result == nil {
				continue
			}
			results++
			t.Run(v.ID, func(t *testing.T) { deliversResult(t, v, step) })
		}
	}
	if results == 0 {
		t.Error("no vector has a result")
	}
}

// deliversResult sends the request of a step to the only server of a vector.
func deliversResult(t *testing.T, v vectors.Host, step vectors.Step) {
	if len(v.Servers) != 1 || len(v.Steps) != 1 || len(v.Start) != 1 || v.Start[0] != "user" {
		t.Fatal("a vector with a result has one server and one step, and starts with the user")
	}
	s := v.Servers[0]
	assurance, ok := policydecl.ParseAssurance(s.Assurance)
	if !ok {
		t.Fatalf("no state: %q", s.Assurance)
	}
	tools, err := json.Marshal(s.Tools)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(string(tools))
	f.on["initialize"] = reply(string(s.Hello))
	f.on[step.Method] = reply(string(step.Result))
	a := newAgent(t, host.Config{})
	conn, err := a.Connect(host.Server{URI: s.URI, Assurance: assurance, Publisher: s.Publisher})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := mcpgo.Wrap(f, conn)
	ask := func(ctx context.Context, id int, method, params string) string {
		t.Helper()
		resp, err := wrapped.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: method, Params: json.RawMessage(params)})
		if err != nil || resp.Error != nil {
			t.Fatalf("%s: %v, %v", method, err, resp)
		}
		return string(resp.Result)
	}
	ask(t.Context(), 0, "initialize", `{}`) // in no context: nobody shows a model what it says
	ctx, _ := a.calm(t)
	if got, want := ask(ctx, 1, step.Method, string(step.Params)), string(step.Result); got != want {
		t.Errorf("the result is %s, want %s", got, want)
	}
	if got, want := arrivedLabel(f), string(step.Label); !vectors.Same([]byte(got), []byte(want)) {
		t.Errorf("labelled %s, want %s", got, want)
	}
}

// arrivedLabel returns the label of the last request that a fake was sent.
func arrivedLabel(f *fake) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	params, _ := json.Marshal(f.sent[len(f.sent)-1].Params)
	return arrival{params: params}.label()
}
