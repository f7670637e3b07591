package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// More attacks that once succeeded: on connections that many requests share, and on
// declarations that change while the gate serves.

// message is a request with a label, on a connection that is open.
func message(id, method, params, label string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `,"_meta":{"` + keyFlowOrigin + `":` + label + `}}}`
}

// shared puts the target on the two transports whose requests share one way out.
func (s *target) shared(t *testing.T) []namedLine {
	t.Helper()
	g, h := serveSSE(t, s.MCPServer)
	return []namedLine{
		{"stdio", listenPipe(t, &recipient{server: s.MCPServer, ran: s.ran}, g)},
		{"legacy SSE", listenSSE(t, h, s.ran)},
	}
}

// Two requests in flight whose ids mcp-go cannot tell apart: a middleware that answers
// the refused one from a cache could send it out as the answer of the accepted one (G3),
// whichever of the two is answered first, and whether or not the request was judged.
func TestAttackCollidingIDs(t *testing.T) {
	for _, ids := range [][2]string{{"9007199254740993", "9007199254740992"}, {"1", "1"}, {"1", "1.0"}} {
		for _, judged := range []bool{true, false} {
			for _, secretFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/judged=%t/secret first=%t", ids, judged, secretFirst), func(t *testing.T) {
					var here, secret, open chan struct{}
					cache := func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
						return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
							if r.Params.Name == "open" {
								here <- struct{}{}
								<-open
								return next(ctx, r)
							}
							if judged {
								_, _ = next(ctx, r)
							}
							here <- struct{}{}
							<-secret
							return mcp.NewToolResultText("THE SECRET"), nil
						}
					}
					s := newTarget(server.WithToolHandlerMiddleware(cache))
					for name, p := range map[string]policydecl.Policy{"secret": onlyUser, "open": lenient} {
						if err := middleware.AddTool(s.MCPServer, mcp.NewTool(name), p, s.call(name)); err != nil {
							t.Fatal(err)
						}
					}
					for _, l := range s.shared(t) {
						here, secret, open = make(chan struct{}), make(chan struct{}), make(chan struct{})
						line := l.line.(*stdioLine)
						line.send(t, message(ids[0], "tools/call", `"name":"secret"`, labelX))
						<-here
						line.send(t, message(ids[1], "tools/call", `"name":"open"`, labelX))
						<-here
						first, second := secret, open
						if !secretFirst {
							first, second = open, secret
						}
						close(first)
						got := []json.RawMessage{line.next(t)}
						close(second)
						got = append(got, line.next(t))
						if strings.Contains(fmt.Sprintf("%s", got), "THE SECRET") {
							t.Errorf("%s: %s", l.name, got)
						}
						for _, m := range got {
							if !strings.Contains(string(m), `"id":`+ids[0]) && !strings.Contains(string(m), `"id":`+ids[1]) {
								t.Errorf("%s: an answer to nobody: %s", l.name, m)
							}
						}
						// The ids are free again.
						line.send(t, message(ids[1], "ping", `"x":1`, labelX))
						if m := line.next(t); !strings.Contains(string(m), `"result":{}`) {
							t.Errorf("%s: %s", l.name, m)
						}
					}
				})
			}
		}
	}
}

// A handler of a posted message that opens a session of its own, with the context that
// it was given, took the place of the stream's session, and the stream was kept for good.
func TestAttackSessionInsideAStream(t *testing.T) {
	s := newTarget()
	var g *middleware.Gate
	outer := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		inside := g.InProcess()
		if err := inside.Start(ctx); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText("outer"), inside.Close()
	}
	if err := middleware.AddTool(s.MCPServer, mcp.NewTool("outer"), lenient, outer); err != nil {
		t.Fatal(err)
	}
	var h *middleware.SSEHandler
	g, h = serveSSE(t, s.MCPServer)
	t.Run("stream", func(t *testing.T) {
		l := listenSSE(t, h, s.ran)
		l.send(t, message("1", "tools/call", `"name":"outer"`, labelX))
		if m := l.next(t); !strings.Contains(string(m), `"outer"`) {
			t.Errorf("%s", m)
		}
		l.send(t, message("2", "tools/call", `"name":"outer"`, labelX))
		if m := l.next(t); !strings.Contains(string(m), `"outer"`) {
			t.Errorf("after that: %s", m)
		}
	})
	if n := middleware.Streams(h); n != 0 {
		t.Errorf("%d streams are kept", n)
	}
}

