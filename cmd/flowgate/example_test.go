package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// shell runs the program as a shell would in a directory in which there are the files that are
// given with their text, and the example servers on the path. Of the output it prints the lines
// that begin so, or all, and then the exit status.
func shell(line, begin string, files ...string) {
	dir, err := os.MkdirTemp("", "flowgate-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	words := strings.Fields(line)
	for i, word := range words {
		if name, ok := strings.CutPrefix(word, "FILE/"); ok {
			words[i] = filepath.Join(dir, name)
		}
	}
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			panic(err)
		}
	}
	if strings.Contains(line, "records-server") {
		if _, err := programs.File("", "github.com/flowgate-mcp/flowgate/examples/records-server"); err != nil {
			panic(err)
		}
	}
	path := os.Getenv("PATH")
	defer os.Setenv("PATH", path)
	os.Setenv("PATH", programs.Dir()+string(filepath.ListSeparator)+path)

	var out strings.Builder
	a := &app{
		stdin: strings.NewReader(""), stdout: &out, stderr: &strings.Builder{},
		nonce: func() string { return "0123456789ab" }, grace: time.Minute,
	}
	status := a.run(context.Background(), words)
	for line := range strings.Lines(strings.ReplaceAll(out.String(), dir+string(filepath.Separator), "")) {
		if strings.HasPrefix(line, begin) {
			fmt.Print(line)
		}
	}
	fmt.Println("status", status)
}

// A file is judged by what it holds: here a tool whose policy has a misspelt token.
func Example_validate() {
	shell("validate FILE/tool.json", "", "tool.json", `{"name":"export_records","inputSchema":{"type":"object"},"flowPolicy":{"acceptFrom":["self","User"]}}`)
	// Output:
	// file    tool.json
	// holds   tool
	//
	// WHAT  NAME            POLICY      FINDINGS
	// tool  export_records  self, User  1
	//
	// tools[0] export_records
	//   /flowPolicy/acceptFrom/1: unknown-token: "User": not a token of acceptFrom; it would match nothing; write "user" [P1]
	//
	// 1 declaration, 1 with their own policy: 1 finding
	// status 1
}

// A running server is asked for all that it lists.
func Example_validateServer() {
	shell("validate -timeout 2m -stdio -- records-server -stdio", "")
	// Output:
	// server  records-server 0.1.0 at records-server -stdio, protocol 2025-11-25
	// flow    enforced; default: self, user, host, verified
	//
	// WHAT      NAME                      POLICY                  FINDINGS
	// tool      archive_records           self, user              ok
	// tool      debug_dump                host                    ok
	// tool      delete_record             user                    ok
	// tool      export_records            self, user              ok
	// tool      report_records            self, user              ok
	// tool      search_records            (the server's default)  ok
	// tool      slow_scan                 (the server's default)  ok
	// resource  records://customers       self, user              ok
	// template  records://customers/{id}  self, user              ok
	// template  records://{+path}         (the server's default)  ok
	// prompt    summarize_customer        user                    ok
	//
	// 11 declarations, 8 with their own policy: no findings
	// status 0
}

// A file of overrides, before a server reads it.
func Example_validateOverrides() {
	shell("validate FILE/overrides.yaml", "", "overrides.yaml", "flowgate: 1\ntools:\n  export_records: {acceptFrom: [User]}\n")
	// Output:
	// file    overrides.yaml
	// holds   overrides
	//
	//   /tools/export_records/acceptFrom/0: unknown-token: "User": not a token of acceptFrom; it would match nothing (line 3); write "user" [P1]
	//
	// 1 finding
	// status 1
}

// Why a policy refuses a label, contributor by contributor.
func Example_explain() {
	shell(`explain -policy self,user -self https://records.example/mcp -label {"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"assurance":"unverified"}],"complete":true}`, "")
	// Output:
	// policy  self, user
	// label   complete, with 2 contributors
	// self    https://records.example/mcp
	//
	// 1. user urn:mcp:user: accepted by user: the assurance is user
	//
	// 2. unverified: not accepted
	//     self  the label names no principal
	//     user  the assurance is unverified
	//
	// Refused. The peer gets
	//   {"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"unverified"}],"acceptFrom":["self","user"]}}}
	// and its model may be told no more than "The call was not permitted."
	// status 1
}

// Whether labels arrive at a server, and are enforced there.
func Example_probe() {
	shell("probe -tool export_records -timeout 2m -stdio -- records-server -stdio", "enforced")
	// Output:
	// enforced: The label arrives and is enforced.
	// status 0
}

// Whether a server keeps the recipient's rules. A check that fails is shown with what was sent
// and what came back.
func Example_conformance() {
	shell("conformance -timeout 2m -stdio -- records-server -stdio", "X")
	// Output:
	// X1            passed          passed          a refusal is an error with the id of the request
	// X2            passed          passed          a refusal has the constant message and the key with its detail
	// X3            passed          passed          the code of a refusal is not reserved, its HTTP status is 200
	// X4            passed          passed          a refusal shows all, or no principals, or nothing, and always alike
	// X5            passed          passed          no other error has the key
	// status 0
}

// What enforcing would stop, from the records of a server that only reports.
func Example_report() {
	shell("report FILE/records.jsonl", "Enforcing", "records.jsonl", `{"time":"2026-03-02T06:52:00Z","level":"INFO","msg":"request would be refused by flow policy","method":"tools/call","target":"export_records","verdict":"refused","mode":"report","reason":"label-absent","label":"absent","registered":true,"flow.origin":"undeclared","rejected":["unverified"]}
{"time":"2026-03-02T06:53:00Z","level":"DEBUG","msg":"request accepted by flow policy","method":"tools/call","target":"search_records","verdict":"accepted","mode":"report","reason":"","label":"ok","registered":true}
`)
	// Output:
	// Enforcing today would stop 1 of 2 requests: 1 target, 1 host.
	// status 1
}
