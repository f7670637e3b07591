package policydecl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	mirrorAt  = "/_meta/io.modelcontextprotocol~1flowPolicy"
)

func tool(inputSchema string) string { return `{"name":"t","inputSchema":` + inputSchema + `}` }

// declarations are declarations with every fault they have.
var declarations = []struct {
	kind policydecl.TargetKind
	raw  string
	want []string
}{
	// Without fault.
	{policydecl.Tool, tool(`{"type":"object"}`), nil},
	{policydecl.Tool, tool(`{"$schema":"` + draft2020 + `","type":"object","properties":{"a":{"type":["string","null"],"pattern":"^(?=a)"},"b":true},"required":["a"],"additionalProperties":false}`), nil},
	{policydecl.Tool, `{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"x","readOnlyHint":true},
		"execution":{"taskSupport":"optional"},"icons":[{"src":"https://h/i.png","sizes":["48x48"],"theme":"dark"}],"_meta":{"a":1},"defer_loading":true}`, nil},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["self"]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["self"]}}}`, nil},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":[]}}`, nil},
	{policydecl.Resource, `{"uri":"records://customers","name":"c","size":3,"mimeType":"text/csv","annotations":{"audience":["user"],"priority":0.5},"flowPolicy":{"acceptFrom":["user"]}}`, nil},
	{policydecl.Resource, `{"uri":"x:{}","name":"c"}`, nil},
	{policydecl.Template, `{"uriTemplate":"records://customers/{id}","name":"c","flowPolicy":{"acceptFrom":["user"]}}`, nil},
	{policydecl.Template, `{"uriTemplate":"records://{;list*}","name":"c"}`, nil},
	{policydecl.Prompt, `{"name":"p","arguments":[{"name":"a","required":true}],"flowPolicy":{"acceptFrom":["user"]}}`, nil},

	// Recursive schemas that go into the value, and references within the text.
	{policydecl.Tool, tool(`{"type":"object","properties":{"child":{"$ref":"#"},"more":{"items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"$anchor":"here","properties":{"x":{"$ref":"#here"}}}}}`), nil},
	{policydecl.Tool, tool(`{"type":"object","$id":"https://x.example/root","properties":{"a":{"$ref":"https://x.example/b"},"c":{"$ref":"b#/properties/z"}},"$defs":{"b":{"$id":"b","properties":{"z":true}}}}`), nil},
	{policydecl.Tool, tool(`{"type":"object","properties":{"$ref":{"type":"string"},"pattern":{"type":"string"}},"default":{"$ref":"https://x.example/"},"enum":[{"$ref":"file:///etc/passwd"}]}`), nil},
	{policydecl.Tool, tool(`{"type":"object","properties":{"schema":{"$ref":"` + draft2020 + `"}}}`), nil},

	// The policy (D1, P6).
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":null}`, []string{"/flowPolicy P4 wrong-type"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowpolicy":{"acceptFrom":[]}}`, []string{"/flowpolicy D1 unknown-member"}},
	{policydecl.Prompt, `{"name":"p","flow_policy":{},"_Flow-Policy_":1,"flow policy":1}`, []string{"/_Flow-Policy_ D1 unknown-member", "/flow_policy D1 unknown-member"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["User",7]}}`, []string{"/flowPolicy/acceptFrom/0 P1 unknown-token", "/flowPolicy/acceptFrom/1 P6 wrong-type"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["self"]}}}`, []string{mirrorAt + " D1 conflict"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["self"]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user"]}}}`, []string{mirrorAt + " D1 conflict"}},
	{policydecl.Prompt, `{"name":"p","flowPolicy":{"acceptFrom":[]},"_meta":{"io.modelcontextprotocol/flowPolicy":{}}}`, []string{mirrorAt + "/acceptFrom P6 missing", mirrorAt + " D1 conflict"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"_meta":{"io.modelcontextprotocol/FlowPolicy":1}}`, []string{"/_meta/io.modelcontextprotocol~1FlowPolicy D1 unknown-member"}},
	{policydecl.Resource, `{"uri":"records://{id}","name":"c","flowPolicy":{"acceptFrom":["user"]}}`, []string{"/uri P6 never-matches"}},
	{policydecl.Template, `{"uriTemplate":"records://{;list}","name":"c","flowPolicy":{"acceptFrom":["user"]}}`, []string{"/uriTemplate R2 unsupported"}},

	// The shape.
	{policydecl.Tool, `[]`, []string{" MCP wrong-type"}},
	{policydecl.Tool, `{}`, []string{" MCP missing"}},
	{policydecl.Tool, `{"name":"","inputSchema":{}}`, []string{"/inputSchema MCP missing", "/name MCP missing"}},
	{policydecl.Tool, `{"name":1,"title":null,"description":[],"inputSchema":true,"outputSchema":1,"annotations":{"readOnlyHint":1},"execution":{"taskSupport":"x"},"icons":[{},1],"_meta":1}`, []string{
		"/_meta MCP wrong-type", "/annotations/readOnlyHint MCP wrong-type", "/description MCP wrong-type", "/execution/taskSupport MCP unknown-token", "/icons/0 MCP missing", "/icons/1 MCP wrong-type",
		"/inputSchema MCP wrong-type", "/name MCP wrong-type", "/outputSchema MCP wrong-type", "/title MCP wrong-type",
	}},
	{policydecl.Resource, `{"uri":"customers","name":"c","size":-1,"annotations":{"audience":["model"],"priority":2}}`, []string{
		"/annotations/audience/0 MCP unknown-token", "/annotations/priority MCP wrong-type", "/size MCP wrong-type", "/uri MCP wrong-type",
	}},
	{policydecl.Template, `{"uriTemplate":"records://{","name":"c"}`, []string{"/uriTemplate MCP unusable-uri"}},
	{policydecl.Template, `{"uriTemplate":"","name":"c"}`, []string{"/uriTemplate MCP missing"}},
	{policydecl.Prompt, `{"name":"p","arguments":[{"required":"yes"}]}`, []string{"/arguments/0 MCP missing", "/arguments/0/required MCP wrong-type"}},
	{policydecl.Prompt, `{"name":"p","":"0"}`, nil},
	{policydecl.Template, `{"uriTemplate":"{+url}","name":"c"}`, nil},
	{policydecl.Template, `{"uriTemplate":"{+url}","name":"c","flowPolicy":{"acceptFrom":[]}}`, []string{"/uriTemplate P6 unusable-uri"}},
	{policydecl.Prompt, `{"name":"p","name":"q"}`, []string{"/name L8 duplicate"}},
	{policydecl.Prefix, `{"name":"p"}`, []string{" MCP unsupported"}},
	{0, `{"name":"p"}`, []string{" MCP unsupported"}},

	// The schema.
	{policydecl.Tool, tool(`{"type":null}`), []string{"/inputSchema/type MCP wrong-type"}},
	{policydecl.Tool, tool(`{"type":""}`), []string{"/inputSchema/type MCP unknown-token"}},
	{policydecl.Tool, tool(`{"type":"object","items":[{}]}`), []string{"/inputSchema/items JSON Schema 2020-12 wrong-type"}},
	{policydecl.Tool, tool(`{"type":"string"}`), []string{"/inputSchema/type MCP unknown-token"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"type":"strng"},"b":{"minLength":-1},"c":3,"d":{"required":"x"},"e":{"required":["a","a"]},"f":{"multipleOf":0},"g":{"anyOf":[]}}}`), []string{
		"/inputSchema/properties/a/type JSON Schema 2020-12 unknown-token", "/inputSchema/properties/b/minLength JSON Schema 2020-12 wrong-type", "/inputSchema/properties/c JSON Schema 2020-12 wrong-type",
		"/inputSchema/properties/d/required JSON Schema 2020-12 wrong-type", "/inputSchema/properties/e/required JSON Schema 2020-12 duplicate", "/inputSchema/properties/f/multipleOf JSON Schema 2020-12 wrong-type",
		"/inputSchema/properties/g/anyOf JSON Schema 2020-12 missing",
	}},
	{policydecl.Tool, tool(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), []string{"/inputSchema/$schema JSON Schema 2020-12 unknown-token"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"$ref":"https://evil.example/s.json"},"b":{"$ref":"file:///etc/passwd"},"c":{"$ref":"other.json"},"d":{"$ref":"#/$defs/none"},"e":{"$ref":"#none"},"f":{"$ref":"http://[::1"},"g":{"$dynamicRef":"https://evil.example/"}}}`), []string{
		"/inputSchema/properties/a/$ref JSON Schema 2020-12 unsupported", "/inputSchema/properties/b/$ref JSON Schema 2020-12 unsupported", "/inputSchema/properties/c/$ref JSON Schema 2020-12 unsupported",
		"/inputSchema/properties/d/$ref JSON Schema 2020-12 missing", "/inputSchema/properties/e/$ref JSON Schema 2020-12 missing", "/inputSchema/properties/f/$ref JSON Schema 2020-12 unusable-uri",
		"/inputSchema/properties/g/$dynamicRef JSON Schema 2020-12 unsupported",
	}},
	{policydecl.Tool, tool(`{"type":"object","$ref":"#"}`), []string{"/inputSchema/$ref JSON Schema 2020-12 conflict"}},
	{policydecl.Tool, tool(`{"type":"object","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}}}`), []string{"/inputSchema/$defs/b/not/$ref JSON Schema 2020-12 conflict"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"pattern":"("}},"patternProperties":{"[":{}}}`), []string{
		"/inputSchema/patternProperties/[ JSON Schema 2020-12 wrong-type", "/inputSchema/properties/a/pattern JSON Schema 2020-12 wrong-type",
	}},
	{policydecl.Tool, tool(`{"type":"object","$defs":{"a":{"$id":"x:y"},"b":{"$id":"x:y"}}}`), []string{"/inputSchema/$defs/b/$id JSON Schema 2020-12 duplicate"}},
	{policydecl.Tool, tool(`{"type":"object","$defs":{"a":{"$anchor":"x"},"b":{"$dynamicAnchor":"x"},"c":{"$id":"c","$anchor":"x"}}}`), []string{"/inputSchema/$defs/b/$dynamicAnchor JSON Schema 2020-12 duplicate"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"},"b":{"$schema":"` + draft2020 + `"}}}`), []string{"/inputSchema/properties/a/$schema JSON Schema 2020-12 unknown-token"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"then":{"$ref":"#/properties/a"}}}}`), nil},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"if":true,"else":{"$ref":"#/properties/a"}}}}`), []string{"/inputSchema/properties/a/else/$ref JSON Schema 2020-12 conflict"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"minLength":1e999999}}}`), []string{"/inputSchema/properties/a/minLength JSON wrong-type"}},
	{policydecl.Tool, tool(`{"type":"object","properties":{"a":{"multipleOf":1e-999999},"b":{"maximum":0.` + strings.Repeat("1", 300) + `}}}`), []string{"/inputSchema/properties/a/multipleOf JSON over-limit", "/inputSchema/properties/b/maximum JSON over-limit"}},
	{policydecl.Tool, `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://evil.example/"}}`, []string{"/outputSchema/$ref JSON Schema 2020-12 unsupported"}},
	{policydecl.Tool, tool(strings.Repeat(`{"type":"object","properties":{"a":`, 130) + `true` + strings.Repeat(`}}`, 130)), []string{"/inputSchema" + strings.Repeat("/properties/a", 127) + "/properties JSON over-limit"}},
}

func TestValidateDeclaration(t *testing.T) {
	for _, row := range declarations {
		faults := policydecl.ValidateDeclaration(row.kind, []byte(row.raw))
		if got := brief(faults); !slices.Equal(got, row.want) {
			t.Errorf("%v %.120s:\n got %q\nwant %q", row.kind, row.raw, got, row.want)
			for _, f := range faults {
				t.Log(f)
			}
		}
		compareDeclaration(t, row.kind, []byte(row.raw))
	}
}

// A text of any size is refused or judged without running out of stack or time.
func TestValidateDeclarationSize(t *testing.T) {
	big := []byte(tool(`{"type":"object","properties":{`+strings.Repeat(`"a":{},`, 1)+`"b":{}}}`) + strings.Repeat(" ", policydecl.MaxDeclarationBytes))
	if got := brief(policydecl.ValidateDeclaration(policydecl.Tool, big)); !slices.Equal(got, []string{" JSON over-limit"}) {
		t.Errorf("%q", got)
	}
	for name, row := range map[string]struct{ raw, want string }{
		// A chain of references, which ends where it began.
		"chain": {many(3900, `{"type":"object","$ref":"#/$defs/a0","$defs":{`, `"a%d":{"$ref":"#/$defs/a%d"}`, `,"a3900":{"$ref":"#/$defs/a0"}}}`),
			"/inputSchema/$defs/a3900/$ref JSON Schema 2020-12 conflict"},
		"subschemas": {many(4001, `{"type":"object","properties":{`, `"a%d":{}`, `}}`), "/inputSchema JSON Schema 2020-12 over-limit"},
		"anchors":    {many(3900, `{"type":"object","$defs":{`, `"a%d":{"$dynamicAnchor":"a%d"}`, `}}`), ""},
		"values":     {many(60_000, `{"type":"object","enum":[`, `1`, `]}`), " MCP over-limit"},
		"long names": {many(5000, `{"type":"object","`+strings.Repeat("n", 4000)+`":[`, `{}`, `]}`), " MCP over-limit"},
		"alternatives": {`{"type":"object","dependencies":` + strings.Repeat(`{"a":{"dependencies":`, 120) + `{"type":7}` + strings.Repeat(`}}`, 120) + `}`,
			"/inputSchema" + strings.Repeat("/dependencies/a", 120) + "/dependencies/type JSON Schema 2020-12 wrong-type"},
		"a long pattern": {`{"type":"object","properties":{"a":{"pattern":"[` + strings.Repeat(`\\pL`, 500_000) + `]"}}}`, ""},
	} {
		got := strings.Join(brief(policydecl.ValidateDeclaration(policydecl.Tool, []byte(tool(row.raw)))), ", ")
		if got != row.want {
			t.Errorf("%s: got %.300q, want %q", name, got, row.want)
		}
	}
	// More mistakes than anybody reads are counted as one.
	faults := policydecl.ValidateDeclaration(policydecl.Tool, []byte(tool(many(2000, `{"type":"object","properties":{`, `"a%d":3`, `}}`))))
	if last := faults[len(faults)-1]; len(faults) != policydecl.MaxFaults || last.Reason != flowerrors.ReasonLimit || last.Pointer != "" {
		t.Errorf("%d faults, the last of which is %v", len(faults), faults[len(faults)-1])
	}
}

// many returns a text with n numbered parts.
func many(n int, head, part, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		switch strings.Count(part, "%d") {
		case 0:
			b.WriteString(part)
		case 1:
			fmt.Fprintf(&b, part, i)
		default:
			next := i
			if strings.Contains(part, "$ref") {
				next++
			}
			fmt.Fprintf(&b, part, i, next)
		}
	}
	b.WriteString(tail)
	return b.String()
}

// FuzzDeclarations compares the schemas of declarations with the Go code.
func FuzzDeclarations(f *testing.F) {
	for _, row := range declarations {
		f.Add(uint8(row.kind), []byte(row.raw))
	}
	f.Add(uint8(policydecl.Prompt), []byte(`{"0":{"":0e0700,"0":{"":0e01000}}}`)) // two numbers that nobody reads
	f.Fuzz(func(t *testing.T, kind uint8, raw []byte) {
		compareDeclaration(t, policydecl.TargetKind(kind), raw)
	})
}

var schemaOf = map[policydecl.TargetKind]string{
	policydecl.Tool: "tool", policydecl.Resource: "resource", policydecl.Template: "resource-template", policydecl.Prompt: "prompt",
}

func compareDeclaration(t *testing.T, kind policydecl.TargetKind, raw []byte) {
	t.Helper()
	faults := policydecl.ValidateDeclaration(kind, raw)
	name := schemaOf[kind]
	if name == "" {
		if len(faults) == 0 {
			t.Fatalf("kind %d without fault", kind)
		}
		return
	}
	v, ok := decodeExact(raw)
	if !ok || hidden(faults) {
		if !ok && len(faults) == 0 {
			t.Fatalf("no JSON, and no fault in %q", raw)
		}
		return
	}
	obj, _ := v.(map[string]any)
	meta, _ := obj["_meta"].(map[string]any)
	if sameTokens(obj[policydecl.PolicyMember]) || sameTokens(meta[policydecl.PolicyKey]) {
		if len(faults) == 0 {
			t.Fatalf("equal tokens were missed in %q", raw)
		}
		return
	}
	said := 0
	for _, f := range faults {
		wellFormed(t, v, f)
		if sayable(f) {
			said++
		}
	}
	if accepts := schemaAccepts(t, name, v); accepts != (said == 0) {
		t.Fatalf("%s: the schema says %v of %q, the Go code finds %v", name, accepts, raw, faults)
	}
}

// sayable reports whether a schema can see a fault. Each that cannot is named in the $comment
// of a schema.
func sayable(f policydecl.Fault) bool {
	switch {
	case f.Reason == flowerrors.ReasonLimit && f.Rule != "P6":
		return false
	case f.Rule == "D1" && f.Reason == flowerrors.ReasonConflict:
		return !strings.Contains(f.Detail, "differs")
	case f.Pointer == "/uri" || f.Pointer == "/uriTemplate":
		return f.Rule == policydecl.RuleMCP && f.Reason != flowerrors.ReasonURI
	case f.Rule == policydecl.RuleSchema:
		if strings.HasSuffix(f.Pointer, "/$schema") {
			return strings.Count(f.Pointer, "/") == 2
		}
		for _, text := range []string{"it leads ", "comes back to itself", "regular expression", "it is no URI", "calls itself the same", "too many subschemas"} {
			if strings.Contains(f.Detail, text) {
				return false
			}
		}
		return f.Hint != "correct the schema" // what only compiling it brings to light
	}
	return true
}
