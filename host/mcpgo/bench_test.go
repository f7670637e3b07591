package mcpgo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// instant is a transport that keeps nothing.
type instant struct{ *fake }

// SendRequest answers at once.
func (i instant) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return i.on[r.Method](ctx, r)
}

// BenchmarkCall measures what the adapter adds to a call of mcp-go's client over a
// transport that takes no time.
func BenchmarkCall(b *testing.B) {
	h, err := host.New(host.Config{})
	must(err)
	for _, size := range []struct {
		name  string
		bytes int
	}{{"400B", 400}, {"64KiB", 64 << 10}} {
		req := call("a")
		req.Params.Arguments = map[string]any{"text": strings.Repeat("x", size.bytes)}
		inner := instant{newFake("[" + toolText("a", "user", "verified") + "]")}
		plain := client.NewClient(inner)
		must(plain.Start(b.Context()))
		_, err := plain.Initialize(b.Context(), mcp.InitializeRequest{})
		must(err)
		labelled, _, err := mcpgo.Connect(b.Context(), h, records(policydecl.Verified), inner, info)
		must(err)
		turn := h.Open(host.Turn{From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}})
		ctx := host.WithPartition(b.Context(), turn)
		for name, c := range map[string]*client.Client{"plain": plain, "labelled": labelled} {
			b.Run(name+"/"+size.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.CallTool(ctx, req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
