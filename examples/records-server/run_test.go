package main

import (
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
)

// eachTransport runs f against a server over HTTP and one over stdio, in both
// protocol eras. -step-delay keeps slow_scan fast.
func eachTransport(t *testing.T, f func(t *testing.T, c st.Client, era st.Era)) {
	for _, era := range st.Eras {
		t.Run("http/"+string(era), func(t *testing.T) { f(t, st.Start(t, run, nil, "-step-delay", "2ms"), era) })
		t.Run("stdio/"+string(era), func(t *testing.T) {
			c := st.StartStdio(t, run, nil, "-step-delay", "2ms")
			if era == st.Legacy { // a session of that era starts with a handshake
				c.Call(t, era, "initialize", initialize(), st.None)
			}
			f(t, c, era)
		})
	}
}

func initialize() st.Params {
	return st.Params{
		"protocolVersion": string(st.Legacy),
		"capabilities":    st.Params{},
		"clientInfo":      st.Params{"name": "test", "version": "1"},
	}
}

func TestLists(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		lists := map[string][]string{
			"tools/list":               {"search_records", "export_records", "delete_record", "debug_dump", "report_records", "archive_records", "slow_scan"},
			"resources/list":           {"records://customers"},
			"resources/templates/list": {"records://customers/{id}", "records://{+path}"},
			"prompts/list":             {"summarize_customer"},
		}
		for method, want := range lists {
			got := string(c.Call(t, era, method, nil, st.None).Result)
			for _, name := range want {
				if !strings.Contains(got, `"`+name+`"`) {
					t.Errorf("%s lacks %s: %s", method, name, got)
				}
			}
		}
	})
}

func TestCalls(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		calls := []struct {
			tool string
			args st.Params
			want string
		}{
			{"search_records", st.Params{"query": "lindqvist"}, `"id":"c-001"`},
			{"export_records", st.Params{"table": "products"}, "id,name,category,price\n"},
			{"delete_record", st.Params{"id": "i-5011"}, "deleted i-5011 from invoices"},
			{"report_records", st.Params{"table": "invoices"}, `"rows":10`},
			{"slow_scan", st.Params{"steps": 2}, `"steps":2`},
		}
		for _, call := range calls {
			var result st.ToolResult
			st.CallTool(t, c, era, call.tool, call.args, st.User).MustResult(t, &result)
			if result.IsError || !strings.Contains(result.Text(), call.want) {
				t.Errorf("%s: %+v", call.tool, result)
			}
		}
		for tool, args := range map[string]st.Params{
			"search_records": {},
			"export_records": {"table": "secrets"},
			"delete_record":  {"id": "i-5011"},
			"report_records": {"table": 1},
			"slow_scan":      {"steps": 1.5},
		} {
			var result st.ToolResult
			st.CallTool(t, c, era, tool, args, st.User).MustResult(t, &result)
			if !result.IsError {
				t.Errorf("%s %v: no error: %+v", tool, args, result)
			}
		}
	})
}

func TestReadsPromptsAndCompletions(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		calls := []struct {
			method string
			params st.Params
			want   string
		}{
			{"resources/read", st.Params{"uri": "records://customers"}, `Ada Lindqvist`},
			{"resources/read", st.Params{"uri": "records://customers?x=1"}, `Ada Lindqvist`},
			{"resources/read", st.Params{"uri": "records://customers/c-003"}, `Chiara Moretti`},
			{"resources/read", st.Params{"uri": "records://orders"}, `o-1014`},
			{"resources/read", st.Params{"uri": "records://orders/o-1002"}, `240.00`},
			{"prompts/get", st.Params{"name": "summarize_customer", "arguments": st.Params{"id": "c-001"}}, `i-5011`},
			{"completion/complete", complete("ref/prompt", "name", "summarize_customer"), `"c-010"`},
			{"completion/complete", complete("ref/resource", "uri", "records://customers/{id}"), `"c-010"`},
		}
		for _, call := range calls {
			var result json.RawMessage
			c.Call(t, era, call.method, call.params, st.User).MustResult(t, &result)
			if !strings.Contains(string(result), call.want) {
				t.Errorf("%s %v: %s", call.method, call.params, result)
			}
		}
		for _, uri := range []string{"records://customers/c-999", "records://secrets", "records://orders/../customers"} {
			c.Call(t, era, "resources/read", st.Params{"uri": uri}, st.User).MustFail(t)
		}
	})
}

func complete(kind, key, value string) st.Params {
	return st.Params{
		"ref":      st.Params{"type": kind, key: value},
		"argument": st.Params{"name": "id", "value": "c-01"},
	}
}

