package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestCasesA holds the field cases of section A that are not a matter of the matrix
// or of a file of their own. Each runs on every transport and in both eras.
func TestCasesA(t *testing.T) {
	hideExport := server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
		var out []mcp.Tool
		for _, tool := range tools {
			if tool.Name != "export" {
				out = append(out, tool)
			}
		}
		return out
	})
	for name, c := range map[string]struct {
		opts []server.ServerOption
		add  func(*recipient)
		run  func(*testing.T, namedLine, era)
	}{
		"1 task-only tool without a task": {run: caseTaskTool},
		"2 hidden tool":                   {opts: []server.ServerOption{hideExport}, run: caseHidden},
		"3 no session, no initialize":     {run: caseStateless},
		"4 unknown methods":               {run: caseUnknownMethods},
		"5 subscribe":                     {run: caseSubscribe},
		"9 no params":                     {run: caseNoParams},
		"11 tool failure":                 {add: addFailing, run: caseToolFailure},
		"12 error of a handler":           {add: addFailing, run: caseHandlerError},
		"16 label in the wrong place":     {run: caseWrongPlace},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecipient(c.opts...)
			if c.add != nil {
				c.add(r)
			}
			_, lines := everywhere(t, r, config())
			for _, l := range lines {
				for _, e := range eras {
					c.run(t, l, e)
				}
			}
		})
	}
}

// want compares an error with mcp-go's own text.
func wantOwnError(t *testing.T, l namedLine, e era, r request, code int, text string) {
	t.Helper()
	a := l.line.exchange(t, e, r)
	if got := a.reply(t); errorCode(t, got.Error) != code || !strings.Contains(string(got.Error), text) || isRefusal(got.Error) {
		t.Errorf("%s in %s: %s", l.name, e, a.messages)
	}
	sameCounts(t, l.line.took(t))
}

func caseTaskTool(t *testing.T, l namedLine, e era) {
	for _, lb := range []string{labelX, labelU} {
		wantOwnError(t, l, e, call("texport", lb), -32601, "requires task augmentation")
	}
}

func caseHidden(t *testing.T, l namedLine, e era) {
	for _, lb := range []string{labelX, labelV, labelNone, labelU} {
		wantOwnError(t, l, e, call("export", lb), -32602, "not found")
	}
	checkRefused(t, l, e, l.line.exchange(t, e, call("search", labelX)), "1", refusal(rejectedX, byDefault))
}

func caseStateless(t *testing.T, l namedLine, e era) {
	h, ok := l.line.(*httpLine)
	if !ok || e != modern {
		return
	}
	checkRefused(t, l, e, h.exchangeIn(t, e, call("export", labelV), ""), "1", refusal(rejectedV, bySelfUser))
	if a := h.exchangeIn(t, e, call("search", labelV), ""); a.reply(t).Error != nil {
		t.Errorf("%s", a.messages)
	}
	sameCounts(t, h.took(t), "search")
}

func caseUnknownMethods(t *testing.T, l namedLine, e era) {
	wantOwnError(t, l, e, request{method: "vendor/run", label: labelX}, -32601, "not found")
	wantOwnError(t, l, e, request{method: "tasks/update", params: `"taskId":"t1","inputResponses":{"q":"secret"}`, label: labelX}, -32601, "not found")
}

func caseSubscribe(t *testing.T, l namedLine, e era) {
	r := request{method: "resources/subscribe", params: `"uri":"records://customers?leak=ada"`}
	checkRefused(t, l, e, l.line.exchange(t, e, r.with(labelV)), "1", refusal(rejectedV, bySelfUser))
	r.method = "resources/unsubscribe"
	if a := l.line.exchange(t, e, r.with(labelV)); e == legacy && a.reply(t).Error != nil {
		t.Errorf("unsubscribe: %s", a.messages)
	}
	l.line.took(t)
}

// caseNoParams sends bodies that have no params at all; the fixture's requests
// always have some.
func caseNoParams(t *testing.T, l namedLine, e era) {
	switch line := l.line.(type) {
	case *httpLine:
		if e == modern {
			return // its version is in params
		}
		id := line.open(t)
		defer line.close(t, id)
		for body, want := range map[string]string{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`:       ``,
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                     `"result":{}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`:               `"error"`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":null}`: `"tools":[`,
		} {
			resp := line.post(t, deadline(t), body, headers(e, request{}, id))
			a := readAnswer(t, resp, func(json.RawMessage) {})
			resp.Body.Close()
			if want == "" && (a.status != http.StatusAccepted || a.raw != "") || !strings.Contains(a.raw, want) {
				t.Errorf("%s: %d %q", body, a.status, a.raw)
			}
		}
	case *stdioLine:
		for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":null}`} {
			line.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			line.send(t, body)
			if m := string(line.next(t)); !strings.Contains(m, body[17:23]) || strings.Contains(body, "tools/call") != strings.Contains(m, `"error"`) {
				t.Errorf("%s: %s", body, m)
			}
		}
	}
	sameCounts(t, l.line.took(t))
}

