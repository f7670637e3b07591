package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// many registers tools enough for an answer that net/http does not measure.
func many(r *recipient, n int) {
	for i := range n {
		r.try(middleware.AddTool(r.server, mcp.NewTool(fmt.Sprintf("t%03d", i), mcp.WithDescription("a < b & c\r\n\u2028")), selfUser, nothing))
	}
}

// TestCase42LongAnswers: what leaves is as long as it says, over HTTP/1.1 and
// HTTP/2, and HEAD is mcp-go's.
func TestCase42LongAnswers(t *testing.T) {
	r, c := newRecipient(server.WithPaginationLimit(1000)), newRecipient(server.WithPaginationLimit(1000))
	many(r, 500)
	many(c, 500)
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	control := listenHTTP(t, server.NewStreamableHTTPServer(plain(c.server)), c.ran)
	for _, http2 := range []bool{false, true} {
		ts := httptest.NewUnstartedServer(h)
		ts.EnableHTTP2 = http2
		ts.StartTLS()
		l := &httpLine{url: ts.URL, ran: r.ran, client: ts.Client()}
		a, want := l.exchange(t, modern, request{method: "tools/list"}), control.exchange(t, modern, request{method: "tools/list"})
		if a, want := unpublished(t, a, want); a.raw != want.raw || len(a.raw) < 10_000 {
			t.Errorf("HTTP/2 %t: %d bytes, want %d", http2, len(a.raw), len(want.raw))
		}
		for _, e := range eras {
			cell := namedLine{"HTTP JSON", l}
			checkRefused(t, cell, e, l.exchange(t, e, call("export", labelX)), "1", refusal(rejectedX, bySelfUser))
		}
		resp, err := l.client.Head(l.url)
		if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != map[bool]int{false: 1, true: 2}[http2] {
			t.Errorf("HEAD: %v %v", resp, err)
		}
		resp.Body.Close()
		ts.Close()
	}
}

// TestCase43Compressed: inside chi's compressor a list, an accepted and a refused
// call come out whole.
func TestCase43Compressed(t *testing.T) {
	r := newRecipient(server.WithPaginationLimit(1000))
	many(r, 50)
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	router := chi.NewRouter()
	router.Use(chimiddleware.Compress(5))
	router.Handle("/*", h)
	l := listenHTTP(t, router, r.ran)
	get := func(req request) string {
		header := headers(modern, req, "")
		header.Set("Accept-Encoding", "gzip")
		resp := l.post(t, deadline(t), req.body(modern), header)
		defer resp.Body.Close()
		if resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: not compressed", req.method)
		}
		b, err := io.ReadAll(plainBody(t, resp))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := get(request{method: "tools/list"}); !json.Valid([]byte(got)) || strings.Count(got, keyFlowPolicy) != 53 {
		t.Errorf("%d policies in %d bytes", strings.Count(got, keyFlowPolicy), len(got))
	}
	if got := get(call("export", labelX)); got != `{"jsonrpc":"2.0","id":1,"error":`+refusal(rejectedX, bySelfUser)+"}\n" {
		t.Errorf("%s", got)
	}
}

