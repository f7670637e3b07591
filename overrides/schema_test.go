package overrides_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

type closed struct{}

func (closed) Load(url string) (any, error) { return nil, errors.New("nothing is fetched: " + url) }

// published compiles the schema as somebody else would: from the file alone.
var published = sync.OnceValues(func() (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(overrides.Schema()))
	if err != nil {
		return nil, err
	}
	if err := c.AddResource("https://anywhere.example/overrides.schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("https://anywhere.example/overrides.schema.json")
})

func schemaAccepts(t testing.TB, v any) bool {
	t.Helper()
	schema, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v) == nil
}

// documents are texts in JSON. What the schema says of one differs from what Parse says
// only where finer is set: the schema cannot see the mistake.
var documents = []struct {
	text        string
	good, finer bool
}{
	{`{"flowgate":1}`, true, false},
	{`{"flowgate":1,"tools":{},"prompts":{},"resources":{},"templates":{},"prefixes":{}}`, true, false},
	{`{"flowgate":1,"uri":"URN:mcp:users","default":{"acceptFrom":[]},"mode":"report","dangerouslyLoosen":true,"dangerouslyReportUndeclared":true}`, true, false},
	{`{"flowgate":1,"tools":{"a":{"mode":"off"},"b":{"acceptFrom":["self"]},"c":{"acceptFrom":[],"mode":"enforce","optional":false}}}`, true, false},
	{`{"flowgate":1,"resources":{"x://a?b#c":{"mode":"off"}},"templates":{"x://{a}{?b}":{"acceptFrom":["user"]}},"prefixes":{"x://a/":{"mode":"off"}}}`, true, false},
	{`{"flowgate":1,"default":{"acceptFrom":["publisher:https://p.example/","com.example.tier:gold","urn:mcp:user"]}}`, true, false},

	{`null`, false, false},
	{`[]`, false, false},
	{`{}`, false, false},
	{`{"flowgate":2}`, false, false},
	{`{"flowgate":"1"}`, false, false},
	{`{"flowgate":true}`, false, false},
	{`{"flowgate":1,"Mode":"off"}`, false, false},
	{`{"flowgate":1,"mode":"Off"}`, false, false},
	{`{"flowgate":1,"mode":""}`, false, false},
	{`{"flowgate":1,"mode":null}`, false, false},
	{`{"flowgate":1,"uri":""}`, false, false},
	{`{"flowgate":1,"uri":"records"}`, false, false},
	{`{"flowgate":1,"uri":"urn:mcp:user"}`, false, false},
	{`{"flowgate":1,"uri":"URN:MCP:host"}`, false, false},
	{`{"flowgate":1,"default":null}`, false, false},
	{`{"flowgate":1,"default":{}}`, false, false},
	{`{"flowgate":1,"default":{"acceptFrom":["self"],"mode":"off"}}`, false, false},
	{`{"flowgate":1,"default":{"acceptFrom":["Self"]}}`, false, false},
	{`{"flowgate":1,"default":{"acceptFrom":["self","self"]}}`, false, false},
	{`{"flowgate":1,"dangerouslyLoosen":"true"}`, false, false},
	{`{"flowgate":1,"tools":[]}`, false, false},
	{`{"flowgate":1,"tools":{"a":{}}}`, false, false},
	{`{"flowgate":1,"tools":{"a":{"optional":true}}}`, false, false},
	{`{"flowgate":1,"tools":{"a":{"mode":"off","optional":1}}}`, false, false},
	{`{"flowgate":1,"tools":{"":{"mode":"off"}}}`, false, false},
	{`{"flowgate":1,"tools":{"a":{"acceptFrom":null}}}`, false, false},
	{`{"flowgate":1,"tools":{"a":{"acceptFrom":[null]}}}`, false, false},
	{`{"flowgate":1,"resources":{"x://a":{"mode":"off","optional":false}}}`, false, false},
	{`{"flowgate":1,"resources":{"a":{"mode":"off"}}}`, false, false},
	{`{"flowgate":1,"resources":{"x://{a}":{"mode":"off"}}}`, false, false},

	{`{"flowgate":1.0}`, false, true},
	{`{"flowgate":10e-1}`, false, true},
	{`{"flowgate":1,"default":{"acceptFrom":["https://h","HTTPS://H/"]}}`, false, true},
	{`{"flowgate":1,"resources":{"x://a":{"mode":"off"},"X://A":{"mode":"off"}}}`, false, true},
	{`{"flowgate":1,"resources":{"x://%":{"mode":"off"}}}`, false, true},
	{`{"flowgate":1,"templates":{"x://{*a}":{"mode":"off"}}}`, false, true},
	{`{"flowgate":1,"prefixes":{"x://a":{"mode":"off"}}}`, false, true},
}

