package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// D1: what is wrong elsewhere in a declaration is nothing that a host could mistake its
// policy for, unless it keeps the declaration from being read.
func TestAboutPolicy(t *testing.T) {
	const policy = `,"flowPolicy":{"acceptFrom":["user"]}`
	const key = `"io.modelcontextprotocol/flowPolicy"`
	within := func(what string) string {
		return `{"name":"a","inputSchema":{"type":"object","properties":{` + what + `}}` + policy + `}`
	}
	var many []string
	for i := range 2 * policydecl.MaxFaults {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"strng"}`, i))
	}
	for name, tt := range map[string]struct {
		text         string
		about, other int // how many of its mistakes are of either kind
	}{
		"nothing":                     {tool("a", policy), 0, 0},
		"a token":                     {tool("a", `,"flowPolicy":{"acceptFrom":["User"]}`), 1, 0},
		"no object":                   {tool("a", `,"flowPolicy":7`), 1, 0},
		"a member more":               {tool("a", `,"flowPolicy":{"acceptFrom":[],"x":1}`), 1, 0},
		"almost the name":             {tool("a", `,"flow_policy":{"acceptFrom":[]}`), 1, 0},
		"almost the key":              {tool("a", policy+`,"_meta":{"io.modelcontextprotocol/flow-policy":{}}`), 1, 0},
		"a copy alone":                {tool("a", `,"_meta":{`+key+`:{"acceptFrom":["user"]}}`), 1, 0},
		"a copy with a mistake":       {tool("a", policy+`,"_meta":{`+key+`:{"acceptFrom":["User"]}}`), 2, 0},
		"the policy twice":            {tool("a", policy+policy), 1, 0},
		"_meta twice":                 {tool("a", policy+`,"_meta":{},"_meta":{`+key+`:{"acceptFrom":[]}}`), 1, 0},
		"the name twice":              {tool("a", policy+`,"name":"b"`), 1, 0},
		"a member of a schema, twice": {within(`"x":{"type":"object","type":"string"}`), 1, 0},
		"no UTF-8":                    {tool("a", policy+",\"x\":\"\xff\""), 1, 0},
		"a number too large":          {tool("a", policy+`,"x":1e99999`), 1, 0},
		"nested too deep":             {tool("a", policy+`,"x":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)), 1, 0},
		"too many values":             {tool("a", policy+`,"x":[0`+strings.Repeat(",0", policydecl.MaxDeclarationValues)+`]`), 1, 0},
		"no declaration":              {`7`, 1, 0},
		"no name":                     {`{"inputSchema":{"type":"object"}` + policy + `}`, 0, 1},
		"no schema":                   {`{"name":"a"` + policy + `}`, 0, 1},
		"another member":              {tool("a", policy+`,"annotations":7`), 0, 1},
		"a member of the schema that is called so": {within(`"flowPolicy":{"type":"strng"},` + key + `:{"type":"strng"},"_meta":{"type":"strng"}`), 0, 3},
		"more than are reported":                   {within(strings.Join(many, ",")), 0, policydecl.MaxFaults},
	} {
		about, other := 0, 0
		faults := policydecl.ValidateDeclaration(policydecl.Tool, []byte(tt.text))
		for i := range faults {
			if inspect.AboutPolicy(&faults[i]) {
				about++
			} else {
				other++
			}
		}
		if about != tt.about || other != tt.other {
			t.Errorf("%s: %d mistakes about the policy and %d others, want %d and %d: %q", name, about, other, tt.about, tt.other, faults[:min(len(faults), 3)])
		}
	}
	// A name that only begins so is nobody's policy.
	if inspect.AboutPolicy(&policydecl.Fault{Pointer: "/flowPolicyOfOthers", Rule: policydecl.RuleMCP}) {
		t.Error("another member counts as the policy")
	}
}