func TestTasks(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		for _, tool := range []string{"archive_records", "report_records"} {
			var created struct{ Task struct{ TaskID string } }
			c.Call(t, era, "tools/call", st.Params{
				"name": tool, "arguments": st.Params{"table": "orders"}, "task": st.Params{},
			}, st.User).MustResult(t, &created)
			// 2026-07-28 creates tasks, but has no method to ask for the result.
			var result st.ToolResult
			c.Call(t, st.Legacy, "tasks/result", st.Params{"taskId": created.Task.TaskID}, st.None).MustResult(t, &result)
			if result.IsError || !strings.Contains(result.Text(), `"rows":14`) {
				t.Errorf("%s: %+v", tool, result)
			}
		}
		if e := st.CallTool(t, c, era, "archive_records", st.Params{"table": "orders"}, st.User).MustFail(t); e.Code != -32601 {
			t.Errorf("a task tool without a task: %+v", e)
		}
	})
}

func TestProgress(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		scan := st.Params{"name": "slow_scan", "arguments": st.Params{"steps": 5}, "_meta": st.Params{"progressToken": "p1"}}
		reply := c.Call(t, era, "tools/call", scan, st.User)
		last := 0.0
		for _, m := range reply.Before {
			var p struct {
				ProgressToken   string
				Progress, Total float64
			}
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Fatal(err)
			}
			if m.Method != "notifications/progress" || p.ProgressToken != "p1" || p.Total != 5 || p.Progress <= last {
				t.Errorf("after %v: %s %s", last, m.Method, m.Params)
			}
			last = p.Progress
		}
		// mcp-go may lose the one notification that it is about to write when
		// the answer overtakes it, so the last is not asked for.
		if last < 4 {
			t.Errorf("progress ended at %v", last)
		}
		if reply := st.CallTool(t, c, era, "slow_scan", st.Params{"steps": 2}, st.User); len(reply.Before) > 0 {
			t.Errorf("progress without a token: %v", reply.Before)
		}
	})
}

// With an hour between the steps, whatever arrives does so during the call.
func TestProgressArrivesWhileTheCallRuns(t *testing.T) {
	for _, era := range st.Eras {
		s := st.Start(t, run, nil, "-step-delay", "1h")
		scan := st.Params{"name": "slow_scan", "arguments": st.Params{"steps": 3}, "_meta": st.Params{"progressToken": 7}}
		resp := s.Do(st.Context(t), t, era, "tools/call", scan, st.User)
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Fatalf("Content-Type %q", got)
		}
		m, err := st.Messages(resp)()
		if err != nil || m.Method != "notifications/progress" {
			t.Fatalf("%v, %+v", err, m)
		}
		resp.Body.Close() // the client goes away; the end of the test waits for the call to notice
	}
}

func TestSessionsAreOptional(t *testing.T) {
	s := st.Start(t, run, nil)
	resp := s.Do(st.Context(t), t, st.Legacy, "initialize", initialize(), st.None)
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("initialize gave no session")
	}
	for _, c := range []*st.HTTP{s, s.With("Mcp-Session-Id", id)} {
		var result st.ToolResult
		st.CallTool(t, c, st.Legacy, "search_records", st.Params{"query": "ada"}, st.User).MustResult(t, &result)
	}
	if resp := s.With("Mcp-Session-Id", "made up").Do(st.Context(t), t, st.Legacy, "tools/list", nil, st.None); resp.StatusCode != http.StatusNotFound {
		t.Errorf("made up session: status %d", resp.StatusCode)
	}
}

func TestOtherRoutes(t *testing.T) {
	s := st.Start(t, run, nil, "-debug")
	if status, body := s.Get(t, "/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	var result st.ToolResult
	st.CallTool(t, s, st.Legacy, "search_records", st.Params{"query": "ada"}, st.User).MustResult(t, &result)
	if n := s.Invocations(t); n["search_records"] != 1 || n["export_records"] != 0 {
		t.Errorf("invocations %v", n)
	}
	for _, path := range []string{"/mcp/", "//mcp", "/MCP", "/mcp/%2e%2e/mcp", "/", "/debug/"} {
		if status, _ := s.Get(t, path); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	quiet := st.Start(t, run, nil)
	if status, _ := quiet.Get(t, "/debug/invocations"); status != http.StatusNotFound {
		t.Errorf("invocations without -debug: status %d", status)
	}
}

func TestTokens(t *testing.T) {
	open := st.Start(t, run, map[string]string{tokensVariable: "r1=reader,a1=admin"})
	resp := open.Do(st.Context(t), t, st.Legacy, "tools/list", nil, st.None)
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: status %d, %v", resp.StatusCode, resp.Header)
	}
	if status, _ := open.Get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("healthz: status %d", status)
	}
	r, a := open.With("Authorization", "Bearer r1"), open.With("Authorization", "Bearer a1")
	for _, era := range st.Eras {
		if list := string(r.Call(t, era, "tools/list", nil, st.None).Result); strings.Contains(list, "debug_dump") {
			t.Error("a reader sees debug_dump")
		}
		if list := string(a.Call(t, era, "tools/list", nil, st.None).Result); !strings.Contains(list, "debug_dump") {
			t.Error("an admin does not see debug_dump")
		}
		if e := st.CallTool(t, r, era, "debug_dump", nil, st.User).MustFail(t); !strings.Contains(e.Message, "not found") {
			t.Errorf("debug_dump for a reader: %+v", e)
		}
		if e := st.CallTool(t, r, era, "delete_record", st.Params{"id": "o-1001"}, st.User).MustFail(t); !strings.Contains(e.Message, errAdminOnly.Error()) {
			t.Errorf("delete_record for a reader: %+v", e)
		}
	}
	var result st.ToolResult
	st.CallTool(t, a, st.Legacy, "delete_record", st.Params{"id": "o-1001"}, st.User).MustResult(t, &result)
}