// TestCase44NoSecondRoute: spellings of the endpoint beside the mounted one reach
// nothing.
func TestCase44NoSecondRoute(t *testing.T) {
	r := newRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	for _, slashes := range []bool{false, true} {
		router := chi.NewRouter()
		if slashes {
			router.Use(chimiddleware.CleanPath, chimiddleware.StripSlashes)
		}
		router.Handle("/mcp", h)
		l := listenHTTP(t, router, r.ran)
		base := l.url
		for _, path := range []string{"/mcp", "/mcp/", "//mcp", "/mcp/%2e%2e/mcp", "/MCP", "/mcp?x=1", "/%6dcp"} {
			l.url = base + path
			req := call("export", labelX)
			resp := l.post(t, deadline(t), req.body(modern), headers(modern, req, ""))
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK && !strings.Contains(string(body), keyFlowViolation) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
		sameCounts(t, r.ran.take())
	}
}

// TestCase45HeadersAndBody: the policy is chosen from the body. A header that says
// something else is mcp-go's to refuse, or to ignore.
func TestCase45HeadersAndBody(t *testing.T) {
	r := newRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	for _, e := range eras {
		session := ""
		if e == legacy {
			session = l.open(t)
		}
		for _, name := range []string{"search", "=?base64?c2VhcmNo?=", "=?base64?ZXhwb3J0?=", "export", ""} {
			req := call("export", labelV)
			header := headers(e, req, session)
			header.Set("Mcp-Name", name)
			header.Set("Mcp-Method", map[bool]string{true: "ping", false: "tools/call"}[name == ""])
			resp := l.post(t, deadline(t), req.body(e), header)
			a := readAnswer(t, resp, func(json.RawMessage) {})
			resp.Body.Close()
			if got := a.reply(t); got.Error == nil {
				t.Errorf("%s %q: %s", e, name, a.messages)
			}
			// mcp-go decodes the header once, so this one agrees.
			if got := a.reply(t); name == "=?base64?ZXhwb3J0?=" && string(got.Error) != refusal(rejectedV, bySelfUser) {
				t.Errorf("%s %q: %s", e, name, a.messages)
			}
		}
	}
	sameCounts(t, r.ran.take())
}

// TestCase46Framing: a refusal inside a stream is one event of two lines, whatever
// the label holds; and descriptions with line breaks survive.
func TestCase46Framing(t *testing.T) {
	r, c := newRecipient(server.WithPaginationLimit(1000)), newRecipient(server.WithPaginationLimit(1000))
	many(r, 3)
	many(c, 3)
	h, err := middleware.Handler(r.server, config(), server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran).streaming()
	control := listenHTTP(t, server.NewStreamableHTTPServer(plain(c.server), server.WithHTTPContextFunc(markStream)), c.ran).streaming()
	sameAnswer(t, l.exchange(t, modern, request{method: "tools/list"}), control.exchange(t, modern, request{method: "tools/list"}))
	hostile := `{"contributors":[{"principal":"https://a.example/\r\n\r\ndata: {}","assurance":"verified\r\n"},{"principal":"https://a.example/\u2028","assurance":"unverified"}],"complete":true}`
	a := l.exchange(t, modern, call("export", hostile))
	checkRefused(t, namedLine{"HTTP SSE", l}, modern, a, "1", refusal(rejectedBare, bySelfUser))
}

// TestCase47LongLines: lines of five mebibytes, CRLF and a last line without an
// end, on stdio.
func TestCase47LongLines(t *testing.T) {
	r := newRecipient()
	r.try(middleware.AddTool(r.server, mcp.NewTool("sink"), noPolicy, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("sink")
		return mcp.NewToolResultText(strconv.Itoa(len(req.GetString("x", "")))), nil
	}))
	g, err := middleware.New(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenPipe(t, r, g)
	long := func(tool, label, id string) string {
		req := request{id: id, method: "tools/call", params: `"name":"` + tool + `","arguments":{"x":"` + strings.Repeat(`\"yyyyyyyyyyyyyy`, 5<<16) + `"}`, label: label}
		return req.body(legacy)
	}
	l.send(t, long("sink", labelU, "1")+"\r")
	if got := text(t, answer{messages: []json.RawMessage{l.next(t)}}); got != strconv.Itoa(15*5<<16) {
		t.Errorf("the tool got %s bytes", got)
	}
	l.send(t, long("export", labelX, "2"))
	if m := l.next(t); string(m) != `{"jsonrpc":"2.0","id":2,"error":`+refusal(rejectedX, bySelfUser)+`}` {
		t.Errorf("%.200s", m)
	}
	sameCounts(t, r.ran.take(), "sink")
	last := call("export", labelX)
	last.id = "3"
	if _, err := io.WriteString(l.in, last.body(legacy)); err != nil {
		t.Fatal(err)
	}
	l.in.Close()
	if m := l.next(t); string(m) != `{"jsonrpc":"2.0","id":3,"error":`+refusal(rejectedX, bySelfUser)+`}` {
		t.Errorf("%.200s", m)
	}
}

// TestCase48TasksOfOthers: what mcp-go lets a session do with another's task is
// what it lets it do through the gate, whatever the labels.
func TestCase48TasksOfOthers(t *testing.T) {
	run := func(gated bool) []string {
		r := newRecipient()
		var h http.Handler
		if !gated {
			h = server.NewStreamableHTTPServer(plain(r.server))
		} else {
			var err error
			if h, err = middleware.Handler(r.server, config()); err != nil {
				t.Fatal(err)
			}
		}
		l := listenHTTP(t, h, r.ran)
		owner, other := l.open(t), l.open(t)
		var created struct {
			Task struct{ TaskID string }
		}
		a := l.exchangeIn(t, legacy, asTask("texport").with(labelU), owner)
		if err := json.Unmarshal(a.reply(t).Result, &created); err != nil || created.Task.TaskID == "" {
			t.Fatalf("%s", a.messages)
		}
		l.wait(t, "task:ended")
		var out []string
		for _, m := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			for _, session := range []string{owner, other} {
				got := l.exchangeIn(t, legacy, request{method: m, params: `"taskId":"` + created.Task.TaskID + `"`, label: labelX}, session).reply(t)
				text := string(got.Error)
				if got.Result != nil {
					text = "a result"
				}
				out = append(out, m+": "+strings.ReplaceAll(text, created.Task.TaskID, "ID"))
			}
		}
		return out
	}
	if got, want := run(true), run(false); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
