package middleware

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// BenchmarkParts measures the gate's own work for one accepted tools/call, piece by
// piece: the door on the raw bytes, the record with its label, and the seams.
func BenchmarkParts(b *testing.B) {
	s := server.NewMCPServer("parts", "1")
	tool := mcp.NewTool("search")
	s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(""), nil
	})
	// A context as mcp-go hands it to a hook.
	var inside context.Context
	h := &server.Hooks{}
	h.AddOnRequestInitialization(func(ctx context.Context, _ any, _ any) error { inside = ctx; return nil })
	server.WithHooks(h)(s)
	g, err := New(s, Config{URI: "https://records.example/mcp", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	const label = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":true}`
	call := func(n int, text string) json.RawMessage {
		msg := func(fill string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"` + fill + `"},"_meta":{"` + policydecl.LabelKey + `":` + label + `}}}`
		}
		return json.RawMessage(msg(strings.Repeat(text, max(0, n-len(msg("")))/len(text))))
	}
	s.HandleMessage(context.Background(), call(0, "x"))
	var meta mcp.Meta
	if err := json.Unmarshal([]byte(`{"`+policydecl.LabelKey+`":`+label+`}`), &meta); err != nil {
		b.Fatal(err)
	}
	for _, size := range []struct {
		name string
		n    int
		text string
	}{{"400B", 400, "x"}, {"64KiB", 64 << 10, "x"}, {"64KiB-escapes", 64 << 10, `\"\\\n\u00e9`}, {"1MiB-escapes", 1 << 20, `\"\\\n\u00e9`}} {
		msg := call(size.n, size.text)
		b.Run("ReadRequest/"+size.name, func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.ReadRequest(msg); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("door/"+size.name, func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if err := g.door(inside, 1.0, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	p := propagator{gate: g, next: noMeta{}}
	tools := []mcp.Tool{tool}
	b.Run("ExtractMeta", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.ExtractMeta(inside, &meta)
		}
	})
	b.Run("ExtractMeta+judge", func(b *testing.B) {
		b.ReportAllocs()
		req := &mcp.CallToolRequest{}
		req.Params.Name = "search"
		for b.Loop() {
			ctx := p.ExtractMeta(inside, &meta)
			g.beforeCallTool(ctx, 1.0, req)
			if len(g.filterTools(ctx, tools)) != 1 || g.recordOf(ctx).state() != accepted {
				b.Fatal("refused")
			}
		}
	})
	b.Run("hooksIntact", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !g.hooksIntact() {
				b.Fatal("not intact")
			}
		}
	})
}

type noMeta struct{}

// ExtractMeta does nothing.
func (noMeta) ExtractMeta(ctx context.Context, _ *mcp.Meta) context.Context { return ctx }

// InjectMeta does nothing.
func (noMeta) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }
