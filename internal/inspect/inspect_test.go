package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const everything = `{"capabilities":{"tools":{},"resources":{},"prompts":{},"flow":{"policy":true}}}`

// answers is a server that answers each request with a fixed text, or with an error.
type answers map[string]string

func (a answers) call(_ context.Context, method string, params map[string]any) (json.RawMessage, error) {
	if cursor, ok := params["cursor"].(string); ok {
		method += " " + cursor
	}
	text, ok := a[method]
	switch {
	case ok:
		return json.RawMessage(text), nil
	case strings.HasSuffix(method, "/list"):
		return nil, answered(-32601)
	}
	return nil, fmt.Errorf("unexpected request %s", method)
}

// answered is an error with which a server answers.
type answered int64

func (e answered) Error() string      { return fmt.Sprintf("error %d", int64(e)) }
func (e answered) JSONRPCCode() int64 { return int64(e) }

// run inspects a server that must not be lost.
func run(t *testing.T, hello string, a answers) *inspect.Report {
	t.Helper()
	r, err := inspect.Run(t.Context(), a.call, []byte(hello))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// findings writes everything that is wrong as "where pointer rule reason".
func findings(r *inspect.Report) []string {
	var out []string
	for where, f := range r.All() {
		out = append(out, fmt.Sprintf("%s %s %s %s", where, f.Pointer, f.Rule, f.Reason))
	}
	return out
}

// tool writes a declaration that is right, with more members.
func tool(name, more string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"}` + more + `}`
}

func tools(list ...string) string { return `{"tools":[` + strings.Join(list, ",") + `]}` }

func TestFindings(t *testing.T) {
	const onlyTools = `{"capabilities":{"tools":{},"flow":{"policy":true}}}`
	const mirror = `,"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user"]}}`
	tests := map[string]struct {
		hello string
		tools string
		want  []string
	}{
		"nothing wrong":       {onlyTools, tools(tool("a", `,"flowPolicy":{"acceptFrom":["user"]}`), tool("b", "")), nil},
		"no tools":            {onlyTools, tools(), nil},
		"not an object":       {onlyTools, `[]`, []string{"tools/list  MCP wrong-type"}},
		"null":                {onlyTools, `null`, []string{"tools/list  MCP wrong-type"}},
		"no list":             {onlyTools, `{}`, []string{"tools/list /tools MCP missing"}},
		"list is no array":    {onlyTools, `{"tools":{"a":1}}`, []string{"tools/list /tools MCP wrong-type"}},
		"list twice":          {onlyTools, `{"tools":[],"tools":[]}`, []string{"tools/list /tools L8 duplicate"}},
		"cursor is no string": {onlyTools, `{"tools":[],"nextCursor":null}`, []string{"tools/list /nextCursor MCP wrong-type"}},
		"cursor not UTF-8":    {onlyTools, "{\"tools\":[],\"x\":\"\xff\"}", []string{"tools/list /x JSON wrong-type"}},
		"entry is no object":  {onlyTools, tools(`7`), []string{`tools[""]  MCP wrong-type`}},
		"entry not UTF-8":     {onlyTools, tools("{\"name\":\"\xff\"}"), []string{"tools[\"\\ufffd\"] /name JSON wrong-type"}},
		"member twice":        {onlyTools, tools(`{"name":"a","name":"b","inputSchema":{"type":"object"}}`), []string{`tools["b"] /name L8 duplicate`}},
		"token":               {onlyTools, tools(tool("a", `,"flowPolicy":{"acceptFrom":["User"]}`)), []string{`tools["a"] /flowPolicy/acceptFrom/0 P1 unknown-token`}},
		"mirror differs": {onlyTools, tools(tool("a", `,"flowPolicy":{"acceptFrom":["user"]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["host"]}}`)),
			[]string{`tools["a"] /_meta/io.modelcontextprotocol~1flowPolicy D1 conflict`}},
		"name twice":                       {onlyTools, tools(tool("a", ""), tool("b", ""), tool("a", "")), []string{`tools["a"] /name P6 duplicate`}},
		"not announced":                    {`{"capabilities":{"tools":{}}}`, tools(tool("a", `,"flowPolicy":{"acceptFrom":["user"]}`)), []string{"initialize /capabilities/flow D2 missing"}},
		"under _meta alone, not announced": {`{"capabilities":{"tools":{}}}`, tools(tool("a", mirror), tool("b", mirror), tool("c", "")), []string{"initialize /capabilities/flow D2 missing"}},
		"under _meta alone, with a mistake": {`{"capabilities":{"tools":{}}}`, tools(tool("a", strings.Replace(mirror, "user", "User", 1))),
			[]string{`tools["a"] /_meta/io.modelcontextprotocol~1flowPolicy/acceptFrom/0 P1 unknown-token`, "initialize /capabilities/flow D2 missing"}},
		"under _meta alone, announced": {onlyTools, tools(tool("a", mirror)), []string{`tools["a"] /_meta/io.modelcontextprotocol~1flowPolicy D1 conflict`}},
		"under _meta alone, beside one that is not": {`{"capabilities":{"tools":{}}}`, tools(tool("a", mirror), tool("b", `,"flowPolicy":{"acceptFrom":["user"]}`)),
			[]string{`tools["a"] /_meta/io.modelcontextprotocol~1flowPolicy D1 conflict`, "initialize /capabilities/flow D2 missing"}},
		"announced null":  {`{"capabilities":{"tools":null}}`, `must not be asked for`, nil},
		"hello":           {`7`, ``, []string{"initialize  MCP wrong-type"}},
		"no capabilities": {`{}`, ``, []string{"initialize /capabilities MCP missing"}},
		"forms differ": {`{"capabilities":{"flow":{"policy":true},"extensions":{"io.modelcontextprotocol/flow":{"policy":false}}}}`, ``,
			[]string{"initialize /capabilities/extensions/io.modelcontextprotocol~1flow D2 conflict"}},
		"forms agree": {`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}},"extensions":{"io.modelcontextprotocol/flow":{"default":{"acceptFrom":["\u0075ser"]},"policy":true}}}}`, ``, nil},
		"default":     {`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":"user"}}}}`, ``, []string{"initialize /capabilities/flow/default/acceptFrom P6 wrong-type"}},
		"extension":   {`{"capabilities":{"extensions":{"io.modelcontextprotocol/flow":{"policy":"yes"}}}}`, ``, []string{"initialize /capabilities/extensions/io.modelcontextprotocol~1flow/policy D2 wrong-type"}},
		"flow":        {`{"capabilities":{"flow":true}}`, ``, []string{"initialize /capabilities/flow D2 wrong-type"}},
		"flow twice":  {`{"capabilities":{"flow":{"policy":false},"flow":{"policy":true}}}`, ``, []string{"initialize /capabilities/flow L8 duplicate"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, tt.hello, answers{"tools/list": tt.tools})
			if got := findings(r); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if r.Count() != len(tt.want) {
				t.Errorf("counted %d", r.Count())
			}
			for where, f := range r.All() {
				if text := f.Error(); !printable(text) || !printable(where) {
					t.Errorf("not fit for a terminal: %q %q", where, text)
				}
			}
		})
	}
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// A policy is read as a host reads it (P6), and it is told who says so (P5).
func TestPolicies(t *testing.T) {
	hello := `{"serverInfo":{"name":"n","version":"v"},"capabilities":{"tools":{},"flow":{"policy":true,"default":{"acceptFrom":["host"]}}}}`
	r := run(t, hello, answers{"tools/list": tools(
		tool("own", `,"flowPolicy":{"acceptFrom":["user","nonsense"]}`),
		tool("nobody", `,"flowPolicy":{"acceptFrom":[]}`),
		tool("unreadable", `,"flowPolicy":{"acceptFrom":"user"}`),
		tool("none", ""),
		tool("null", `,"flowPolicy":null`),
		tool("mirror", `,"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["self"]}}`),
	)})
	want := map[string]string{
		"own": "own [user nonsense]", "nobody": "own []", "unreadable": "server [host]",
		"none": "server [host]", "null": "server [host]", "mirror": "own [self]",
	}
	for name, text := range want {
		e := r.Find(policydecl.Tool, name)
		if got := fmt.Sprint(e.Source, " ", e.Policy.Tokens()); got != text {
			t.Errorf("%s: %s, want %s", name, got, text)
		}
	}
	if s := r.Server; s.Name != "n" || s.Version != "v" || !s.Announced || !s.Enforces || !s.HasDefault {
		t.Errorf("%+v", s)
	}
	for _, hello := range []string{
		`{"capabilities":{"tools":{}}}`,
		`{"capabilities":{"tools":{},"flow":{"policy":true}}}`,
		`{"capabilities":{"tools":{},"flow":{"policy":true,"default":{"acceptFrom":"host"}}}}`, // unreadable
	} {
		if r := run(t, hello, answers{"tools/list": tools(tool("a", ""))}); r.Entries[0].Source != inspect.FromDraft {
			t.Errorf("%s: a default that nobody announced is the draft's", hello)
		}
	}
}

func TestAllLists(t *testing.T) {
	r := run(t, everything, answers{
		"tools/list":               `{"tools":[` + tool("a", "") + `],"nextCursor":"2"}`,
		"tools/list 2":             `{"tools":[` + tool("b", "") + `],"nextCursor":""}`,
		"resources/list":           `{"resources":[{"uri":"x://a","name":"a"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"x://{a}","name":"a"}]}`,
		"prompts/list":             `{"prompts":[{"name":"a"}]}`,
	})
	var got []string
	for i := range r.Entries {
		e := &r.Entries[i]
		got = append(got, e.Where()+" "+inspect.Noun(e.Kind)+" "+e.Name)
	}
	want := []string{"tools[0] tool a", "tools[1] tool b", "resources[0] resource x://a", "templates[0] template x://{a}", "prompts[0] prompt a"}
	if !slices.Equal(got, want) || r.Count() != 0 {
		t.Errorf("%q\n%q", got, findings(r))
	}
}

// A server need not know templates; what else it announces it must list.
func TestListsThatAreRefused(t *testing.T) {
	r := run(t, everything, answers{"resources/list": `{"resources":[]}`, "prompts/list": `{"prompts":[]}`})
	if got := findings(r); !slices.Equal(got, []string{"tools/list  MCP unsupported"}) {
		t.Errorf("%q", got)
	}
}

func TestLostServer(t *testing.T) {
	lost := errors.New("gone")
	r, err := inspect.Run(t.Context(), func(ctx context.Context, method string, _ map[string]any) (json.RawMessage, error) {
		if method == "tools/list" {
			return json.RawMessage(tools(tool("a", ""))), nil
		}
		return nil, lost
	}, []byte(everything))
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "resources/list") || len(r.Entries) != 1 {
		t.Errorf("%v, %d entries", err, len(r.Entries))
	}
}

