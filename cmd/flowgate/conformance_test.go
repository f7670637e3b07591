package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/conformance"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestConformanceOfAnExample(t *testing.T) {
	args := append([]string{"conformance", "-self", "https://mcp.records.example/mcp", "-run", `export_records={"table":"products"}`}, example(t, "records-server")...)
	flowgate(t, args...).golden(t, "conformance-records")
	r := flowgate(t, slices.Insert(args, 1, "-json")...)
	var out conformanceJSON
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatal(err)
	}
	if r.status != 0 || out.Command != "conformance" || len(out.Eras) != 2 || out.Summary.Failed != 0 || out.Summary.Passed < 60 {
		t.Errorf("status %d: %+v", r.status, out.Summary)
	}
	if len(out.Unchecked) == 0 || len(out.Unchecked[0].Rules) == 0 || out.Unchecked[0].Because == "" {
		t.Errorf("%+v", out.Unchecked)
	}
	for _, c := range out.Checks {
		if c.ID == "" || c.Title == "" || c.Failures == nil || c.Status == conformance.Passed && c.Requests == 0 {
			t.Errorf("%+v", c)
		}
	}
}

// In front of a gate that something strips of labels, what fails says so.
func TestConformanceWithoutLabels(t *testing.T) {
	strip := func(params map[string]any) { delete(params, "_meta") }
	url := gateway(t, gated(t, middleware.Config{}, policydecl.AcceptFrom("user")), strip)
	r := flowgate(t, "conformance", "-url", url, "-era", "2025-11-25")
	r.wants(t, 1, "failed P1 2025-11-25: a stranger, host\n  sent tools/call", "names others than", "era     2026-07-28: not run: it was not asked for")
	var out conformanceJSON
	r = flowgate(t, "conformance", "-json", "-url", url, "-era", "2025-11-25")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.status != 1 || out.Summary.Failed == 0 || out.Eras[1].Reason == "" {
		t.Errorf("%v, status %d: %+v", err, r.status, out.Summary)
	}
	for _, c := range out.Checks {
		if (c.Status == conformance.Failed) != (len(c.Failures) > 0) {
			t.Errorf("%+v", c)
		}
	}
}

// A server that is lost half-way has failed, and one that refuses nothing by policy was not
// tested.
func TestConformanceOfOddServers(t *testing.T) {
	for status, want := range map[int][]string{
		0:   {"failed 5/tools 2025-11-25: the server was lost after this request\n  sent tools/call", "not-run L1 2025-11-25: the server was lost: "},
		403: {"flowgate conformance: nothing was tested: no request was refused by policy: ", "0 failed"},
		500: {"flowgate conformance: nothing was tested: no request was refused by policy: ", "0 failed"},
	} {
		inner := gated(t, middleware.Config{}, policydecl.AcceptFrom("user"))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			switch {
			case !bytes.Contains(body, []byte("tools/call")):
				inner.ServeHTTP(w, r)
			case status == 0:
				panic(http.ErrAbortHandler)
			default:
				http.Error(w, "no", status)
			}
		}))
		exit := 2
		if status == 0 {
			exit = 1
		}
		flowgate(t, "conformance", "-url", s.URL, "-era", "2025-11-25").wants(t, exit, want...)
		s.Close()
	}
}

const reports = "the server says that it only reports (capabilities.flow.policy is false), so nothing it lists has to be refused"

// Where there is nothing to try, nothing has passed.
func TestConformanceOfNothing(t *testing.T) {
	open := httptest.NewServer(gated(t, middleware.Config{}, policydecl.AcceptFrom("user", "host", "verified", "tofu", "unverified")))
	defer open.Close()
	flowgate(t, "conformance", "-url", open.URL).wants(t, 2, "nothing was tested", "0 failed")
	quiet := httptest.NewServer(gated(t, middleware.Config{Mode: middleware.DangerouslyReport}, policydecl.AcceptFrom("user")))
	defer quiet.Close()
	flowgate(t, "conformance", "-url", quiet.URL).wants(t, 2, "\nnote    "+reports+"\n", "flowgate conformance: nothing was tested: "+reports+"\n", "not-applicable P4 2025-11-25: "+reports)
	bare := server.NewMCPServer("bare", "1", server.WithToolCapabilities(true))
	bare.AddTool(mcp.NewTool("t"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ran"), nil
	})
	plain := httptest.NewServer(server.NewStreamableHTTPServer(bare))
	defer plain.Close()
	const gate = "the server announces no flow policy; is it served through its gate?"
	flowgate(t, "conformance", "-url", plain.URL).wants(t, 2, "\nnote    "+gate+"\n", "flowgate conformance: nothing was tested: "+gate+"\n", "not-applicable 5/subscribe 2025-11-25: the server does not announce subscriptions")
	flowgate(t, "conformance", "-json", "-url", plain.URL).wants(t, 2, `"`+gate+`"`, `"reason": "`+gate+`"`)
	r := flowgate(t, "conformance", "-json", "-url", "http://127.0.0.1:1/mcp")
	if r.wants(t, 2, "cannot reach the server"); !strings.Contains(r.out, `"command": "conformance"`) {
		t.Error(r.out)
	}
}
