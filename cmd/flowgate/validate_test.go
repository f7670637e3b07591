package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// self is this test binary, which modeVariable makes a server.
func self(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestValidateExamples(t *testing.T) {
	for _, name := range []string{"records-server", "webfetch-server"} {
		url := startExample(t, name)
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			http := append([]string{"validate", "-era", era}, "-url", url)
			stdio := append([]string{"validate", "-era", era}, example(t, name)...)
			flowgate(t, http...).golden(t, "validate-"+name+"-"+era, url, "URL")
			flowgate(t, stdio...).golden(t, "validate-"+name+"-"+era+"-stdio")
		}
		flowgate(t, "validate", "-json", "-url", url).golden(t, "validate-"+name+"-json", url, "URL")
	}
}

func TestValidateFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		flowgate(t, "validate", file).golden(t, "file-"+name)
		flowgate(t, "validate", "-json", file).golden(t, "file-"+name+"-json")
	}
}

func TestValidateYAMLFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		flowgate(t, "validate", file).golden(t, "file-"+name+"-yaml")
		flowgate(t, "validate", "-json", file).golden(t, "file-"+name+"-yaml-json")
	}
}

func TestRecognition(t *testing.T) {
	const key = `"io.modelcontextprotocol/flowPolicyViolation"`
	for _, tt := range []struct {
		text, kind string
		status     int
		want       string
	}{
		{`{"name":"t","inputSchema":{"type":"object"}}`, "", 0, "holds   tool\n"},
		{`{"name":"t"}`, "", 2, "say -kind tool or -kind prompt"},
		{`{"name":"t"}`, "prompt", 0, "no findings"},
		{`{"name":"t"}`, "tool", 1, `missing: it lacks "inputSchema"`},
		{`{"name":"t","arguments":[]}`, "", 0, "holds   prompt\n"},
		{`{"uri":"x://a","name":"a"}`, "", 0, "holds   resource\n"},
		{`{"uriTemplate":"x://{a}","name":"a"}`, "", 0, "holds   template\n"},
		{`{"tools":[]}`, "", 0, "holds   tools\n"},
		{`{"tools":[]}`, "tool", 0, "holds   tools\n"},
		{`{"name":"t","inputSchema":{"type":"object"},"tools":[]}`, "tool", 0, "holds   tool\n"},
		{`{"tools":7}`, "", 1, "tools/list\n  /tools: wrong-type"},
		{`{"resources":[]}`, "", 0, "holds   resources\n"},
		{`{"resourceTemplates":[]}`, "", 0, "holds   resourceTemplates\n"},
		{`{"prompts":[{"name":"a"},{"name":"a"}]}`, "", 1, "/name: duplicate"},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[7]}}`, "", 1, "tools[0] (no name)\n  (root): wrong-type"},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":7}}`, "", 1, "  /result/tools: wrong-type"},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]},"error":{}}`, "", 2, "a result or an error, not both"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", 2, "a JSON-RPC request without an origin label"},
		{`{"jsonrpc":"2.0","id":1}`, "", 2, "a JSON-RPC message without a result or an error"},
		{`{"jsonrpc":"2.0","id":1,"result":7}`, "", 2, "neither an object nor an array"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":{"tools":[]}}`, "", 1, "/id: duplicate"},
		{`{"capabilities":{"flow":7}}`, "", 1, "/capabilities/flow: wrong-type"},
		{`{"acceptFrom":["self"]}`, "", 0, "holds   policy\n"},
		{`{"acceptFrom":["Self"]}`, "", 1, "/acceptFrom/0: unknown-token"},
		{`null`, "policy", 1, "null"},
		{`{"contributors":[{"assurance":"user"}],"complete":true}`, "", 0, "holds   label\n"},
		{`{"contributors":[]}`, "", 1, "/contributors: missing"},
		{`{"rejected":[],"acceptFrom":[]}`, "", 0, "holds   violation\n"},
		{`{` + key + `:{"rejected":[],"acceptFrom":[]}}`, "", 0, "holds   violation\n"},
		{`{` + key + `:7}`, "", 1, "/io.modelcontextprotocol~1flowPolicyViolation: wrong-type"},
		{`{"code":403,"message":"m","data":{` + key + `:{"rejected":[{"assurance":"x"}],"acceptFrom":[]}}}`, "", 1, "/data/io.modelcontextprotocol~1flowPolicyViolation/rejected/0/assurance"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":403,"message":"m","data":{` + key + `:{"rejected":[]}}}}`, "", 1, "/error/data/io.modelcontextprotocol~1flowPolicyViolation/acceptFrom: missing"},
		{`{"code":-32602,"message":"m"}`, "", 1, "no refusal by a flow policy"},
		{`{"code":-32602,"message":"m","data":7}`, "violation", 1, "/data: missing: no refusal by a flow policy"},
		{`{}`, "", 2, "it has no members"},
		{`{"hello":1}`, "", 2, "cannot read standard input: cannot tell what this is: it has the members hello; say with -kind"},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, "", 2, "it has the members a, b, c, d, e, ...; say with -kind"},
		{`7`, "", 2, "neither an object nor an array"},
		{`7`, "tool", 1, "wrong-type"},
		{`[]`, "policy", 1, "wrong-type"},

		// What is not JSON cannot be read, whatever it was to be.
		{"{\"\x1b[31m\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}", "", 2, "not valid JSON, at byte 2"},
		{`{"tools":[]`, "", 2, "cannot read standard input: not valid JSON"},
		{``, "", 2, "cannot read standard input: it is empty"},
		{" \n", "tool", 2, "it is empty"},
		{`rubbish`, "policy", 2, "not valid JSON, at byte 0"},
		{`{"tools":[]}{"tools":[]}`, "", 2, "something follows the JSON value"},
		{strings.Repeat("[", 100_000), "", 2, "not valid JSON"},
		{strings.Repeat(`{"tools":`, 100_000), "", 2, "not valid JSON"},
		{"{\"contributors\":[{\"assurance\":\"\xff\"}]}", "", 1, "not one valid JSON value"},
		{strings.Repeat(" ", maxInput+1), "", 2, "standard input is larger than 16 MiB"},
	} {
		validateText(t, tt.text, tt.kind).wants(t, tt.status, tt.want)
	}
}

