package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
)

// peek returns the records there are.
func (b *recordBook) peek() []decision.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]decision.Record(nil), b.all...)
}

// newWatched is a server of which every handler calls run with its name: a tool, a tool
// that can be a task, one that must be, a resource, a template, a prompt and completions.
func newWatched(run func(ctx context.Context, name string), opts ...server.ServerOption) *recipient {
	r := &recipient{hooks: &server.Hooks{}, ran: newTally()}
	r.hooks.AddOnRequestInitialization(openStream)
	all := append([]server.ServerOption{
		server.WithHooks(r.hooks), server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
		server.WithPromptCompletionProvider(watchedCompleter{run}), server.WithResourceCompletionProvider(watchedCompleter{run}),
	}, opts...)
	r.server = server.NewMCPServer("watched", "1", all...)
	tool := func(name string) server.ToolHandlerFunc {
		return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			run(ctx, name)
			return mcp.NewToolResultText(name + " ran"), nil
		}
	}
	resource := func(name string) func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			run(ctx, name)
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: name}}, nil
		}
	}
	r.try(middleware.AddTool(r.server, mcp.NewTool("tool"), selfUser, tool("tool")))
	r.try(middleware.AddTool(r.server, withTask("may", mcp.TaskSupportOptional), selfUser, tool("may")))
	r.try(middleware.AddTaskTool(r.server, withTask("must", mcp.TaskSupportRequired), selfUser,
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
			run(ctx, "must")
			return &mcp.CreateTaskResult{}, nil
		}))
	r.try(middleware.AddResource(r.server, mcp.NewResource("records://all", "all"), selfUser, resource("resource")))
	r.try(middleware.AddResourceTemplate(r.server, mcp.NewResourceTemplate("records://one/{id}", "one"), selfUser, resource("template")))
	r.try(middleware.AddPrompt(r.server, mcp.NewPrompt("prompt", mcp.WithArgument("id")), selfUser,
		func(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			run(ctx, "prompt")
			return mcp.NewGetPromptResult("", nil), nil
		}))
	return r
}

type watchedCompleter struct{ run func(context.Context, string) }

func (c watchedCompleter) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c.run(ctx, "completion")
	return &mcp.Completion{Values: []string{}}, nil
}

func (c watchedCompleter) CompleteResourceArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c.run(ctx, "completion of a URI")
	return &mcp.Completion{Values: []string{}}, nil
}

// watchedRequests are the requests that reach those handlers, by their names.
var watchedRequests = []struct {
	runs    string
	request request
}{
	{"tool", call("tool", labelU)}, {"may", call("may", labelU)}, {"may", asTask("may").with(labelU)}, {"must", asTask("must").with(labelU)},
	{"resource", read("records://all", labelU)}, {"template", read("records://one/7", labelU)},
	{"prompt", request{method: "prompts/get", params: `"name":"prompt"`, name: "prompt", label: labelU}},
	{"completion", complete(`{"type":"ref/prompt","name":"prompt"}`).with(labelU)},
	{"completion of a URI", complete(`{"type":"ref/resource","uri":"records://one/{id}"}`).with(labelU)},
}

// TestRecordComesBeforeTheHandler: a sink that works has the record when the handler
// begins, on every way to one, and there is no other later.
func TestRecordComesBeforeTheHandler(t *testing.T) {
	book := newRecordBook()
	var r *recipient
	r = newWatched(func(_ context.Context, name string) {
		if n := len(book.peek()); n != 1 {
			t.Errorf("%s begins with %d records", name, n)
		}
		r.ran.add(name)
	})
	_, lines := everywhere(t, r, book.config())
	for _, l := range lines {
		for _, e := range eras {
			for _, w := range watchedRequests {
				l.line.exchange(t, e, w.request)
				l.line.wait(t, w.runs)
				if rec := book.one(t); rec.Verdict != decision.Accepted {
					t.Errorf("%s on %s in %s: %v", w.runs, l.name, e, rec)
				}
				sameCounts(t, l.line.took(t), w.runs)
			}
		}
	}
}