func TestStartUpErrors(t *testing.T) {
	tests := map[string]struct {
		vars map[string]string
		args []string
		want error
	}{
		"help":               {args: []string{"-h"}, want: flag.ErrHelp},
		"unknown flag":       {args: []string{"-nope"}, want: serve.ErrUsage},
		"unknown mode":       {args: []string{"-mode", "Off"}, want: serve.ErrUsage},
		"argument":           {args: []string{"stdio"}, want: serve.ErrUsage},
		"empty tokens":       {vars: map[string]string{tokensVariable: ""}},
		"malformed tokens":   {vars: map[string]string{tokensVariable: "a:admin"}},
		"tokens, over stdio": {vars: map[string]string{tokensVariable: "a=root"}, args: []string{"-stdio"}},
		"address":            {args: []string{"-addr", "127.0.0.1:http:"}},
		"address, on stdio":  {args: []string{"-addr", defaultAddr, "-stdio"}, want: serve.ErrUsage},
	}
	for name, tt := range tests {
		err := run(st.Context(t), st.Env(tt.vars, tt.args...))
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUsageNamesTheTokens(t *testing.T) {
	var w strings.Builder
	env := st.Env(nil, "-h")
	env.Stderr = &w
	if err := run(st.Context(t), env); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	for _, want := range []string{"Usage of records-server:", "-step-delay", tokensVariable, tokensForm} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in %s", want, &w)
		}
	}
}

func TestWarnsWhenOpenToTheNetwork(t *testing.T) {
	tests := map[string]struct {
		vars  map[string]string
		addr  string
		warns bool
	}{
		"everywhere":           {addr: ":0", warns: true},
		"everywhere, guarded":  {addr: ":0", vars: map[string]string{tokensVariable: "r1=reader"}},
		"on this machine only": {addr: "127.0.0.1:0"},
	}
	for name, tt := range tests {
		s := st.Start(t, run, tt.vars, "-addr", tt.addr)
		if warned := strings.Contains(s.Stderr(), "WRN "+openWarning); warned != tt.warns {
			t.Errorf("%s: %s", name, s.Stderr())
		}
	}
}

func TestShutdown(t *testing.T) {
	t.Run("streams end", func(t *testing.T) {
		s := st.Start(t, run, nil)
		listen := s.Do(st.Context(t), t, st.Modern, "subscriptions/listen",
			st.Params{"notifications": st.Params{"toolsListChanged": true}}, st.None)
		if m, err := st.Messages(listen)(); err != nil {
			t.Fatalf("%v, %+v", err, m)
		}
		s.Stop(t)
	})
	t.Run("calls are finished", func(t *testing.T) {
		s := st.Start(t, run, nil, "-step-delay", "50ms")
		scan := st.Params{"name": "slow_scan", "arguments": st.Params{"steps": 4}, "_meta": st.Params{"progressToken": 1}}
		next := st.Messages(s.Do(st.Context(t), t, st.Modern, "tools/call", scan, st.User))
		m, err := next()
		for s.Interrupt(); err == nil && m.Method != ""; {
			m, err = next()
		}
		if err != nil || m.Result == nil {
			t.Errorf("%v, %+v", err, m)
		}
	})
	t.Run("stdio, by signal", func(t *testing.T) {
		c := st.StartStdio(t, run, nil, "-debug")
		c.Call(t, st.Modern, "tools/list", nil, st.None)
		if err := c.Interrupt(t); err != nil {
			t.Error(err)
		}
		if !strings.Contains(c.Stderr(), `invocations {"archive_records":0,`) {
			t.Errorf("stderr %s", c.Stderr())
		}
	})
}
