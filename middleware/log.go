package middleware

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// logRefusal tells the operator about one refused request. Where something failed in
// the evaluation itself, such as a vendor matcher, that is an error of the server.
func (g *Gate) logRefusal(ctx context.Context, a about, class policydecl.Class, origin peerOrigin, d policydecl.Decision) {
	level, cause := slog.LevelInfo, ""
	if err := d.Cause(); err != nil {
		level, cause = slog.LevelError, escaped(err.Error())
	}
	if !g.log.Enabled(ctx, level) {
		return
	}
	v := d.Violation()
	rejected := make([]string, 0, len(v.Rejected))
	for i, r := range v.Rejected {
		if i == 8 {
			rejected = append(rejected, "and "+strconv.Itoa(len(v.Rejected)-i)+" more")
			break
		}
		rejected = append(rejected, strings.TrimSpace(r.Assurance+" "+r.Principal))
	}
	attrs := append(a.attrs(), slog.String("label", class.String()), slog.String("flow.origin", origin.String()), slog.Any("rejected", rejected), slog.Any("acceptFrom", v.AcceptFrom))
	if cause != "" {
		attrs = append(attrs, slog.String("cause", cause))
	}
	g.log.LogAttrs(ctx, level, "request refused by flow policy", attrs...)
}

// logInvalid tells the operator about a request that names something which cannot
// be judged.
func (g *Gate) logInvalid(ctx context.Context, a about, why error) {
	g.log.LogAttrs(ctx, slog.LevelInfo, "request refused: it cannot be judged", append(a.attrs(), slog.String("problem", escaped(why.Error())))...)
}

// logFault tells the operator that the gate is not in order.
func (g *Gate) logFault(ctx context.Context, a about, why error) {
	g.log.LogAttrs(ctx, slog.LevelError, "flow gate is not in order; request refused", append(a.attrs(), slog.String("fault", escaped(why.Error())))...)
}

// attrs describes a request without its arguments.
func (a about) attrs() []slog.Attr {
	return []slog.Attr{slog.String("method", escaped(string(a.method))), slog.String("target", escaped(a.target))}
}

// escaped makes text from a peer printable ASCII of bounded length (M3).
func escaped(s string) string { return plain.Escape(s, 256) }
