package host_test

import (
	"context"
	"fmt"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// prepared holds the Go code of the package documentation, which a test in the root of the
// repository looks up here, and then sends one request, as an adapter does.
func prepared(ctx context.Context, record func(context.Context, host.Record)) error {
	h, err := host.New(host.Config{Record: record})
	if err != nil {
		return err
	}
	records, err := h.Connect(host.Server{URI: "https://records.example/mcp", Assurance: policydecl.Verified})
	if err != nil {
		return err
	}
	turn := h.Open(host.Turn{From: []host.Sources{host.HostText(), host.UserInput()}})
	ctx = host.WithPartition(ctx, turn)

	return call(ctx, records, "export_records")
}

// Nothing is sent to a server whose policies have not been read, and the model is told no more
// than that it was not.
func Example() {
	err := prepared(context.Background(), func(_ context.Context, r host.Record) {
		fmt.Println(r.Outcome, r.Reason)
		for _, c := range r.Label.Contributors() {
			fmt.Println(c)
		}
	})
	fmt.Println(err)
	// Output:
	// not-sent the server has not said whether it has policies
	// host urn:mcp:host
	// user urn:mcp:user
	// The call was not permitted.
}
