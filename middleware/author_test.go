package middleware_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// Middleware that a server's author might write, further out than the gate. Each
// takes what the next one would do and says what comes of it.
type wrapper func(next func() error) (ran bool, err error)

var (
	errForbidden = errors.New("forbidden by the server itself")
	errOther     = errors.New("something else")
)

var wrappers = map[string]wrapper{
	"caches":   func(func() error) (bool, error) { return true, nil },
	"swallows": func(next func() error) (bool, error) { _ = next(); return true, nil },
	"replaces": func(next func() error) (bool, error) {
		if next() != nil {
			return false, errOther
		}
		return true, nil
	},
	"panics after": func(next func() error) (bool, error) {
		if err := next(); err != nil {
			panic(err)
		}
		return true, nil
	},
	"twice": func(next func() error) (bool, error) { _ = next(); err := next(); return err == nil, err },
	"elsewhere": func(next func() error) (bool, error) {
		done := make(chan error)
		go func() { done <- next() }()
		err := <-done
		return err == nil, err
	},
}

// author returns options that put w before every kind of handler. A request is
// answered with "made up" when w says that it ran. mcp-go's own recovery, further
// out still, turns a panic into an error.
func (w wrapper) author() []server.ServerOption {
	return []server.ServerOption{
		server.WithRecovery(), server.WithResourceRecovery(),
		server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran, err := w(func() error { _, err := next(ctx, req); return err })
				if !ran {
					return nil, err
				}
				return mcp.NewToolResultText("made up"), nil
			}
		}),
		server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				ran, err := w(func() error { _, err := next(ctx, req); return err })
				if !ran {
					return nil, err
				}
				return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "made up"}}, nil
			}
		}),
		server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc {
			return func(ctx context.Context, req mcp.GetPromptRequest) (_ *mcp.GetPromptResult, err error) {
				defer func() {
					if p := recover(); p != nil {
						err = errOther // mcp-go recovers none for prompts
					}
				}()
				ran, err := w(func() error { _, err := next(ctx, req); return err })
				if !ran {
					return nil, err
				}
				return mcp.NewGetPromptResult("made up", nil), nil
			}
		}),
	}
}

// wrapped are the routes that have handler middleware.
func wrapped() []route {
	return slices.DeleteFunc(slices.Clone(routes), func(r route) bool {
		return r.runs == "" || strings.HasPrefix(r.runs, "complete") || slices.Contains(r.effects, "task:created") && r.runs == "texport"
	})
}

// orders are the ways to put an author's options beside the gate's: with the
// constructor, and on the finished server.
var orders = map[string]func([]server.ServerOption) *recipient{
	"at construction": func(o []server.ServerOption) *recipient { return newRecipient(o...) },
	"afterwards": func(o []server.ServerOption) *recipient {
		r := newRecipient()
		for _, opt := range o {
			opt(r.server)
		}
		return r
	},
}

// TestMiddlewareCannotHideARefusal is G3: whatever middleware further out makes of
// a refusal, the peer gets the refusal and no handler runs (case 11, 12).
func TestMiddlewareCannotHideARefusal(t *testing.T) {
	for name, w := range wrappers {
		for order, build := range orders {
			t.Run(name+"/"+order, func(t *testing.T) {
				_, lines := everywhere(t, build(w.author()), config())
				for _, l := range lines {
					for _, e := range eras {
						for _, rt := range wrapped() {
							a := l.line.exchange(t, e, rt.request.with(labelX))
							checkRefused(t, l, e, a, "1", refusal(rejectedX, rt.policy))
						}
					}
				}
			})
		}
	}
}

// TestMiddlewareWithoutRefusal: the same middleware sees accepted requests as it
// would without a gate (G5).
func TestMiddlewareWithoutRefusal(t *testing.T) {
	for name, w := range wrappers {
		t.Run(name, func(t *testing.T) {
			r := newRecipient(w.author()...)
			_, lines := everywhere(t, r, config())
			for _, rt := range wrapped() {
				if len(rt.effects) > 0 {
					continue
				}
				a := lines[0].line.exchange(t, modern, rt.request.with(labelU))
				if got := a.reply(t); got.Error != nil || !strings.Contains(string(got.Result), "made up") {
					t.Errorf("%s: %s", rt.name, a.messages)
				}
				want := map[string]int{"caches": 0, "twice": 2}
				n, ok := want[name]
				if !ok {
					n = 1
				}
				if got := lines[0].line.took(t)[rt.runs]; got != n {
					t.Errorf("%s ran %d times, want %d", rt.name, got, n)
				}
			}
		})
	}
}

// TestWhoseErrorItIs is X5: an error of the author's that reads like a refusal gets no
// key of ours, and a refusal that a middleware turns into text is in no result.
func TestWhoseErrorItIs(t *testing.T) {
	asText := func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := next(ctx, req)
			if err != nil && req.Params.Name == "export" {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return res, err
		}
	}
	r := newRecipient(server.WithToolHandlerMiddleware(asText))
	r.try(middleware.AddTool(r.server, mcp.NewTool("failing"), selfUser, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(flowerrors.Message)
	}))
	_, lines := everywhere(t, r, config())
	for _, l := range lines {
		for _, e := range eras {
			a := l.line.exchange(t, e, call("failing", labelU))
			if got := a.reply(t); got.Error == nil || !strings.Contains(string(got.Error), flowerrors.Message) || isRefusal(got.Error) {
				t.Errorf("%s in %s: the author's error became %s", l.name, e, a.messages)
			}
			a = l.line.exchange(t, e, call("export", labelX))
			if got := a.reply(t); got.Result != nil || !isRefusal(got.Error) {
				t.Errorf("%s in %s: the refusal became %s", l.name, e, a.messages)
			}
		}
	}
}

