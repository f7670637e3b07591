package middleware_test

import (
	"encoding/json"
	"strings"
)

// Protocol constants, spelt out so that the tests read the wire and not the code
// under test.
const (
	keyFlowOrigin    = "io.modelcontextprotocol/flowOrigin"
	keyFlowViolation = "io.modelcontextprotocol/flowPolicyViolation"
	keyFlowPolicy    = "io.modelcontextprotocol/flowPolicy"
)

// era is one of the two ways to speak the protocol.
type era string

const (
	legacy era = "2025-11-25" // initialize, and a session over HTTP
	modern era = "2026-07-28" // stateless
)

var eras = []era{legacy, modern}

// The labels of the matrix, as JSON texts. An absent one is empty.
const (
	labelNone       = ``
	labelU          = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`
	labelV          = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://partner.example/mcp","assurance":"verified"}],"complete":true}`
	labelX          = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://fetch.example/mcp","assurance":"unverified"}],"complete":true}`
	labelIncomplete = `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}]}`
	labelMalformed  = `"user"`
)

// request is one JSON-RPC request before an era is chosen.
type request struct {
	id     string // JSON text; "1" when empty
	method string
	params string // members of params without braces and without _meta
	label  string // JSON text of the label, "" for none
	meta   string // further members of _meta, without braces
	caps   string // JSON text of the client's capabilities in the modern era, "{}" when empty
	name   string // what the modern era repeats in Mcp-Name
}

// call is CALL(t,L) of the field cases.
func call(tool, label string) request {
	return request{method: "tools/call", params: `"name":"` + tool + `","arguments":{}`, label: label, name: tool}
}

func read(uri, label string) request {
	return request{method: "resources/read", params: `"uri":"` + uri + `"`, label: label, name: uri}
}

func (r request) rawID() string {
	if r.id == "" {
		return "1"
	}
	return r.id
}

func (r request) with(label string) request {
	r.label = label
	return r
}