func TestEndlessLists(t *testing.T) {
	const onlyTools = `{"capabilities":{"tools":{}}}`
	big := strings.Repeat(`{"name":"a"},`, 2000)
	full := strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 1000), ",")
	calls := 0
	tests := map[string]struct {
		page   func() string
		reason flowerrors.Reason
		calls  int
	}{
		"cursor repeats": {func() string { return `{"tools":[],"nextCursor":"x"}` }, flowerrors.ReasonDuplicate, 2},
		"endless pages":  {func() string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, calls) }, flowerrors.ReasonLimit, inspect.MaxPages},
		"too many entries": {func() string {
			return fmt.Sprintf(`{"tools":[%s7],"nextCursor":"%d"}`, big, calls)
		}, flowerrors.ReasonLimit, 5},
		"too many entries, in full pages": {func() string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, full, calls)
		}, flowerrors.ReasonLimit, inspect.MaxEntries/1000 + 1},
		"too many bytes": {func() string {
			return fmt.Sprintf(`{"tools":[],"x":"%s","nextCursor":"%d"}`, strings.Repeat("x", 16<<20), calls)
		}, flowerrors.ReasonLimit, 4},
	}
	for name, tt := range tests {
		calls = 0
		r, err := inspect.Run(t.Context(), func(context.Context, string, map[string]any) (json.RawMessage, error) {
			calls++
			return json.RawMessage(tt.page()), nil
		}, []byte(onlyTools))
		if err != nil || calls != tt.calls || len(r.Other) != 1 || r.Other[0].Reason != tt.reason {
			t.Errorf("%s: %v, %d calls, %v", name, err, calls, r.Other)
		}
		if len(r.Entries) > inspect.MaxEntries {
			t.Errorf("%s: %d entries", name, len(r.Entries))
		}
	}
}