// validateText validates a text on standard input.
func validateText(t *testing.T, text, kind string) ran {
	t.Helper()
	args := []string{"validate"}
	if kind != "" {
		args = append(args, "-kind", kind)
	}
	r := flowgateWith(t.Context(), t, text, append(args, "-")...)
	r.args = append(r.args, text[:min(len(text), 200)])
	return r
}

// What cannot be reached is said on both outputs when machines are listening.
func TestValidateUnreachable(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<h1>\x1b[2J"))
		case "/401":
			w.Header().Set("WWW-Authenticate", "Bearer \u202e realm")
			w.WriteHeader(http.StatusUnauthorized)
		case "/silent":
			_, _ = io.Copy(io.Discard, r.Body) // or it would not be noticed that the client went away
			<-r.Context().Done()
		}
	}))
	defer page.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for url, want := range map[string]string{
		page.URL + "/html":   "is this the URL of the MCP endpoint?",
		page.URL + "/401":    "authorize with -header 'Authorization: Bearer ...'",
		page.URL + "/silent": "no answer to initialize within 500ms",
		closed.URL:           "connection refused",
	} {
		timeout := "1m"
		if strings.HasSuffix(url, "silent") {
			timeout = "500ms" // and ten times as long for the whole run
		}
		r := flowgate(t, "validate", "-json", "-timeout", timeout, "-url", url)
		r.wants(t, 2, want)
		var out failJSON
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || out.Command != "validate" || !strings.Contains(out.Error, want) {
			t.Errorf("%s: %v", r.out, err)
		}
	}
}

func TestValidateOddCommands(t *testing.T) {
	for mode, tt := range map[string]struct {
		status int
		want   string
	}{
		"exit":       {2, "the command ended (exit status 4) before it answered initialize; standard error ends with:\n    main.go:7: undefined: luck\n    out of \\x1b[31mluck\n    exit status 1\n"},
		"silent":     {2, "no answer to initialize within 1s; a server that only speaks 2026-07-28 may need -era 2026-07-28; if the command has to compile or load first, raise -timeout, as in -timeout 2m\n"},
		"banner":     {1, `"\x1b[2Jwelcome": a line that is no message`},
		"twice":      {1, "standard output\n  (root): duplicate: a request was answered more than once"},
		"dies later": {2, "tools/list: the command ended (exit status 0) before it answered tools/list"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(modeVariable, mode)
			timeout := "1m"
			if mode == "silent" {
				timeout = "1s"
			}
			r := flowgate(t, "validate", "-timeout", timeout, "-stdio", "--", self(t))
			r.wants(t, tt.status, tt.want)
			if mode == "dies later" {
				r.wants(t, 2, "server  odd 1 at ") // what was seen is shown
				flowgate(t, "validate", "-json", "-timeout", timeout, "-stdio", "--", self(t)).wants(t, 2, `"error": "tools/list: the command ended`, `"name": "odd"`)
			}
		})
	}
}

