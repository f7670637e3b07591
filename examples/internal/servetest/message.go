package servetest

import (
	"encoding/json"
	"slices"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Era is a protocol era.
type Era string

// The protocol eras: with initialize, and stateless.
const (
	Legacy Era = "2025-11-25"
	Modern Era = "2026-07-28"
)

// Eras are both of them.
var Eras = []Era{Legacy, Modern}

// Label is an origin label as JSON text; None sends no label.
type Label string

// None is no label at all. User is the user alone, Partner the user and
// another verified server, Stranger the user and an unverified one.
const (
	None     Label = ""
	User     Label = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`
	Partner  Label = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":true}`
	Stranger Label = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://fetch.example/mcp","assurance":"unverified"}],"complete":true}`
)

// Params are the parameters of a request.
type Params map[string]any

// Message is a JSON-RPC message from a server.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int                        `json:"code"`
	Message string                     `json:"message"`
	Data    map[string]json.RawMessage `json:"data"`
}

// request builds a request in the given era.
func request(t testing.TB, era Era, id int, method string, params Params, label Label) []byte {
	t.Helper()
	meta, _ := params["_meta"].(Params)
	all, metaAll := Params{}, Params{}
	for k, v := range params {
		all[k] = v
	}
	for k, v := range meta {
		metaAll[k] = v
	}
	if era == Modern {
		metaAll["io.modelcontextprotocol/protocolVersion"] = string(Modern)
		metaAll["io.modelcontextprotocol/clientCapabilities"] = Params{}
		metaAll["io.modelcontextprotocol/clientInfo"] = Params{"name": "servetest", "version": "1"}
	}
	if label != None {
		metaAll[policydecl.LabelKey] = json.RawMessage(label)
	}
	if len(metaAll) > 0 {
		all["_meta"] = metaAll
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Reply is everything that came back for one request.
type Reply struct {
	Message
	Before []Message // what came before the answer, such as notifications
}

// MustResult decodes the result into v and fails the test if there is none.
func (r *Reply) MustResult(t testing.TB, v any) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("error %d %s, data %s", r.Error.Code, r.Error.Message, r.Error.Data)
	}
	if err := json.Unmarshal(r.Result, v); err != nil {
		t.Fatalf("result %s: %v", r.Result, err)
	}
}

// MustFail returns the error and fails the test if there is none, or if it is
// a refusal by flow policy.
func (r *Reply) MustFail(t testing.TB) *Error {
	t.Helper()
	if r.Error == nil {
		t.Fatalf("no error but %s", r.Result)
	}
	if _, flow := r.Error.Data[flowerrors.ViolationKey]; flow {
		t.Fatalf("refused by flow policy: %s", r.Error.Data)
	}
	return r.Error
}

// MustBeRefused fails the test unless the answer is a refusal by flow policy
// under the given acceptFrom.
func (r *Reply) MustBeRefused(t testing.TB, acceptFrom ...string) {
	t.Helper()
	if r.Error == nil {
		t.Fatalf("not refused: %s", r.Result)
	}
	if r.Error.Code != flowerrors.DefaultCode || r.Error.Message != flowerrors.Message {
		t.Errorf("error %d %q", r.Error.Code, r.Error.Message)
	}
	var violation struct {
		Rejected   []flowerrors.Rejected `json:"rejected"`
		AcceptFrom []string              `json:"acceptFrom"`
	}
	if err := json.Unmarshal(r.Error.Data[flowerrors.ViolationKey], &violation); err != nil {
		t.Fatalf("no violation in %s: %v", r.Error.Data, err)
	}
	if len(violation.Rejected) == 0 {
		t.Error("nothing is named as rejected")
	}
	if !slices.Equal(violation.AcceptFrom, acceptFrom) {
		t.Errorf("acceptFrom %q, want %q", violation.AcceptFrom, acceptFrom)
	}
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// Text returns the first text of the result.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// Client is one way to reach a server.
type Client interface {
	Call(t testing.TB, era Era, method string, params Params, label Label) *Reply
}

// CallTool calls a tool and returns what it answers.
func CallTool(t testing.TB, c Client, era Era, name string, args Params, label Label) *Reply {
	t.Helper()
	return c.Call(t, era, "tools/call", Params{"name": name, "arguments": args}, label)
}
