//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// documents are judged by the published schemas in another language, and by flowgate. What
// a schema cannot say is not among them.
var documents = []struct {
	schema string
	value  string
	valid  bool
}{
	{"flow-policy", `{"acceptFrom":[]}`, true},
	{"flow-policy", `{"acceptFrom":["self","user","publisher:https://acme.example/p.json","https://h:8443/x?y","urn:mcp:user","com.example.tier:gold"]}`, true},
	{"flow-policy", `{"acceptFrom":["User"]}`, false},
	{"flow-policy", `{"acceptFrom":["https://*"]}`, false},
	{"flow-policy", `{"acceptFrom":["user\n"]}`, false},
	{"flow-policy", `{"acceptFrom":["com.example.tier:gold\n"]}`, false},
	{"flow-policy", `{"acceptFrom":["publisher:acme"]}`, false},
	{"flow-policy", `{"acceptFrom":["https://[::1]:65535/","https://[2001:db8::1.2.3.4]"]}`, true},
	{"flow-policy", `{"acceptFrom":["https://h:65536/"]}`, false},
	{"flow-policy", `{"acceptFrom":["user"],"also":1}`, false},
	{"flow-policy", `["user"]`, false},
	{"flow-origin", `{"contributors":[{"assurance":"user","principal":"urn:mcp:user","x":[1]}],"complete":true,"y":{"z":null}}`, true},
	{"flow-origin", `{"contributors":[{"assurance":"user"}]}`, true},
	{"flow-origin", `{"contributors":[]}`, false},
	{"flow-origin", `{"contributors":[{"assurance":"USER"}]}`, false},
	{"flow-origin", `{"contributors":[{"assurance":"user"}],"Complete":true}`, false},
	{"flow-origin", `{"contributor\u017f":1,"contributors":[{"assurance":"user"}]}`, false},
	{"flow-origin", `{"contributors":[{"assurance":"user"}],"x":[[[[[[[[]]]]]]]]}`, false},
	{"flow-policy-violation", `{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self"]}`, true},
	{"flow-policy-violation", `{"rejected":[{"principal":"https://h"}],"acceptFrom":["self"]}`, false},
	{"tool", `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^[^]*$"}}},"flowPolicy":{"acceptFrom":["self"]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["self"]}}}`, true},
	{"tool", `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"strng"}}}}`, false},
	{"tool", `{"name":"t","inputSchema":{"type":"array"}}`, false},
	{"tool", `{"name":"t","inputSchema":{"type":"object"},"flow_policy":{}}`, false},
	{"tool", `{"name":"t","inputSchema":{"type":"object"},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["self"]}}}`, false},
	{"resource", `{"uri":"records://customers","name":"c"}`, true},
	{"resource", `{"uri":"customers","name":"c"}`, false},
	{"resource-template", `{"uriTemplate":"records://customers/{id}","name":"c","flowPolicy":{"acceptFrom":["user"]}}`, true},
	{"prompt", `{"name":"p","arguments":[{"name":"a","required":true}]}`, true},
	{"prompt", `{"name":"p","arguments":[{}]}`, false},
}

func TestSchemasInAjv(t *testing.T) {
	dir, node := nodeDir(t)
	type document struct {
		Schema string          `json:"schema"`
		Value  json.RawMessage `json:"value"`
	}
	input := struct {
		Dir       string     `json:"dir"`
		Documents []document `json:"documents"`
	}{Dir: "../../policydecl/schema"}
	for _, d := range documents {
		input.Documents = append(input.Documents, document{d.schema, json.RawMessage(d.value)})
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(testContext(t), node, "schemas.mjs")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(text), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var verdicts []bool
	if err := json.Unmarshal(out, &verdicts); err != nil || len(verdicts) != len(documents) {
		t.Fatalf("%s: %v", out, err)
	}
	for i, d := range documents {
		if verdicts[i] != d.valid || (len(faults(d.schema, d.value)) == 0) != d.valid {
			t.Errorf("%s %s: ajv says %v, flowgate finds %v", d.schema, d.value, verdicts[i], faults(d.schema, d.value))
		}
	}
}

func faults(schema, value string) []policydecl.Fault {
	raw := []byte(value)
	switch schema {
	case "flow-policy":
		return policydecl.ValidatePolicy(raw)
	case "flow-origin":
		return policydecl.ValidateLabel(raw, policydecl.Limits{})
	case "flow-policy-violation":
		return policydecl.ValidateViolation(raw)
	}
	kinds := map[string]policydecl.TargetKind{
		"tool": policydecl.Tool, "resource": policydecl.Resource, "resource-template": policydecl.Template, "prompt": policydecl.Prompt,
	}
	return policydecl.ValidateDeclaration(kinds[schema], raw)
}
