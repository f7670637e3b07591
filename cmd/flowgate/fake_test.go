package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// request is a request as a server sees it.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// fake is a server over HTTP that says what it is told to.
type fake struct {
	flow   string // capabilities.flow
	policy string // flowPolicy of its one tool
	tools  string // the answer to tools/list, if it is another
	call   func(label string) string
	status int // of HTTP, for tools/call

	version string                                        // of the protocol, as JSON, if it is another
	raw     func(w http.ResponseWriter, id, label string) // writes the whole answer to tools/call

	calls int
}

// The answers of a fake to tools/call.
const (
	ranResult = `"result":{"content":[]}`
	badParams = `"error":{"code":-32602,"message":"missing argument \u001b[31m"}`
)

func refusal(data string) string {
	return `"error":{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":` + data + `}}`
}

func (f *fake) start(t *testing.T) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m request
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var answer string
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		flow := ""
		if f.flow != "" {
			flow = `,"flow":` + f.flow
		}
		answer = `"result":{"protocolVersion":` + cmp.Or(f.version, `"2025-11-25"`) + `,"serverInfo":{"name":"fake","version":"1"},"capabilities":{"tools":{}` + flow + `}}`
	case "tools/list":
		policy := ""
		if f.policy != "" {
			policy = `,"flowPolicy":` + f.policy
		}
		answer = `"result":` + cmp.Or(f.tools, `{"tools":[{"name":"t","inputSchema":{"type":"object"}`+policy+`}]}`)
	case "tools/call":
		f.calls++
		if f.raw != nil {
			f.raw(w, string(m.ID), string(m.Params.Meta[policydecl.LabelKey]))
			return
		}
		answer = f.call(string(m.Params.Meta[policydecl.LabelKey]))
		if f.status != 0 {
			w.WriteHeader(f.status)
			_, _ = io.WriteString(w, answer)
			return
		}
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

const gateURI = "https://gated.example/mcp"

// gated is a real server behind a real gate, with one tool.
func gated(t *testing.T, cfg middleware.Config, policy policydecl.Policy) http.Handler {
	t.Helper()
	s := server.NewMCPServer("gated", "1", server.WithToolCapabilities(true))
	err := middleware.AddTool(s, mcp.NewTool("t"), policy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ran"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.URI, cfg.Logger = gateURI, slog.New(slog.DiscardHandler)
	return middleware.MustHandler(s, cfg)
}

// gateway passes requests on after edit has seen their params, as a proxy does that
// takes messages apart and puts them together again.
func gateway(t *testing.T, backend http.Handler, edit func(params map[string]any)) string {
	t.Helper()
	behind := httptest.NewServer(backend)
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			t.Error(err)
		}
		var m map[string]any
		if json.Unmarshal(body, &m) == nil {
			if params, ok := m["params"].(map[string]any); ok {
				edit(params)
			}
			if body, err = json.Marshal(m); err != nil {
				t.Error(err)
			}
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

// editLabel returns an edit that changes the label only.
func editLabel(edit func(label map[string]any)) func(map[string]any) {
	return func(params map[string]any) {
		meta, _ := params["_meta"].(map[string]any)
		if label, ok := meta[policydecl.LabelKey].(map[string]any); ok {
			edit(label)
		}
	}
}

// eachContributor returns an edit that changes every contributor.
func eachContributor(edit func(c map[string]any)) func(map[string]any) {
	return editLabel(func(label map[string]any) {
		list, _ := label["contributors"].([]any)
		for _, c := range list {
			edit(c.(map[string]any))
		}
	})
}

// bigList is an answer to tools/list of about that many bytes.
func bigList(size int) string {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	description := strings.Repeat("x", 1200)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"t%d","description":"%s","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["user"]}}`, i, description)
	}
	b.WriteString(`]}`)
	return b.String()
}
