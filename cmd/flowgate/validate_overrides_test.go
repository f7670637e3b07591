package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOverridesAreRecognised(t *testing.T) {
	for _, tt := range []struct {
		text, kind string
		status     int
		want       string
	}{
		{`{"flowgate":1}`, "", 0, "holds   overrides\n\nno findings\n"},
		{`{"flowgate":1,"tools":[]}`, "", 1, "  /tools: wrong-type"},
		{`{"flowgate":1,"tools":{"a":{"mode":"enforce"}},"uri":"https://h.example/"}`, "", 0, "holds   overrides\n"},
		{`{"flowgate":1,"inputSchema":{},"name":"t"}`, "", 1, "  /inputSchema: unknown-member"},
		{`{"name":"t","inputSchema":{"type":"object"},"flowgate":1}`, "tool", 0, "holds   tool\n"},
		{`{"mode":"off"}`, "", 2, "it has the members mode; say with -kind whether it is a tool, resource, template, prompt, policy, label, violation or overrides"},
		{`{"mode":"off"}`, "overrides", 1, "  /flowgate: missing: "},
		{`[]`, "overrides", 1, `(root): wrong-type: "(array)": overrides are an object`},
		{"flowgate: 1\nmode: off\n", "", 0, "holds   overrides\n"},
		{"# ours\n\n\"flowgate\" : 1\nmod: off\n", "", 1, `  /mod: unknown-member: "mod": no such member (line 4); write "mode" [P6]`},
		{"--- flowgate: 1\n", "", 1, "holds   overrides\n"},
		{"mode: off\n", "", 2, "not valid JSON"},
		{"mode: off\n", "overrides", 1, "  /flowgate: missing: "},
		{"flowgate: [\n", "", 1, "not valid YAML, here or just below"},
		{"flowgate: 1 # \x1b[31m\n", "", 1, "not valid YAML"},
		{`{"flowgate":1,}`, "", 2, "not valid JSON"},
		{`{"flowgate":1}{}`, "overrides", 2, "something follows the JSON value"},
		{"", "overrides", 2, "cannot read standard input: it is empty"},
	} {
		validateText(t, tt.text, tt.kind).wants(t, tt.status, tt.want)
	}
}

// By its name a file is one of overrides, whatever is in it.
func TestOverridesByName(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		status     int
		want       string
	}{
		{"a.yaml", "mode: off", 1, "/flowgate: missing"},
		{"a.yml", "rubbish: [", 1, "not valid YAML"},
		{"a.YAML", `{"flowgate":1}`, 0, "holds   overrides\n"},
		{"a.yaml", "\ufeffflowgate: 1", 1, "a byte order mark"},
		{"a.yaml", "id: 1\n", 1, "/id: unknown-member"}, // and no stream of events
		{"a.yaml", " \n", 2, "it is empty"},
		{"a.json", "flowgate: 1", 2, "not valid JSON"},
		{"a.conf", "flowgate: 1", 0, "holds   overrides\n"},
		{"a.json", "\ufeff{\"flowgate\":1}", 2, "byte order mark"},
	} {
		file := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		flowgate(t, "validate", file).wants(t, tt.status, tt.want)
	}
}

// What only the server can judge is named, and what the switches give away is told loudly.
func TestOverridesNotes(t *testing.T) {
	const judge = "these could loosen what the server's code says, which the server judges when it starts or is given the file; "
	const says = "whether these accept more than the server's code does, the server says when it starts: "
	var many strings.Builder
	for i := range 25 {
		fmt.Fprintf(&many, ` "t%02d": {acceptFrom: [user], mode: report},`, i)
	}
	for text, want := range map[string][]string{
		"flowgate: 1": nil,
		"flowgate: 1\nmode: enforce\ndefault: {acceptFrom: [self]}\ntools: {a: {mode: enforce}, b: {acceptFrom: [user]}, c: {acceptFrom: []}}": {says + `default, tools["b"]`},
		"flowgate: 1\nuri: https://a.example/\nmode: off\ndefault: {acceptFrom: [self]}\ntools: {\"\\e\": {mode: report, acceptFrom: [user]}}": {
			"uri says where the server is, and so whom self means; it takes the place of the URI in the server's code without any switch",
			judge + `it refuses the file if one of them does: mode (off), tools["\x1b"].mode (report)`,
			says + `default, tools["\x1b"]`,
		},
		"flowgate: 1\ndangerouslyReportUndeclared: true": {
			"WARNING: dangerouslyReportUndeclared is on: requests of hosts that say they never label are let through and only recorded",
			judge + "it refuses the file if one of them does: dangerouslyReportUndeclared",
		},
		"flowgate: 1\ndangerouslyLoosen: true\ndefault: {acceptFrom: [tofu]}\nprompts: {a: {acceptFrom: [user]}}": {
			"takes the place of what the server's code says, also where the code refuses what this lets through",
			`these may accept more than the server's code does, and with dangerouslyLoosen the server takes them: default, prompts["a"]`,
		},
		"flowgate: 1\ndangerouslyLoosen: true\nmode: off": {
			"WARNING: dangerouslyLoosen is on: what this file says takes the place of what the server's code says, also where the code refuses what this lets through",
			judge + "with dangerouslyLoosen it takes them all: mode (off)",
		},
		"flowgate: 1\ntools: {" + many.String() + "}": {`tools["t19"].mode (report) and 5 more`, `tools["t19"] and 5 more`},
	} {
		r := flowgateWith(t.Context(), t, text, "validate", "-json", "-")
		var out validateJSON
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.status != 0 || len(out.Notes) != len(want) {
			t.Fatalf("%v, status %d, %q", err, r.status, out.Notes)
		}
		for i, note := range out.Notes {
			if !strings.HasSuffix(note, want[i]) {
				t.Errorf("%q\nis not %q", note, want[i])
			}
			validateText(t, text, "").wants(t, 0, note+".\n\n")
		}
	}
}