// Messages that mcp-go turns away left an entry each, until the stream ended; and a
// body that went on behind its message was waited for.
func TestAttackMessagesTurnedAway(t *testing.T) {
	s := newTarget()
	if err := middleware.AddTool(s.MCPServer, mcp.NewTool("tool"), lenient, s.call("tool")); err != nil {
		t.Fatal(err)
	}
	_, h := serveSSE(t, s.MCPServer)
	l := listenSSE(t, h, s.ran)
	in := l.in.(poster)
	for range 100 {
		resp, err := in.client.Post(strings.Replace(in.endpoint, "/message", "/nowhere", 1), "application/json", strings.NewReader(message("7", "ping", `"x":1`, labelX)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Fatal(resp.Status)
		}
	}
	if n := middleware.Pending(h); n != 0 {
		t.Errorf("%d entries are kept", n)
	}
	r, w := io.Pipe()
	posted := make(chan error)
	go func() {
		resp, err := in.client.Post(in.endpoint, "application/json", r)
		if err == nil {
			err = resp.Body.Close()
		}
		posted <- err
	}()
	if _, err := io.WriteString(w, message("8", "tools/call", `"name":"tool"`, labelX)+"  "); err != nil {
		t.Fatal(err)
	}
	if m := l.next(t); !strings.Contains(string(m), `"tool"`) {
		t.Errorf("%s", m)
	}
	w.Close()
	if err := <-posted; err != nil {
		t.Error(err)
	}
}

// A policy by hand that is looser than the default was published, and accepted a
// subscription, but the read was judged by the default besides (D4, G4).
func TestAttackLooserByHand(t *testing.T) {
	s := newTarget()
	hand := mcp.NewResource("docs://a", "a")
	hand.Meta = mcp.NewMetaFromMap(map[string]any{policydecl.PolicyKey: map[string]any{"acceptFrom": []any{"user", "unverified"}}})
	s.AddResource(hand, s.read("a"))
	s.AddResource(mcp.NewResource("docs://b", "b"), s.read("b"))
	s.serve(t, config())
	for _, method := range []string{"resources/read", "resources/subscribe"} {
		if got := s.send(t, method, `"uri":"docs://a"`, labelX); strings.Contains(got, keyFlowViolation) || !strings.Contains(got, `"result"`) && method == "resources/read" {
			t.Errorf("%s: %s", method, got)
		}
	}
	sameCounts(t, s.ran.take(), "a")
	s.refused(t, "resources/read", `"uri":"docs://b"`, labelX)
	// In its place, one without a policy has the default besides the old one.
	s.AddResource(mcp.NewResource("docs://a", "a"), s.read("new a"))
	s.refused(t, "resources/read", `"uri":"docs://a"`, labelX)
}

// Many resources by hand that are listed are adopted together, the one with a mistake
// left out and told once.
func TestAttackManyByHand(t *testing.T) {
	s := newTarget()
	log := &strings.Builder{}
	cfg := config()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	s.serve(t, cfg)
	var list []server.ServerResource
	for i := range 300 {
		r := mcp.NewResource(fmt.Sprintf("docs://a/%d", i), "a")
		policy := map[string]any{"acceptFrom": []any{"user", "unverified"}}
		if i == 7 {
			policy = map[string]any{"acceptFrom": []any{"User"}}
		}
		r.Meta = mcp.NewMetaFromMap(map[string]any{policydecl.PolicyKey: policy})
		list = append(list, server.ServerResource{Resource: r, Handler: s.read("a")})
	}
	s.AddResources(list...)
	for range 2 {
		s.send(t, "resources/list", `"x":1`, labelX)
	}
	if got := s.send(t, "resources/read", `"uri":"docs://a/299"`, labelX); !strings.Contains(got, `"result"`) {
		t.Error(got)
	}
	sameCounts(t, s.ran.take(), "a")
	s.refused(t, "resources/read", `"uri":"docs://a/7"`, labelX)
	if n := strings.Count(log.String(), `level=ERROR`); n != 1 {
		t.Errorf("%d errors: %s", n, log)
	}
}

// declaring is a logger that declares something whenever it is told something.
type declaring struct {
	slog.Handler
	declare func()
}

func (d declaring) Enabled(context.Context, slog.Level) bool { return true }

func (d declaring) Handle(context.Context, slog.Record) error {
	d.declare()
	return nil
}

// A logger that called a helper hung the server's registration; and a template that was
// removed could not be declared again.
func TestAttackDeclareAgain(t *testing.T) {
	s := newTarget()
	template := func(p policydecl.Policy) error {
		return middleware.AddResourceTemplate(s.MCPServer, mcp.NewResourceTemplate("m://{id}", "t"), p, server.ResourceTemplateHandlerFunc(s.read("m")))
	}
	if err := template(lenient); err != nil {
		t.Fatal(err)
	}
	cfg := config()
	told := 0
	cfg.Logger = slog.New(declaring{slog.DiscardHandler, func() {
		if told++; told == 1 {
			_ = middleware.AddTool(s.MCPServer, mcp.NewTool("told"), policydecl.AcceptFrom("User"), s.call("told"))
		}
	}})
	h, err := middleware.Handler(s.MCPServer, cfg, server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(h)
	defer ts.Close()
	s.url = ts.URL
	if err := template(onlyUser); err == nil || told == 0 {
		t.Errorf("another policy: %v, told %d times", err, told)
	}
	s.SetResourceTemplates()
	if err := template(lenient); err != nil {
		t.Error(err)
	}
	if got := s.send(t, "resources/read", `"uri":"m://1"`, labelX); !strings.Contains(got, `"result"`) {
		t.Error(got)
	}
}
