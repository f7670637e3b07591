package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// bxWrites counts the writes of one HTTP answer.
type bxWrites struct {
	*httptest.ResponseRecorder
	writes []string
}

// Write counts.
func (w *bxWrites) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return w.ResponseRecorder.Write(p)
}

// One message is one write: a JSON body over HTTP, an event on a stream, a line on
// stdio.
func TestFactOneWrite(t *testing.T) {
	s := server.NewMCPServer("writes", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("big"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Repeat("x", 1<<20)), nil
	})
	s.AddTool(mcp.NewTool("stream"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := s.SendNotificationToClient(ctx, "notifications/message", map[string]any{"x": 1}); err != nil {
			t.Error(err)
		}
		return mcp.NewToolResultText(strings.Repeat("x", 1<<20)), nil
	})
	h := server.NewStreamableHTTPServer(s, server.WithStateLess(true))
	post := func(tool string) *bxWrites {
		w := &bxWrites{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(bxCall(tool, bxU)))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		return w
	}
	if w := post("big"); len(w.writes) != 1 || !json.Valid([]byte(w.writes[0])) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a JSON answer is %d writes", len(w.writes))
	}
	w := post("stream")
	for _, event := range w.writes {
		if !strings.HasPrefix(event, "event: message\ndata: {") || !strings.HasSuffix(event, "}\n\n") || strings.Count(event, "\n") != 3 {
			t.Errorf("an event is written as %.100q", event)
		}
	}
	if n := len(w.writes); n != 2 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("a notification and an answer are %d writes of %s", n, w.Header().Get("Content-Type"))
	}
	r, pipe := io.Pipe()
	out := &bxTell{tell: make(chan struct{}, 9)}
	done := make(chan error, 1)
	go func() { done <- server.NewStdioServer(s).Listen(context.Background(), r, out) }()
	_, _ = io.WriteString(pipe, bxCall("big", bxU)+"\n")
	<-out.tell
	_ = pipe.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if out.writes != 1 || !strings.HasSuffix(out.String(), "}\n") {
		t.Errorf("an answer on stdio is %d writes", out.writes)
	}
}

// bxLines gives out one line at each Read and notes what had been answered by then.
type bxLines struct {
	lines    []string
	out      *bytes.Buffer
	mu       *sync.Mutex
	answered []int
}