// TestOwnRefusalFirst is G1: a request that the server's own authorization refuses
// keeps the server's own error, whatever its label, byte for byte (case 2).
func TestOwnRefusalFirst(t *testing.T) {
	forbid := wrapper(func(func() error) (bool, error) { return false, errForbidden })
	panics := wrapper(func(func() error) (bool, error) { panic(errForbidden) })
	hide := []server.ServerOption{
		server.WithToolFilter(func(context.Context, []mcp.Tool) []mcp.Tool { return nil }),
		server.WithPromptFilter(func(context.Context, []mcp.Prompt) []mcp.Prompt { return nil }),
	}
	for name, author := range map[string][]server.ServerOption{"middleware": forbid.author(), "panicking middleware": panics.author(), "filters": hide} {
		for order, build := range orders {
			t.Run(name+"/"+order, func(t *testing.T) {
				_, lines := everywhere(t, build(author), config())
				for _, l := range lines {
					for _, e := range eras {
						for _, rt := range wrapped() {
							if name == "filters" && rt.request.method == "resources/read" || len(rt.effects) > 0 {
								continue // no filter; a task that is accepted is another answer
							}
							ownRefusal(t, l, e, rt)
						}
					}
				}
			})
		}
	}
}

// ownRefusal compares the answer to a request with every label with the one that
// an accepted label gets.
func ownRefusal(t *testing.T, l namedLine, e era, rt route) {
	t.Helper()
	want := l.line.exchange(t, e, rt.request.with(labelU))
	if got := want.reply(t); got.Error == nil || isRefusal(got.Error) {
		t.Errorf("%s: %s", rt.name, want.messages)
	}
	for _, lb := range []string{labelX, labelV, labelNone} {
		if got := l.line.exchange(t, e, rt.request.with(lb)); string(got.reply(t).Error) != string(want.reply(t).Error) {
			t.Errorf("%s, %s on %s in %s: %s\n want %s", rt.name, lb, l.name, e, got.messages, want.messages)
		}
	}
	sameCounts(t, l.line.took(t))
}

// TestOwnRefusalOfATask: a task call that the author's middleware forbids is
// refused by the author when it is refused at all; the flow refusal would tell a
// policy to somebody who may not know it (G1).
func TestOwnRefusalOfATask(t *testing.T) {
	forbid := wrapper(func(func() error) (bool, error) { return false, errForbidden })
	_, lines := everywhere(t, newRecipient(forbid.author()...), config())
	for _, l := range lines {
		for _, e := range eras {
			a := l.line.exchange(t, e, asTask("hexport").with(labelX))
			if got := a.reply(t); !strings.Contains(string(got.Error), errForbidden.Error()) || isRefusal(got.Error) {
				t.Errorf("%s in %s: %s", l.name, e, a.messages)
			}
			sameCounts(t, l.line.took(t))
		}
	}
}

// TestFilterSeesNoPolicy: a filter that shows tools and prompts without their
// _meta, as one that rewrites descriptions may, does not change which policy
// governs them (D4, G3).
func TestFilterSeesNoPolicy(t *testing.T) {
	strip := []server.ServerOption{
		server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
			var out []mcp.Tool
			for _, tool := range tools {
				out = append(out, mcp.Tool{Name: tool.Name, InputSchema: tool.InputSchema, Description: "rewritten"})
			}
			return out
		}),
		server.WithPromptFilter(func(_ context.Context, prompts []mcp.Prompt) []mcp.Prompt {
			var out []mcp.Prompt
			for _, p := range prompts {
				out = append(out, mcp.Prompt{Name: p.Name})
			}
			return out
		}),
	}
	_, lines := everywhere(t, newRecipient(strip...), config())
	for _, l := range lines {
		for _, e := range eras {
			for _, rt := range routes {
				if rt.request.method != "tools/call" && rt.request.method != "prompts/get" || rt.policy == byDefault {
					continue
				}
				for lb, rejected := range map[string]string{labelV: rejectedV, labelX: rejectedX} {
					a := l.line.exchange(t, e, rt.request.with(lb))
					checkRefused(t, l, e, a, "1", refusal(rejected, rt.policy))
				}
			}
		}
	}
}

// TestSchemaValidationCannotAnswerFirst: mcp-go's own input validation answers with
// a result; a refused call gets the refusal, since no result of it may leave (G3).
func TestSchemaValidationCannotAnswerFirst(t *testing.T) {
	r := newRecipient(server.WithInputSchemaValidation())
	r.try(middleware.AddTool(r.server, mcp.NewTool("typed", mcp.WithString("q", mcp.Required())), selfUser, r.tool("typed")))
	_, lines := everywhere(t, r, config())
	for _, l := range lines {
		a := l.line.exchange(t, modern, call("typed", labelX))
		checkRefused(t, l, modern, a, "1", refusal(rejectedX, bySelfUser))
	}
}
