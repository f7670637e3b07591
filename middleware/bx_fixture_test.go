package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The recipient of the field cases: tools, resources, templates, a prompt and
// completions, each with the policy that the cases give it.

const (
	bxURI = "https://records.example/mcp"

	bxUser = `{"principal":"urn:mcp:user","assurance":"user"}`
	bxU    = `{"contributors":[` + bxUser + `],"complete":true}`
	bxX    = `{"contributors":[` + bxUser + `,{"principal":"https://fetch.example/mcp","assurance":"unverified"}],"complete":true}`
	bxV    = `{"contributors":[` + bxUser + `,{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":true}`

	bxModernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
)

// bxRun is one run of a handler.
type bxRun struct {
	what string // such as "tool export" or "resource static records://customers"
	args string // raw arguments of a tool call
}

// bxFix is a gated server that notes what runs.
type bxFix struct {
	srv  *server.MCPServer
	gate *middleware.Gate

	mu   sync.Mutex
	runs []bxRun
}

func (f *bxFix) note(what, args string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, bxRun{what, args})
}

// took returns what ran since the last call.
func (f *bxFix) took() []bxRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := f.runs
	f.runs = nil
	return runs
}

func (f *bxFix) tool(name string) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, _ := req.GetRawArguments().(json.RawMessage)
		f.note("tool "+name, string(raw))
		return mcp.NewToolResultText("ran " + name), nil
	}
}

func (f *bxFix) resource(name string) server.ResourceHandlerFunc {
	return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		f.note("resource "+name+" "+req.Params.URI, "")
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "read"}}, nil
	}
}

func (f *bxFix) prompt(name string) server.PromptHandlerFunc {
	return func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		f.note("prompt "+name, "")
		return &mcp.GetPromptResult{}, nil
	}
}

// CompletePromptArgument makes the fixture a completion provider.
func (f *bxFix) CompletePromptArgument(_ context.Context, name string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	f.note("completion prompt "+name, "")
	return &mcp.Completion{Values: []string{"a"}}, nil
}

// CompleteResourceArgument makes the fixture a completion provider.
func (f *bxFix) CompleteResourceArgument(_ context.Context, uri string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	f.note("completion resource "+uri, "")
	return &mcp.Completion{Values: []string{"a"}}, nil
}

// bxConfig is what the fixture's gate is made with.
func bxConfig() middleware.Config {
	return middleware.Config{URI: bxURI, Logger: slog.New(slog.DiscardHandler)}
}

// bxServer returns the fixture's server without a gate, and without policies when
// open is true.
func bxServer(t testing.TB, open bool) *bxFix {
	t.Helper()
	f := &bxFix{}
	f.srv = server.NewMCPServer("records", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithTaskCapabilities(true, true, true), server.WithCompletions(),
		server.WithPromptCompletionProvider(f), server.WithResourceCompletionProvider(f))
	policy := func(tokens ...string) policydecl.Policy {
		if open {
			return policydecl.Policy{}
		}
		return policydecl.AcceptFrom(tokens...)
	}
	withTask := func(name string, s mcp.TaskSupport) mcp.Tool {
		tool := mcp.NewTool(name)
		tool.Execution = &mcp.ToolExecution{TaskSupport: s}
		return tool
	}
	err := func(errs ...error) {
		t.Helper()
		for _, e := range errs {
			if e != nil {
				t.Fatal(e)
			}
		}
	}
	f.srv.AddTool(mcp.NewTool("search"), f.tool("search"))
	err(middleware.AddTool(f.srv, mcp.NewTool("export"), policy("self", "user"), f.tool("export")),
		middleware.AddTool(f.srv, withTask("hexport", mcp.TaskSupportOptional), policy("self", "user"), f.tool("hexport")),
		middleware.AddTaskTool(f.srv, withTask("texport", mcp.TaskSupportRequired), policy("self", "user"),
			func(context.Context, mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
				f.note("tool texport", "")
				return &mcp.CreateTaskResult{}, nil
			}),
		middleware.AddResource(f.srv, mcp.NewResource("records://customers", "customers"), policy("self", "user"), f.resource("static")),
		middleware.AddResourceTemplate(f.srv, mcp.NewResourceTemplate("notes://export{?data}", "note"), policy("user"), server.ResourceTemplateHandlerFunc(f.resource("export"))),
		middleware.AddPrompt(f.srv, mcp.NewPrompt("brief"), policy("user"), f.prompt("brief")))
	f.srv.AddResourceTemplate(mcp.NewResourceTemplate("notes://item/{id}", "item"), server.ResourceTemplateHandlerFunc(f.resource("item")))
	f.srv.AddResourceTemplate(mcp.NewResourceTemplate("file:///{+path}", "files"), server.ResourceTemplateHandlerFunc(f.resource("file")))
	if !open {
		err(middleware.Govern(f.srv, policydecl.Prefix, "file:///secret/", policydecl.AcceptFrom("user")))
	}
	return f
}