// Read gives out one line.
func (r *bxLines) Read(p []byte) (int, error) {
	r.mu.Lock()
	r.answered = append(r.answered, strings.Count(r.out.String(), "\n"))
	r.mu.Unlock()
	if len(r.lines) == 0 {
		return 0, io.EOF
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	return copy(p, line), nil
}

// bxLocked is a writer with a lock.
type bxLocked struct {
	out *bytes.Buffer
	mu  *sync.Mutex
}

// Write appends.
func (w bxLocked) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// On stdio a line that is no JSON is answered before the next is read, and the next
// is not read before mcp-go is done with what it has.
func TestFactParseErrorsComeAtOnce(t *testing.T) {
	out, mu := &bytes.Buffer{}, &sync.Mutex{}
	r := &bxLines{lines: []string{"{\n", "nope\n", "\n", "[1\n", `{"jsonrpc":"2.0","id":1e999,"method":"ping"}` + "\n"}, out: out, mu: mu}
	s := server.NewStdioServer(server.NewMCPServer("lines", "1"))
	s.SetErrorLogger(log.New(io.Discard, "", 0))
	if err := s.Listen(context.Background(), r, bxLocked{out, mu}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.answered, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("answers at each read: %v", r.answered)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`) {
			t.Errorf("answered %s", line)
		}
	}
}

// The text under which mcp-go answers is the one that wire.RawIDKey foretells.
func TestFactIDText(t *testing.T) {
	s := server.NewMCPServer("ids", "1")
	for _, id := range []string{
		`0`, `-0`, `1`, `1.0`, `1.50`, `1e2`, `1E+2`, `1e-7`, `1e21`, `123456789012345`, `1234567890123456789`, `9007199254740993`, `1e308`,
		`""`, `"a"`, `"a b"`, `"\u0041"`, `"é"`, `"<>&"`, `"\u2028"`, `"\ud800"`, `"\/"`, "\"\xff\"", `true`, `{"b":1,"a":[]}`, `[1.0]`,
	} {
		msg := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
		b, err := json.Marshal(s.HandleMessage(context.Background(), json.RawMessage(msg)))
		if err != nil {
			t.Fatal(err)
		}
		key, err := wire.RawIDKey([]byte(id))
		if got := wire.ReadResponse(b); err != nil || string(got.ID) != key || got.Kind != wire.Result {
			t.Errorf("id %s is answered as %s, foretold %s (%v)", id, got.ID, key, err)
		}
	}
}

// A declaration's _meta comes out of every list.
func TestFactMetaIsListed(t *testing.T) {
	meta := func() *mcp.Meta {
		return &mcp.Meta{AdditionalFields: map[string]any{policydecl.PolicyKey: policydecl.AcceptFrom("user", "self")}}
	}
	s := server.NewMCPServer("meta", "1", server.WithResourceCapabilities(true, true))
	tool, task, prompt := mcp.NewTool("a"), mcp.NewTool("b"), mcp.NewPrompt("a")
	resource, template := mcp.NewResource("x:y", "a"), mcp.NewResourceTemplate("x:{y}", "a")
	tool.Meta, task.Meta, prompt.Meta, resource.Meta, template.Meta = meta(), meta(), meta(), meta(), meta()
	s.AddTool(tool, nil)
	s.AddTaskTool(task, nil)
	s.AddPrompt(prompt, nil)
	s.AddResource(resource, nil)
	s.AddResourceTemplate(template, nil)
	for method, n := range map[string]int{"tools/list": 2, "prompts/list": 1, "resources/list": 1, "resources/templates/list": 1} {
		b, err := json.Marshal(s.HandleMessage(context.Background(), json.RawMessage(bxRequest(method, ``))))
		if got := strings.Count(string(b), `"_meta":{"`+policydecl.PolicyKey+`":{"acceptFrom":["user","self"]}}`); err != nil || got != n {
			t.Errorf("%s: %s (%v)", method, b, err)
		}
	}
}

// Policies are found in the Go values that mcp-go hands back: nothing copies _meta
// through JSON on the way.
func TestFactDeclarationsKeepGoValues(t *testing.T) {
	s := server.NewMCPServer("values", "1")
	policy := policydecl.AcceptFrom("user")
	tool := mcp.NewTool("a")
	tool.Meta = &mcp.Meta{AdditionalFields: map[string]any{policydecl.PolicyKey: policy}}
	s.AddTool(tool, nil)
	if got, ok := s.GetTool("a").Tool.Meta.AdditionalFields[policydecl.PolicyKey].(policydecl.Policy); !ok || !slices.Equal(got.Tokens(), policy.Tokens()) {
		t.Errorf("GetTool gives %v", s.GetTool("a").Tool.Meta.AdditionalFields)
	}
	if s.GetTool("none") != nil || s.ListTools()["a"] == nil {
		t.Error("getters")
	}
}

// The methods that the list above calls gated are refused by a policy that accepts
// nothing, and no other is.
func TestFactGatedMethods(t *testing.T) {
	f := bxNew(t, func(_ *bxFix, cfg *middleware.Config) { cfg.Default = policydecl.AcceptFrom() })
	h := f.handler(t)
	names := map[string]string{
		"MethodInitialize": "initialize", "MethodPing": "ping", "MethodServerDiscover": "server/discover", "MethodSubscriptionsListen": "subscriptions/listen",
		"MethodSetLogLevel": "logging/setLevel", "MethodResourcesList": "resources/list", "MethodResourcesTemplatesList": "resources/templates/list",
		"MethodResourcesRead": "resources/read", "MethodResourcesSubscribe": "resources/subscribe", "MethodResourcesUnsubscribe": "resources/unsubscribe",
		"MethodPromptsList": "prompts/list", "MethodPromptsGet": "prompts/get", "MethodToolsList": "tools/list", "MethodToolsCall": "tools/call",
		"MethodTasksGet": "tasks/get", "MethodTasksList": "tasks/list", "MethodTasksResult": "tasks/result", "MethodTasksCancel": "tasks/cancel",
		"MethodCompletionComplete": "completion/complete",
	}
	params := map[string]string{
		"tools/call": `"name":"search"`, "prompts/get": `"name":"brief"`, "completion/complete": `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`,
		"subscriptions/listen": `"notifications":{"resourceSubscriptions":["x:y"]}`, "tasks/get": `"taskId":"x"`, "tasks/result": `"taskId":"x"`, "tasks/cancel": `"taskId":"x"`,
	}
	for constant, m := range bxMethods {
		method := names[constant]
		p := params[method]
		if p == "" {
			p = `"uri":"notes://item/1"`
		}
		if method == "" {
			t.Errorf("no name for %s", constant)
		}
		denied, statuses := false, []int{}
		for _, modern := range []bool{false, true} {
			got := bxPost(h, bxMsg("1", method, p, bxX, modern))
			if strings.HasPrefix(got.body, "{") && bxVerdict(t, got.body) == "DENY" {
				denied = true
				statuses = append(statuses, got.status)
			}
		}
		if denied != m.gated {
			t.Errorf("%s: refused %v, want %v", method, denied, m.gated)
		}
		for _, s := range statuses {
			if s != http.StatusOK {
				t.Errorf("%s: a refusal has status %d (X3)", method, s)
			}
		}
	}
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}
