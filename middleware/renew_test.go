package middleware_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestReadInFlight: overrides that come into force while a read is on its way are for later
// requests, and its record names the settings by which it was judged; what is declared
// meanwhile counts, because it may be what runs (D4, M2).
func TestReadInFlight(t *testing.T) {
	const uri = "notes://item/7"
	strict := overrides.Overrides{Targets: []overrides.Target{{Kind: policydecl.Template, Name: "notes://item/{id}", Policy: policydecl.AcceptFrom()}}}
	off := overrides.Overrides{Mode: middleware.DangerouslyOff, DangerouslyLoosen: true}
	declare := func(r *recipient) error {
		return middleware.AddResource(r.server, mcp.NewResource(uri, "seven"), policydecl.AcceptFrom(), r.resource("seven"))
	}
	for name, c := range map[string]struct {
		label  string
		do     func(r *recipient, g *middleware.Gate) error
		passes bool
	}{
		"stricter overrides":           {labelU, func(_ *recipient, g *middleware.Gate) error { return g.Apply(strict) }, true},
		"off, and it was refused":      {labelX, func(_ *recipient, g *middleware.Gate) error { return g.Apply(off) }, false},
		"a declaration":                {labelU, func(r *recipient, _ *middleware.Gate) error { return declare(r) }, false},
		"a declaration, and overrides": {labelU, func(r *recipient, g *middleware.Gate) error { _ = g.Apply(off); return declare(r) }, false},
		"overrides, and back": {labelU, func(_ *recipient, g *middleware.Gate) error {
			_ = g.Apply(strict)
			return g.Apply(overrides.Overrides{})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r *recipient
			var g *middleware.Gate
			armed := false
			r = newRecipient(server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
				return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
					if armed {
						armed = false
						if err := c.do(r, g); err != nil {
							t.Error(err)
						}
					}
					return next(ctx, req)
				}
			}))
			book := newRecordBook()
			var err error
			if g, err = middleware.New(r.server, book.config()); err != nil {
				t.Fatal(err)
			}
			l := startInProcess(t, g.InProcess(), r.ran)
			settings := g.Settings()
			armed = true
			a := l.exchange(t, legacy, read(uri, c.label))
			if passed := a.lastError(t) == nil; passed != c.passes {
				t.Errorf("passed %v: %s", passed, a.messages)
			}
			rec := book.one(t)
			if rec.Settings != settings || rec.Mode != middleware.Enforce || (rec.Verdict == decision.Accepted) != c.passes {
				t.Errorf("judged by %s, want %s: %v", rec.Settings, settings, rec)
			}
		})
	}
}

// TestReadsInParallelUnderOneRecord: a middleware that calls the next one twice at a time
// while overrides and declarations change races with nothing.
func TestReadsInParallelUnderOneRecord(t *testing.T) {
	var g *middleware.Gate
	var r *recipient
	r = newRecipient(server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
		return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			done := make(chan error, 3)
			for range 2 {
				go func() { _, err := next(ctx, req); done <- err }()
			}
			go func() {
				done <- middleware.Govern(r.server, policydecl.Prefix, "notes://item/", policydecl.AcceptFrom("user"))
			}()
			_ = g.Apply(overrides.Overrides{Default: policydecl.AcceptFrom("user")})
			_ = g.Apply(overrides.Overrides{})
			for range 3 {
				if err := <-done; err != nil {
					return nil, err
				}
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "twice"}}, nil
		}
	}))
	book := newRecordBook()
	var err error
	if g, err = middleware.New(r.server, book.config()); err != nil {
		t.Fatal(err)
	}
	l := startInProcess(t, g.InProcess(), r.ran)
	for range 50 {
		if a := l.exchange(t, legacy, read("notes://item/7", labelU)); a.reply(t).Result == nil {
			t.Fatalf("%s", a.messages)
		}
		book.one(t)
	}
}