// bxNew returns the gated fixture. more may register more before the gate is made.
func bxNew(t testing.TB, more ...func(f *bxFix, cfg *middleware.Config)) *bxFix {
	t.Helper()
	f := bxServer(t, false)
	cfg := bxConfig()
	for _, m := range more {
		m(f, &cfg)
	}
	g, err := middleware.New(f.srv, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.gate = g
	return f
}

// bxMsg builds a request. params are members without braces; label is the label's
// JSON text, or "" for none.
func bxMsg(id, method, params, label string, modern bool) string {
	var meta []string
	if label != "" {
		meta = append(meta, `"`+policydecl.LabelKey+`":`+label)
	}
	if modern {
		meta = append(meta, bxModernMeta)
	}
	if len(meta) > 0 {
		if params != "" {
			params += ","
		}
		params += `"_meta":{` + strings.Join(meta, ",") + `}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
}

// bxCall is CALL(tool, label) of the cases.
func bxCall(tool, label string) string {
	return bxMsg("1", "tools/call", `"name":"`+tool+`","arguments":{}`, label, false)
}

// bxReply is what a peer gets for one message.
type bxReply struct {
	status int // HTTP only
	header http.Header
	body   string
}

// handler serves the fixture over HTTP without sessions.
func (f *bxFix) handler(t testing.TB) *middleware.HTTPHandler {
	t.Helper()
	h, err := f.gate.Handler(server.WithStateLess(true))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// post sends one body to h without a network. Headers of the 2026-07-28 era are set
// when the body says that it belongs there.
func bxPost(h http.Handler, body string, header ...string) bxReply {
	req := httptest.NewRequest(http.MethodPost, "http://records.example/mcp", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if strings.Contains(body, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
		var m struct {
			Method string
			Params json.RawMessage
		}
		_ = json.Unmarshal([]byte(body), &m)
		req.Header.Set(mcp.HeaderProtocolVersion, "2026-07-28")
		req.Header.Set(mcp.HeaderMethod, m.Method)
		if name, ok := mcp.ExtractHeaderName(mcp.MCPMethod(m.Method), m.Params); ok {
			req.Header.Set(mcp.HeaderName, name)
		}
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return bxReply{w.Code, w.Result().Header, w.Body.String()}
}

// stdio feeds input to the gated server and returns the lines it wrote until the
// end of the input.
func (f *bxFix) stdio(t testing.TB, input string) []string {
	t.Helper()
	return f.stdioFrom(t, strings.NewReader(input))
}

func (f *bxFix) stdioFrom(t testing.TB, in io.Reader) []string {
	t.Helper()
	var out bytes.Buffer
	if err := f.gate.Listen(context.Background(), in, &out, server.WithErrorLogger(log.New(io.Discard, "", 0))); err != nil {
		t.Errorf("Listen: %v", err)
	}
	if out.Len() == 0 {
		return nil
	}
	if !strings.HasSuffix(out.String(), "\n") {
		t.Errorf("the last line has no end: %.200q", out.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// direct sends the message to the server itself, past every wrapped transport.
func (f *bxFix) direct(msg string) string {
	resp := f.srv.HandleMessage(context.Background(), json.RawMessage(msg))
	if resp == nil {
		return ""
	}
	b, err := json.Marshal(resp)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// bxAnswer is a JSON-RPC answer with its parts as text.
type bxAnswer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func bxParse(t testing.TB, text string) bxAnswer {
	t.Helper()
	var a bxAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("no JSON-RPC answer: %v: %.300q", err, text)
	}
	if a.JSONRPC != "2.0" || (a.Result == nil) == (a.Error == nil) {
		t.Fatalf("no JSON-RPC answer: %.300q", text)
	}
	return a
}

// verdict names an answer as the cases do: ALLOW, DENY or REJECT; "" for none.
func bxVerdict(t testing.TB, text string) string {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	a := bxParse(t, text)
	if a.Error == nil {
		return "ALLOW"
	}
	if len(a.Error) > 1<<20 {
		return "REJECT" // mcp-go echoes a name; a refusal is never that long
	}
	if _, ok, err := flowerrors.ReadViolation(a.Error); err != nil {
		t.Fatalf("a refusal nobody can read: %v: %s", err, a.Error)
	} else if ok {
		return "DENY"
	}
	return "REJECT"
}

// bxWays are the ways to send one message and get the answer to it, with the name
// of the way. Those over HTTP take either era.
func (f *bxFix) ways(t testing.TB) map[string]func(msg string) string {
	h := f.handler(t)
	return map[string]func(msg string) string{
		"HTTP": func(msg string) string { return bxPost(h, msg).body },
		"stdio": func(msg string) string {
			lines := f.stdio(t, msg+"\n")
			if len(lines) > 1 {
				t.Errorf("%d answers: %.300q", len(lines), lines)
			}
			return strings.Join(lines, "\n")
		},
		"unwrapped": f.direct,
	}
}

// bxExpect sends msg on every way and checks verdict and handler. want is ALLOW,
// DENY, REJECT, "DENY or REJECT", or "" for no answer. An unwrapped server cannot
// give DENY its form, so REJECT will do there. ran is what must have run, "" for
// nothing.
func (f *bxFix) expect(t *testing.T, msg, want, ran string) {
	t.Helper()
	for name, send := range f.ways(t) {
		f.took()
		body := send(msg)
		got := bxVerdict(t, body)
		ok := got == want || want == "DENY or REJECT" && (got == "DENY" || got == "REJECT") ||
			name == "unwrapped" && want == "DENY" && got == "REJECT"
		if !ok {
			t.Errorf("%s: %q, want %q; sent %.300s; got %.300s", name, got, want, msg, body)
		}
		var want []string
		if ran != "" {
			want = []string{ran}
		}
		var whats []string
		for _, r := range f.took() {
			whats = append(whats, r.what)
		}
		if !slices.Equal(whats, want) {
			t.Errorf("%s: ran %q, want %q; sent %.300s", name, whats, want, msg)
		}
	}
}

// bxEras runs the test once per protocol era.
func bxEras(t *testing.T, test func(t *testing.T, modern bool)) {
	for _, modern := range []bool{false, true} {
		name := "2025-11-25"
		if modern {
			name = "2026-07-28"
		}
		t.Run(name, func(t *testing.T) { test(t, modern) })
	}
}
