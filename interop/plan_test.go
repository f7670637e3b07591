package interop

import (
	"encoding/json"
	"fmt"
	"testing"
)

// The protocol eras: with initialize, and stateless.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// The names of the draft are written out here as a client knows them, not taken from
// flowgate's constants: they are what both sides have to agree on.
const (
	labelKey     = "io.modelcontextprotocol/flowOrigin"
	policyKey    = "io.modelcontextprotocol/flowPolicy"
	extensionKey = "io.modelcontextprotocol/flow"
)

// label is an origin label and what a policy that refuses it says was wrong.
type label struct {
	name     string
	text     string // as JSON; empty is no label
	rejected string // as JSON; empty means that every policy here accepts it
}

// labels come in this order for each target, so that in every session accepted
// requests come after refused ones, and again.
var labels = []label{
	{name: "none", rejected: `{"assurance":"unverified"}`},
	{
		name: "stranger",
		text: `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},` +
			`{"principal":"https://fetch.example/mcp","assurance":"unverified"}],"complete":true}`,
		rejected: `{"assurance":"unverified","principal":"https://fetch.example/mcp"}`,
	},
	{name: "user", text: `{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}`},
}

// target is one thing that a client can ask for.
type target struct {
	method  string
	params  map[string]any
	handler string // that runs if it is accepted
	policy  string // the tokens that it accepts, as JSON
	want    string // part of the accepted answer
}

// server is one of the example servers.
type server struct {
	name    string
	lists   map[string]map[string]string // method, name, published tokens; none for the default
	targets []target
	writes  bool // it needs a directory to write to
}

const (
	selfOrUser = `["self","user"]`
	userOnly   = `["user"]`
	byDefault  = `["self","user","host","verified"]`
	none       = ""
)

var servers = []server{
	{
		name: "records-server",
		lists: map[string]map[string]string{
			"tools/list": {
				"search_records": none, "slow_scan": none, "export_records": selfOrUser, "delete_record": userOnly,
				"debug_dump": `["host"]`, "report_records": selfOrUser, "archive_records": selfOrUser,
			},
			"resources/list":           {"customers": selfOrUser},
			"resources/templates/list": {"customer": selfOrUser, "records": none},
			"prompts/list":             {"summarize_customer": userOnly},
		},
		targets: []target{
			tool("export_records", "table", "products", selfOrUser, "Seed drill manual"),
			resource("records://customers/c-001", "records://customers/{id}", selfOrUser, "Ada Lindqvist"),
			{
				"prompts/get", map[string]any{"name": "summarize_customer", "arguments": map[string]any{"id": "c-001"}},
				"summarize_customer", userOnly, "Ada Lindqvist",
			},
		},
	},
	{
		// This one has no prompts and declares no policy: the default governs it.
		name: "webfetch-server",
		lists: map[string]map[string]string{
			"tools/list":               {"fetch_page": none, "upload_blob": none},
			"resources/list":           {},
			"resources/templates/list": {"note": none},
		},
		targets: []target{
			tool("upload_blob", "content", "kept", byDefault, "stored "),
			resource("notes://export?data=kept", "notes://export{?data}", byDefault, "stored "),
		},
		writes: true,
	},
}

func tool(name, arg, value, policy, want string) target {
	params := map[string]any{"name": name, "arguments": map[string]any{arg: value}}
	return target{"tools/call", params, name, policy, want}
}

func resource(uri, handler, policy, want string) target {
	return target{"resources/read", map[string]any{"uri": uri}, handler, policy, want}
}

func (s server) args(t *testing.T) []string {
	if !s.writes {
		return nil
	}
	return []string{"-dir", t.TempDir()}
}

// step is one request of a plan, and what its answer must be: a list, the policy's
// refusal, or the target's result.
type step struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`

	list   map[string]string
	raw    bool // sent and read by the client without types of its own
	target target
	label  label
}

func (s step) String() string {
	if s.list != nil {
		return s.Method
	}
	return fmt.Sprintf("%s with label %s", s.Method, s.label.name)
}

// plan is what every client does: it looks at what there is, and then asks for each
// target with every label.
func (s server) plan() []step {
	var steps []step
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		if list, ok := s.lists[method]; ok {
			steps = append(steps, step{Method: method, Params: map[string]any{}, list: list})
		}
	}
	for _, target := range s.targets {
		for _, l := range labels {
			steps = append(steps, step{Method: target.method, Params: l.on(target.params), target: target, label: l})
		}
	}
	return steps
}

// on returns params with the label in their _meta.
func (l label) on(params map[string]any) map[string]any {
	all := map[string]any{}
	for k, v := range params {
		all[k] = v
	}
	if l.text != "" {
		all["_meta"] = map[string]any{labelKey: json.RawMessage(l.text)}
	}
	return all
}

// ran is how often each handler must have run at the end of a plan.
func (s server) ran() map[string]int {
	counts := make(map[string]int)
	for _, step := range s.plan() {
		if step.list == nil && step.label.rejected == "" {
			counts[step.target.handler]++
		}
	}
	return counts
}