// A list that is as long as it may be was looked at to the end, even if that shows only on
// one more page.
func TestListsThatJustFit(t *testing.T) {
	page := strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, inspect.MaxEntries), ",")
	for _, a := range []answers{
		{"tools/list": `{"tools":[` + page + `]}`},
		{"tools/list": `{"tools":[` + page + `],"nextCursor":"2"}`, "tools/list 2": `{"tools":[]}`},
	} {
		r := run(t, `{"capabilities":{"tools":{}}}`, a)
		if len(r.Entries) != inspect.MaxEntries || len(r.Other) != 0 {
			t.Errorf("%d entries, %v", len(r.Entries), r.Other)
		}
	}
}

// What a server nests or repeats without end costs it, not us.
func TestHostileEntries(t *testing.T) {
	const depth = 9000
	deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	list := `["` + strings.Repeat(`nonsense","`, 3*inspect.MaxFaults) + `user"]`
	r := run(t, `{"capabilities":{"tools":{},"flow":{"policy":true}}}`, answers{"tools/list": tools(
		tool("deep", `,"x":`+deep),
		tool("many", `,"flowPolicy":{"acceptFrom":`+list+`}`),
		`{"name":"circle","inputSchema":{"type":"object","$ref":"#"}}`,
		`{"name":"remote","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://elsewhere.example/schema"}}}}`,
	)})
	for name, most := range map[string]int{"deep": 1, "many": inspect.MaxFaults, "circle": 10, "remote": 10} {
		e := r.Find(policydecl.Tool, name)
		if e == nil || len(e.Faults) == 0 || len(e.Faults) > most {
			t.Errorf("%s: %v", name, e)
		}
	}
	// The validator has a bound of its own, so there may be none left to count.
	if e := r.Find(policydecl.Tool, "many"); len(e.Faults) != inspect.MaxFaults || e.More > 2*inspect.MaxFaults {
		t.Errorf("%d and %d more", len(e.Faults), e.More)
	}
	deeper := run(t, `{"capabilities":{"tools":{}}}`, answers{"tools/list": strings.Repeat("[", 20_000)})
	if got := findings(deeper); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A list without a server has no gate that could be missing, so each copy is a mistake.
func TestCopiesInAFile(t *testing.T) {
	r := &inspect.Report{}
	if err := r.AddList(t.Context(), policydecl.Tool, []byte(tools(tool("a", `,"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user"]}}`)))); err != nil {
		t.Fatal(err)
	}
	if got := findings(r); !slices.Equal(got, []string{`tools["a"] /_meta/io.modelcontextprotocol~1flowPolicy D1 conflict`}) {
		t.Errorf("%q", got)
	}
}

func TestOnlyTools(t *testing.T) {
	r, err := inspect.RunTools(t.Context(), answers{"tools/list": tools(tool("a", ""))}.call, []byte(everything))
	if err != nil || len(r.Entries) != 1 || r.Count() != 0 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestKinds(t *testing.T) {
	for _, target := range []policydecl.TargetKind{policydecl.Tool, policydecl.Resource, policydecl.Template, policydecl.Prompt} {
		back, ok := inspect.KindOf(inspect.Noun(target))
		if !ok || back != target || inspect.ListMember(target) == "" {
			t.Error(target)
		}
	}
	if _, ok := inspect.KindOf(""); ok || inspect.Noun(policydecl.Prefix) != "" {
		t.Error("a prefix is not listed")
	}
}