func TestSchema(t *testing.T) {
	for _, row := range documents {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(row.text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := overrides.Parse(".json", []byte(row.text)); (err == nil) != row.good {
			t.Errorf("Parse says %v of %s", err, row.text)
		}
		if got := schemaAccepts(t, v); got != (row.good || row.finer) {
			t.Errorf("the schema says %v of %s", got, row.text)
		}
	}
	for _, text := range []string{everything["o.json"]} {
		v, _ := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if !schemaAccepts(t, v) {
			t.Errorf("the schema refuses %s", text)
		}
	}
}

// FuzzSchema holds the schema against Parse on any JSON: what Parse accepts the schema
// accepts, and what Parse refuses it refuses unless it cannot see why.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(everything["o.json"]))
	for _, row := range documents {
		f.Add([]byte(row.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil || len(text) > overrides.MaxBytes {
			return
		}
		_, faults := overrides.Validate(".json", text)
		if slices.ContainsFunc(faults, func(f overrides.Fault) bool { return f.Rule == "L8" }) {
			return // the schema is asked about one of two values, and Parse about the other
		}
		switch accepts := schemaAccepts(t, v); {
		case len(faults) == 0 && !accepts:
			t.Fatalf("the schema refuses %s", text)
		case accepts && slices.ContainsFunc(faults, func(f overrides.Fault) bool { return !unseen(f) }):
			t.Fatalf("the schema accepts %s, Parse says %v", text, faults)
		}
	})
}

// unseen says, in the plainest way, what a schema cannot see.
func unseen(f overrides.Fault) bool {
	pattern := strings.HasPrefix(f.Path, "resources[") || strings.HasPrefix(f.Path, "templates[") || strings.HasPrefix(f.Path, "prefixes[")
	inPolicy := strings.Contains(f.Path, "acceptFrom")
	switch {
	case f.Rule == policydecl.RuleJSON: // the text, not the value
		return true
	case f.Path == "flowgate":
		return f.Reason == flowerrors.ReasonUnsupported && strings.ContainsAny(f.Value, ".eE")
	case f.Path == "" && f.Reason == flowerrors.ReasonType: // not UTF-8, or with a byte order mark
		return strings.HasPrefix(f.Detail, "the file ")
	case inPolicy:
		return f.Reason == flowerrors.ReasonDuplicate
	case pattern:
		return f.Value != "" && f.Reason != flowerrors.ReasonType && f.Reason != flowerrors.ReasonUnknownMember && f.Reason != flowerrors.ReasonUnknownToken
	}
	return false
}

// What the schema shares with that of policies is the same.
func TestSchemaOfPolicies(t *testing.T) {
	text, err := fs.ReadFile(policydecl.Schemas(), "flow-policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]any `json:"$defs"`
	}
	var policy, ours schema
	if json.Unmarshal(text, &policy) != nil || json.Unmarshal(overrides.Schema(), &ours) != nil {
		t.Fatal("a schema is not JSON")
	}
	own := []string{"acceptFrom", "mode", "pattern", "target"}
	for name, def := range policy.Defs {
		if !reflect.DeepEqual(ours.Defs[name], def) {
			t.Errorf("$defs/%s differs", name)
		}
	}
	if len(policy.Defs) == 0 || len(ours.Defs) != len(policy.Defs)+len(own) {
		t.Errorf("%d definitions, %d of policies", len(ours.Defs), len(policy.Defs))
	}
	list, _ := ours.Defs["acceptFrom"].(map[string]any)
	for key, want := range policy.Properties["acceptFrom"].(map[string]any) {
		if !reflect.DeepEqual(list[key], want) {
			t.Errorf("acceptFrom: %s differs", key)
		}
	}
}

// rootMembers are the members of the root, as the schema names them.
func rootMembers(t *testing.T) []string {
	t.Helper()
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(overrides.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// The schema is the caller's to change.
func TestSchemaIsACopy(t *testing.T) {
	clear(overrides.Schema())
	if !json.Valid(overrides.Schema()) {
		t.Error("a caller has changed the schema")
	}
}