var errBusiness = errors.New("the ledger is closed")

func addFailing(r *recipient) {
	r.try(middleware.AddTool(r.server, mcp.NewTool("fails"), noPolicy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("fails")
		return mcp.NewToolResultError("no"), nil
	}))
	r.try(middleware.AddTool(r.server, mcp.NewTool("errs"), noPolicy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("errs")
		return nil, errBusiness
	}))
}

func caseToolFailure(t *testing.T, l namedLine, e era) {
	a := l.line.exchange(t, e, call("fails", labelU))
	if got := string(a.reply(t).Result); !strings.Contains(got, `"isError":true`) {
		t.Errorf("%s", a.messages)
	}
	sameCounts(t, l.line.took(t), "fails")
}

func caseHandlerError(t *testing.T, l namedLine, e era) {
	a := l.line.exchange(t, e, call("errs", labelU))
	if got := string(a.reply(t).Error); got != `{"code":-32603,"message":"`+errBusiness.Error()+`"}` {
		t.Errorf("%s", a.messages)
	}
	sameCounts(t, l.line.took(t), "errs")
}

func caseWrongPlace(t *testing.T, l namedLine, e era) {
	inArguments := request{method: "tools/call", params: `"name":"export","arguments":{"_meta":{"` + keyFlowOrigin + `":` + labelU + `}}`, name: "export"}
	inParams := request{method: "tools/call", params: `"name":"export","arguments":{},"` + keyFlowOrigin + `":` + labelU, name: "export"}
	inMeta := request{method: "tools/call", params: `"name":"export","arguments":{}`, name: "export", meta: `"flowOrigin":` + labelU}
	for _, r := range []request{inArguments, inParams, inMeta} {
		checkRefused(t, l, e, l.line.exchange(t, e, r), "1", refusal(rejectedBare, bySelfUser))
	}
	// Beside params: the fixture's body cannot, so the member is smuggled in
	// behind the id.
	beside := call("export", "")
	beside.id = `1,"_meta":{"` + keyFlowOrigin + `":` + labelU + `}`
	if _, ok := l.line.(*inProcessLine); !ok {
		if a := l.line.exchange(t, e, beside); string(a.lastError(t)) != refusal(rejectedBare, bySelfUser) {
			t.Errorf("beside params, %s in %s: %s", l.name, e, a.messages)
		}
		sameCounts(t, l.line.took(t))
	}
}

// TestCase10Initialize: an initialize without an id or without params is left to
// mcp-go.
func TestCase10Initialize(t *testing.T) {
	gated, control := gatedLines(t), ungatedLines(t)
	for _, body := range []string{`{"jsonrpc":"2.0","method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`} {
		post := func(l namedLine) answer {
			h := l.line.(*httpLine)
			resp := h.post(t, deadline(t), body, nil)
			defer resp.Body.Close()
			return readAnswer(t, resp, func(json.RawMessage) {})
		}
		sameAnswer(t, post(gated[0]), post(control[0]))
	}
}

// TestCase15SharedParams: two requests that share one params value and one _meta
// map, in process, leave both as they were.
func TestCase15SharedParams(t *testing.T) {
	r := newRecipient()
	g, err := middleware.New(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := startInProcess(t, g.InProcess(), r.ran)
	var label any
	if err := json.Unmarshal([]byte(labelU), &label); err != nil {
		t.Fatal(err)
	}
	meta := map[string]any{keyFlowOrigin: label, "progressToken": "p"}
	params := map[string]any{"name": "export", "arguments": map[string]any{}, "_meta": meta}
	before := maps.Clone(meta)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			resp, err := l.transport.SendRequest(context.Background(), transport.JSONRPCRequest{
				JSONRPC: "2.0", ID: mcp.NewRequestId(int64(i)), Method: "tools/call", Params: params,
			})
			if err != nil || resp.Error != nil {
				t.Errorf("%v, %+v", err, resp)
			}
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(meta, before) {
		t.Errorf("the caller's _meta is now %v", meta)
	}
	if got := r.ran.take()["export"]; got != 20 {
		t.Errorf("ran %d times", got)
	}
}