func TestValidateToken(t *testing.T) {
	url := startExample(t, "records-server", "RECORDS_TOKENS=r1=reader")
	flowgate(t, "validate", "-url", url).wants(t, 2, "401 Unauthorized", "WWW-Authenticate")
	flowgate(t, "validate", "-url", url, "-header", "Authorization: Bearer r1").wants(t, 0, "no findings")
}

// A large list is handled, a larger one is refused, and both in bounded time.
func TestValidateLargeLists(t *testing.T) {
	f := &fake{flow: `{"policy":true}`, tools: bigList(10 << 20)}
	flowgate(t, "validate", "-timeout", "1m", "-url", f.start(t)).wants(t, 0, "declarations", "no findings")
	f.tools = bigList(17 << 20)
	flowgate(t, "validate", "-timeout", "1m", "-url", f.start(t)).wants(t, 2, "tools/list: the answer is larger than 16 MiB, the limit")
}

// A hostile server fills its texts with what a terminal obeys.
func TestValidateHostileTexts(t *testing.T) {
	const evil = `\u001b]0;x\u0007\u001b[2J\u202e\u0080\r\n`
	f := &fake{flow: `{"policy":"` + evil + `"}`, tools: `{"tools":[{"name":"` + evil + `","inputSchema":{"type":"` + evil + `"},"flowPolicy":{"acceptFrom":["` + evil + `"]}}],"` + evil + `":1,"` + evil + `":2,"nextCursor":["` + evil + `"]}`}
	url := f.start(t)
	flowgate(t, "validate", "-url", url).golden(t, "validate-hostile", url, "URL") // every run looks for control characters
	flowgate(t, "validate", "-json", "-url", url).golden(t, "validate-hostile-json", url, "URL")
}

// Where the validator stopped counting, no number is the whole one.
func TestValidateManyMistakes(t *testing.T) {
	f := &fake{flow: flowTrue, policy: `{"acceptFrom":[` + strings.Repeat(`"nonsense",`, 500) + `"user"]}`}
	flowgate(t, "validate", "-url", f.start(t)).wants(t, 1, "  and at least 80 more\n", "1 with their own policy: at least 100 findings\n")
}

// What is left out is counted, and told.
func TestValidateManyOtherMistakes(t *testing.T) {
	var names strings.Builder
	for i := range 120 {
		fmt.Fprintf(&names, `"%d":1,"%d":2,`, i, i)
	}
	url := (&fake{flow: flowTrue, tools: `{` + names.String() + `"tools":[]}`}).start(t)
	flowgate(t, "validate", "-url", url).wants(t, 1, "And 20 more outside the declarations.\n\n120 findings\n")
	flowgate(t, "validate", "-json", "-url", url).wants(t, 1, `"more": 20`, `"findings": 120`)
}

// A server may name any version; one that is not known is told.
func TestVersionsThatAreNotKnown(t *testing.T) {
	for version, want := range map[string]string{
		`"2099-01-01"`: "the server names the protocol version 2099-01-01, which is not known here", `7`: "version 7, which",
		`"\u001b[31m"`: `version \x1b[31m, which`, `null`: "which is not known here",
	} {
		f := &fake{flow: flowTrue, policy: `{"acceptFrom":["user"]}`, version: version}
		policy := policydecl.AcceptFrom("user")
		f.call = deciding(t, policy, policy, flowerrors.DetailFull, nil)
		url := f.start(t)
		flowgate(t, "validate", "-url", url).wants(t, 0, "Note: ", want)
		flowgate(t, "validate", "-json", "-url", url).wants(t, 0, `"notes": [`)
		flowgate(t, "probe", "-tool", "t", "-url", url).wants(t, 0, want)
	}
}

func TestValidateEndlessPages(t *testing.T) {
	f := &fake{tools: `{"tools":[],"nextCursor":"again"}`}
	flowgate(t, "validate", "-url", f.start(t)).wants(t, 1, `/nextCursor: duplicate: "again": the cursor was given before, so the list never ends`)
}
