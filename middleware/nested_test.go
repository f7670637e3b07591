package middleware_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// nesting adds a tool that sends, as a request of its own, the message in its
// argument to its own server, and answers with what came back.
func nesting(r *recipient) {
	r.try(middleware.AddTool(r.server, mcp.NewTool("nest"), noPolicy, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		resp := r.server.HandleMessage(ctx, json.RawMessage(req.GetString("message", "")))
		b, err := json.Marshal(resp)
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(b)), nil
	}))
}

// nest wraps a request into a call of that tool.
func nest(inner, label string) request {
	quoted, _ := json.Marshal(inner)
	return request{method: "tools/call", params: `"name":"nest","arguments":{"message":` + string(quoted) + `}`, label: label, name: "nest"}
}

// text is the text of a tool's result.
func text(t testing.TB, a answer) string {
	t.Helper()
	var result struct{ Content []struct{ Text string } }
	got := a.reply(t)
	if err := json.Unmarshal(got.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("no result: %s", a.messages)
	}
	return result.Content[0].Text
}

// TestNestedRequests: a handler that calls HandleMessage makes a request with a
// label of its own. The outer label neither helps nor hurts it, its id may be the
// outer one's, and its fate does not touch the outer answer.
func TestNestedRequests(t *testing.T) {
	r := newRecipient()
	nesting(r)
	_, lines := everywhere(t, r, config())
	for _, l := range lines {
		for _, e := range eras {
			inner := e
			if strings.HasPrefix(l.name, "HTTP") {
				inner = legacy // mcp-go compares the outer request's headers with an inner modern one
			}
			for _, rt := range routes {
				if rt.endless || len(rt.effects) > 0 && rt.only == "" || rt.only != "" && rt.only != inner {
					continue
				}
				// The outer label is the user's, the inner one is not.
				got := text(t, l.line.exchange(t, e, nest(rt.request.with(labelX).body(inner), labelU)))
				if strings.Contains(got, `"result"`) || !strings.Contains(got, `"error"`) {
					t.Errorf("%s inside, on %s in %s: %s", rt.name, l.name, e, got)
				}
				sameCounts(t, l.line.took(t))
				// No label inside is not the label outside.
				if got := text(t, l.line.exchange(t, e, nest(rt.request.body(inner), labelU))); strings.Contains(got, `"result"`) {
					t.Errorf("%s inside without a label, on %s in %s: %s", rt.name, l.name, e, got)
				}
				sameCounts(t, l.line.took(t))
				// The outer label is worse than the inner one.
				got = text(t, l.line.exchange(t, e, nest(rt.request.with(labelU).body(inner), labelV)))
				if !strings.Contains(got, `"result"`) {
					t.Errorf("%s inside, on %s in %s: %s", rt.name, l.name, e, got)
				}
				want := rt.effects
				if rt.runs != "" {
					want = []string{rt.runs}
				}
				sameCounts(t, l.line.took(t), want...)
			}
			a := l.line.exchange(t, e, nest(call("search", labelU).body(e), labelX))
			checkRefused(t, l, e, a, "1", refusal(rejectedX, byDefault))
		}
	}
}

// TestNestedBeforeTheDoor: code of the server's author that runs before the door
// may make a request too. The outer request's answer is still decided by the outer
// request (G3).
func TestNestedBeforeTheDoor(t *testing.T) {
	swallow := wrapper(func(next func() error) (bool, error) { _ = next(); return true, nil })
	ping := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	t.Run("context func", func(t *testing.T) {
		r := newRecipient(swallow.author()...)
		h, err := middleware.Handler(r.server, config(), server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			r.server.HandleMessage(ctx, ping)
			return ctx
		}))
		if err != nil {
			t.Fatal(err)
		}
		l := namedLine{"HTTP JSON", listenHTTP(t, h, r.ran)}
		a := l.line.exchange(t, modern, call("export", labelX))
		checkRefused(t, l, modern, a, "1", refusal(rejectedX, bySelfUser))
	})
	t.Run("hook", func(t *testing.T) {
		r := newRecipient(swallow.author()...)
		r.hooks.AddOnRequestInitialization(func(ctx context.Context, _, message any) error {
			if raw, _ := message.(json.RawMessage); strings.Contains(string(raw), `"tools/call"`) {
				r.server.HandleMessage(ctx, ping)
			}
			return nil
		})
		_, lines := everywhere(t, r, config())
		for _, l := range lines {
			for _, e := range eras {
				if l.name == "HTTP SSE" {
					continue // opening the stream would run for the inner request too
				}
				a := l.line.exchange(t, e, call("export", labelX))
				checkRefused(t, l, e, a, "1", refusal(rejectedX, bySelfUser))
			}
		}
	})
}

// asking adds a tool that asks the user before it finishes (multi round-trip).
func asking(r *recipient) {
	r.try(middleware.AddTool(r.server, mcp.NewTool("ask"), selfUser, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("ask")
		if _, ok := server.InputResponse(req.Params.InputResponses, "sure"); ok {
			return mcp.NewToolResultText("done"), nil
		}
		var b server.InputRequestBuilder
		return b.Elicit("sure", mcp.ElicitationParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}}).ToolResult(), nil
	}))
}

// TestAskingHandlers: a handler that asks for input runs once more for the same
// request in the earlier era; in the later one the retry is a request of its own
// with a label of its own.
func TestAskingHandlers(t *testing.T) {
	r := newRecipient()
	asking(r)
	_, lines := everywhere(t, r, config())
	for _, l := range lines {
		a := l.line.exchange(t, modern, call("ask", labelU))
		if got := a.reply(t); !strings.Contains(string(got.Result), "input_required") {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		sameCounts(t, l.line.took(t), "ask")
		retry := call("ask", labelX)
		retry.params += `,"inputResponses":{"sure":{"action":"accept","content":{}}}`
		checkRefused(t, l, modern, l.line.exchange(t, modern, retry), "1", refusal(rejectedX, bySelfUser))
		if got := text(t, l.line.exchange(t, modern, retry.with(labelU))); got != "done" {
			t.Errorf("%s: %s", l.name, got)
		}
		sameCounts(t, l.line.took(t), "ask")
		checkRefused(t, l, legacy, l.line.exchange(t, legacy, call("ask", labelX)), "1", refusal(rejectedX, bySelfUser))
	}
	t.Run("earlier era", func(t *testing.T) { askInEarlierEra(t, lines[2].line.(*stdioLine)) })
}

// askInEarlierEra answers the elicitation that mcp-go makes of the handler's
// question.
func askInEarlierEra(t *testing.T, l *stdioLine) {
	l.send(t, call("ask", labelU).body(legacy))
	var question envelope
	if err := json.Unmarshal(l.next(t), &question); err != nil || question.Method != "elicitation/create" {
		t.Fatalf("%v: %+v", err, question)
	}
	l.send(t, `{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":{"action":"accept","content":{}}}`)
	if got := text(t, answer{messages: []json.RawMessage{l.next(t)}}); got != "done" {
		t.Error(got)
	}
	sameCounts(t, l.took(t), "ask", "ask")
}