// postAnyhow posts a message whose answer may fail to come.
func postAnyhow(t *testing.T, ctx context.Context, url string, e era, r request) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(r.body(e)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = headers(e, r, "")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// quietHTTP serves a handler that may panic. end waits for all that it does.
func quietHTTP(t *testing.T, g *middleware.Gate) (url string, end func()) {
	t.Helper()
	h, err := g.Handler(server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.Start()
	t.Cleanup(ts.Close)
	return ts.URL, ts.Close
}

// TestPanickingHandlerHasOneRecord: whether mcp-go, net/http or nobody recovers, a handler
// that panics has run by one decision (case 7).
func TestPanickingHandlerHasOneRecord(t *testing.T) {
	for name, opts := range map[string][]server.ServerOption{
		"alone": nil, "with WithRecovery": {server.WithRecovery(), server.WithResourceRecovery()},
	} {
		t.Run(name, func(t *testing.T) {
			book := newRecordBook()
			r := newWatched(func(context.Context, string) { panic("no luck") }, opts...)
			g, err := middleware.New(r.server, book.config())
			if err != nil {
				t.Fatal(err)
			}
			url, end := quietHTTP(t, g)
			for _, e := range eras {
				for _, w := range watchedRequests {
					if strings.Contains(w.request.params, `"task"`) {
						continue // nobody recovers there, not even without a gate
					}
					err := postAnyhow(t, deadline(t), url, e, w.request)
					if tool := w.request.method == "tools/call"; (err == nil) != (len(opts) > 0 && (tool || w.request.method == "resources/read")) {
						t.Errorf("%s in %s: %v", w.runs, e, err)
					}
					if rec := book.one(t); rec.Verdict != decision.Accepted {
						t.Errorf("%s in %s: %v", w.runs, e, rec)
					}
				}
			}
			l := listenPipe(t, r, g)
			if a := l.exchange(t, legacy, call("tool", labelU)); a.reply(t).Error == nil {
				t.Errorf("stdio: %s", a.messages)
			}
			if end(); len(book.peek()) != 1 {
				t.Errorf("stdio: %v", book.peek())
			}
		})
	}
}

// TestDisconnectedHasOneRecord: a client that hangs up while its request is with an
// author's hook, an author's middleware or a handler changes nothing: one record.
func TestDisconnectedHasOneRecord(t *testing.T) {
	for _, where := range []string{"hook", "middleware", "handler"} {
		for label, verdicts := range map[string][]decision.Verdict{
			labelU: {decision.Accepted, decision.Invalid}, labelX: {decision.Refused, decision.Invalid},
		} {
			if where == "handler" && label == labelX {
				continue
			}
			for _, e := range eras {
				t.Run(where+"/"+string(e), func(t *testing.T) {
					here, book := make(chan struct{}), newRecordBook()
					stop := func(ctx context.Context, at string) {
						if at == where {
							close(here)
							<-ctx.Done()
						}
					}
					r := newWatched(func(ctx context.Context, _ string) { stop(ctx, "handler") })
					r.hooks.AddOnRequestInitialization(func(ctx context.Context, _, _ any) error { stop(ctx, "hook"); return nil })
					r.server.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
						return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
							stop(ctx, "middleware")
							return next(ctx, req)
						}
					})
					g, err := middleware.New(r.server, book.config())
					if err != nil {
						t.Fatal(err)
					}
					url, end := quietHTTP(t, g)
					ctx, cancel := context.WithCancel(deadline(t))
					go func() {
						<-here
						cancel()
					}()
					if err := postAnyhow(t, ctx, url, e, call("tool", label)); !errors.Is(err, context.Canceled) {
						t.Fatalf("it was answered: %v", err)
					}
					end()
					all := book.peek()
					if len(all) != 1 || all[0].Verdict != verdicts[0] && all[0].Verdict != verdicts[1] {
						t.Errorf("%v", all)
					}
				})
			}
		}
	}
}

// TestEndedStreamHasOneRecord: a stream that ends while a request is with an author's hook
// or a handler, on stdio and on legacy SSE.
func TestEndedStreamHasOneRecord(t *testing.T) {
	for _, where := range []string{"hook", "handler"} {
		for _, kind := range []string{"stdio", "legacy SSE"} {
			t.Run(where+"/"+kind, func(t *testing.T) {
				here, release, book := make(chan struct{}), make(chan struct{}), newRecordBook()
				stop := func(at string) {
					if at == where {
						close(here)
						<-release
					}
				}
				r := newWatched(func(context.Context, string) { stop("handler") })
				r.hooks.AddOnRequestInitialization(func(_ context.Context, _, message any) error {
					if strings.Contains(string(message.(json.RawMessage)), `"tools/call"`) {
						stop("hook")
					}
					return nil
				})
				g, err := middleware.New(r.server, book.config())
				if err != nil {
					t.Fatal(err)
				}
				var l *stdioLine
				end := func() { l.in.Close() }
				if kind == "stdio" {
					l = listenPipe(t, r, g)
				} else {
					h, err := g.SSE()
					if err != nil {
						t.Fatal(err)
					}
					l, end = listenSSE(t, h, r.ran), h.CloseSessions
				}
				l.send(t, call("tool", labelU).body(legacy))
				<-here
				end()
				close(release)
				for range l.out { // until the stream is over
				}
				if all := book.take(t, 1); len(all) != 1 || all[0].Verdict.Objects() {
					t.Errorf("%v", all)
				}
			})
		}
	}
}