// paramsJSON is the request's params.
func (r request) paramsJSON(e era) string {
	var meta []string
	if e == modern {
		caps := r.caps
		if caps == "" {
			caps = "{}"
		}
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}`, `"io.modelcontextprotocol/clientCapabilities":`+caps)
	}
	if r.label != "" {
		meta = append(meta, `"`+keyFlowOrigin+`":`+r.label)
	}
	if r.meta != "" {
		meta = append(meta, r.meta)
	}
	var members []string
	if r.params != "" {
		members = append(members, r.params)
	}
	if len(meta) > 0 {
		members = append(members, `"_meta":{`+strings.Join(meta, ",")+`}`)
	}
	return `{` + strings.Join(members, ",") + `}`
}

// body is the whole message on one line.
func (r request) body(e era) string {
	return `{"jsonrpc":"2.0","id":` + r.rawID() + `,"method":"` + r.method + `","params":` + r.paramsJSON(e) + `}`
}

// envelope is a message from the server.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// The outcomes of the table, each written by hand (X2). refusal assembles the
// whole error object.
func refusal(rejected, acceptFrom string) string {
	return `{"code":403,"message":"Request rejected by flow policy","data":{"` + keyFlowViolation + `":{"rejected":[` + rejected + `],"acceptFrom":[` + acceptFrom + `]}}}`
}

const (
	byDefault  = `"self","user","host","verified"`
	bySelfUser = `"self","user"`
	byUser     = `"user"`

	rejectedBare = `{"assurance":"unverified"}`
	rejectedV    = `{"assurance":"verified","principal":"https://partner.example/mcp"}`
	rejectedX    = `{"assurance":"unverified","principal":"https://fetch.example/mcp"}`
)

// labelRow says what each kind of policy thinks of a label: the rejected set, or
// "" when it accepts.
type labelRow struct {
	name, label             string
	default_, self_, strict string
}

var labels = []labelRow{
	{"none", labelNone, rejectedBare, rejectedBare, rejectedBare},
	{"user", labelU, "", "", ""},
	{"verified", labelV, "", rejectedV, rejectedV},
	{"unverified", labelX, rejectedX, rejectedX, rejectedX},
	{"incomplete", labelIncomplete, rejectedBare, rejectedBare, rejectedBare},
	{"malformed", labelMalformed, rejectedBare, rejectedBare, rejectedBare},
}

// refusalFor is the expected error object for a policy, "" for accepted.
func (l labelRow) refusalFor(policy string) string {
	rejected := map[string]string{byDefault: l.default_, bySelfUser: l.self_, byUser: l.strict}[policy]
	if rejected == "" {
		return ""
	}
	return refusal(rejected, policy)
}

// route is one way to reach a handler, or a side effect.
type route struct {
	name    string
	request request
	policy  string // its acceptFrom
	runs    string // the handler that an accepted request runs
	effects []string
	only    era // the era that knows the method, "" for both
	endless bool
}

var routes = []route{
	{name: "tool", request: call("search", ""), policy: byDefault, runs: "search"},
	{name: "strict tool", request: call("export", ""), policy: bySelfUser, runs: "export"},
	{name: "optional task tool, at once", request: call("hexport", ""), policy: bySelfUser, runs: "hexport"},
	{name: "optional task tool, as a task", request: asTask("hexport"), policy: bySelfUser, runs: "hexport", effects: []string{"task:created", "task:ended"}},
	{name: "task tool", request: asTask("texport"), policy: bySelfUser, runs: "texport", effects: []string{"task:created", "task:ended"}},
	{name: "static resource", request: read("records://customers", ""), policy: bySelfUser, runs: "customers"},
	{name: "template", request: read("notes://item/7", ""), policy: byDefault, runs: "item"},
	{name: "query template", request: read("notes://export?data=x", ""), policy: byUser, runs: "note"},
	{name: "catch-all", request: read("file:///public/a", ""), policy: byDefault, runs: "file"},
	{name: "prefix", request: read("file:///secret/key", ""), policy: byUser, runs: "file"},
	{name: "subscribe", request: request{method: "resources/subscribe", params: `"uri":"records://customers?leak=ada"`},
		policy: bySelfUser, effects: []string{"hook:subscribe", "hook:subscribed"}, only: legacy},
	{name: "listen", request: request{method: "subscriptions/listen", params: `"notifications":{"resourceSubscriptions":["notes://item/1","records://customers"]}`},
		policy: bySelfUser, effects: []string{"hook:listen"}, only: modern, endless: true},
	{name: "prompt", request: request{method: "prompts/get", params: `"name":"brief"`, name: "brief"}, policy: byUser, runs: "brief"},
	{name: "prompt completion", request: complete(`{"type":"ref/prompt","name":"brief"}`), policy: byUser, runs: "complete prompt"},
	{name: "template completion", request: complete(`{"type":"ref/resource","uri":"notes://item/{id}"}`), policy: byDefault, runs: "complete resource"},
	{name: "strict template completion", request: complete(`{"type":"ref/resource","uri":"notes://export{?data}"}`), policy: byUser, runs: "complete resource"},
	{name: "resource completion", request: complete(`{"type":"ref/resource","uri":"records://customers"}`), policy: bySelfUser, runs: "complete resource"},
}

// firstPolicy is the policy that the refusal of a request names. Of a listen with
// several URIs the first that refuses decides.
func (r route) firstPolicy(l labelRow) string {
	if r.endless && l.default_ != "" {
		return byDefault // notes://item/1 comes first
	}
	return r.policy
}

func asTask(tool string) request {
	return request{method: "tools/call", params: `"name":"` + tool + `","arguments":{},"task":{}`, name: tool}
}

func complete(ref string) request {
	return request{method: "completion/complete", params: `"ref":` + ref + `,"argument":{"name":"id","value":"a"}`}
}
