package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// connect does for an example what an adapter does with what a server says.
func connect(h *host.Host, server host.Server, tools string) *host.Connection {
	c, err := h.Connect(server)
	if err != nil {
		panic(err)
	}
	if err := c.Hello(context.Background(), []byte(`{"capabilities":{"tools":{}}}`)); err != nil {
		panic(err)
	}
	if err := c.Page(context.Background(), policydecl.Tool, []byte(`{"tools":`+tools+`}`), true); err != nil {
		panic(err)
	}
	c.Fresh(policydecl.Tool)
	return c
}

// call does what an adapter does with a request of the application.
func call(ctx context.Context, c *host.Connection, tool string) error {
	r, err := c.Prepare(ctx, host.PartitionFrom(ctx), "tools/call", json.RawMessage(`{"name":"`+tool+`"}`))
	if err != nil {
		return err
	}
	// r.Params is sent here, and the server answers.
	r.Answered(ctx)
	return nil
}

// A page that the model has read is in every label from then on, and the export tool's
// policy does not accept it. The model is told nothing but that.
func ExampleHost_Open() {
	h, err := host.New(host.Config{})
	if err != nil {
		panic(err)
	}
	records := connect(h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
		`[{"name":"export","flowPolicy":{"acceptFrom":["self","user"]}}]`)
	fetch := connect(h, host.Server{URI: "https://fetch.example/mcp"}, `[{"name":"fetch_page"}]`)

	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
	ctx := host.WithPartition(context.Background(), turn)
	fmt.Println(call(ctx, fetch, "fetch_page"))
	fmt.Println(call(ctx, records, "export"))
	for _, c := range turn.Sources().Contributors() {
		fmt.Println(c)
	}

	next := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
	fmt.Println(call(host.WithPartition(ctx, next), records, "export"))
	// Output:
	// <nil>
	// The call was not permitted.
	// user urn:mcp:user
	// unverified https://fetch.example/mcp
	// <nil>
}

// A summary is derived from everything that the model had read. The application keeps its
// Sources with it, and opens the next turn with them.
func ExamplePartition_Sources() {
	h, err := host.New(host.Config{})
	if err != nil {
		panic(err)
	}
	fetch := connect(h, host.Server{URI: "https://fetch.example/mcp"}, `[{"name":"fetch_page"}]`)
	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
	if err := call(host.WithPartition(context.Background(), turn), fetch, "fetch_page"); err != nil {
		panic(err)
	}
	summary := struct {
		text    string
		sources host.Sources
	}{"The page says that all is well.", turn.Sources()}

	next := h.Open(host.Turn{From: []host.Sources{host.HostText(), summary.sources}, Shown: []*host.Connection{}})
	for _, c := range next.Sources().Contributors() {
		fmt.Println(c)
	}
	// Output:
	// host urn:mcp:host
	// user urn:mcp:user
	// unverified https://fetch.example/mcp
}

// What a sub-agent reads is in its answer, so it counts for the partition that asked it.
func ExamplePartition_Sub() {
	h, err := host.New(host.Config{})
	if err != nil {
		panic(err)
	}
	fetch := connect(h, host.Server{URI: "https://fetch.example/mcp"}, `[{"name":"fetch_page"}]`)
	turn := h.Open(host.Turn{Name: "turn", From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
	reader := turn.Sub(host.Turn{Name: "reader"})
	if err := call(host.WithPartition(context.Background(), reader), fetch, "fetch_page"); err != nil {
		panic(err)
	}
	fmt.Println(turn.Sources().Contributors()[1])
	// Output:
	// unverified https://fetch.example/mcp
}

// A server that accepts more than it did is taken at its old word until somebody agrees.
func ExampleConnection_Approve() {
	h, err := host.New(host.Config{})
	if err != nil {
		panic(err)
	}
	records := connect(h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
		`[{"name":"export","flowPolicy":{"acceptFrom":["user"]}}]`)
	if err := records.Page(context.Background(), policydecl.Tool, []byte(`{"tools":[{"name":"export","flowPolicy":{"acceptFrom":["user","host"]}}]}`), true); err != nil {
		panic(err)
	}

	turn := h.Open(host.Turn{From: []host.Sources{host.HostText(), host.UserInput()}, Shown: []*host.Connection{}})
	ctx := host.WithPartition(context.Background(), turn)
	fmt.Println(call(ctx, records, "export"))
	for _, a := range records.Pending() {
		fmt.Println(a.Question, a.Target, a.Old[0].Tokens(), a.New[0].Tokens())
		fmt.Println("agreed:", records.Approve(a)) // after asking somebody
	}
	fmt.Println(call(ctx, records, "export"))
	// Output:
	// The call was not permitted.
	// policy-loosened export [user] [user host]
	// agreed: true
	// <nil>
}

// A record goes to slog as it is. It prints neither arguments nor anything that a
// terminal would obey.
func ExampleRecord_LogValue() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	h, err := host.New(host.Config{Record: func(ctx context.Context, r host.Record) {
		log.InfoContext(ctx, "request", "flow", r)
	}})
	if err != nil {
		panic(err)
	}
	records := connect(h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
		`[{"name":"export","flowPolicy":{"acceptFrom":["user"]}}]`)
	turn := h.Open(host.Turn{Name: "turn 7", From: []host.Sources{host.HostText()}, Shown: []*host.Connection{}})
	fmt.Println(call(host.WithPartition(context.Background(), turn), records, "export"))
	// Output:
	// level=INFO msg=request flow.partition="turn 7" flow.server=https://records.example/mcp flow.method=tools/call flow.target=export flow.outcome=blocked-by-policy flow.label=ok flow.contributors="[host urn:mcp:host]" flow.rejected="[host urn:mcp:host]" flow.acceptFrom=[user]
	// The call was not permitted.
}

// A private host names nobody: a policy with assurance states still works, and one that names
// principals, as self does, refuses.
func ExampleConfig_private() {
	h, err := host.New(host.Config{Private: true})
	if err != nil {
		panic(err)
	}
	records := connect(h, host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified},
		`[{"name":"export","flowPolicy":{"acceptFrom":["self","user"]}},{"name":"search","flowPolicy":{"acceptFrom":["user","verified"]}}]`)
	turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
	ctx := host.WithPartition(context.Background(), turn)
	fmt.Println(call(ctx, records, "search")) // and its answer is in the context from now on
	fmt.Println(call(ctx, records, "export"))
	label := turn.Sources().Label(true)
	fmt.Println(string(label.AppendJSON(nil)))
	// Output:
	// <nil>
	// The call was not permitted.
	// {"contributors":[{"assurance":"user"},{"assurance":"verified"}],"complete":true}
}
