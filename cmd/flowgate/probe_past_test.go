package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// onlyStateless is a server that does not know initialize.
func onlyStateless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m request
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) == nil && m.Method == "initialize" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// In the stateless era a request without _meta is none. The server says what it misses,
// and it was sent, so the answer is known although no label was ever tried.
func TestProbeStateless(t *testing.T) {
	const diagnosis = "he server says that params._meta has no io.modelcontextprotocol/protocolVersion, but it was sent; something on the way deletes params._meta"
	after := func(n int) func(map[string]any) { // spares the first requests
		return func(params map[string]any) {
			if n--; n < 0 {
				delete(params, "_meta")
			}
		}
	}
	without := func(key string) func(map[string]any) {
		return func(params map[string]any) {
			if meta, ok := params["_meta"].(map[string]any); ok {
				delete(meta, key)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		edit   func() func(map[string]any)
		era    []string
		want   string
		noisy  bool // tools can be listed, so the policy is known
		listed bool // validate reads all of it
	}{
		{"at once", func() func(map[string]any) { return after(0) }, []string{"-era", "2026-07-28"}, diagnosis, false, false},
		{"after initialize was unknown", func() func(map[string]any) { return after(1) }, nil, diagnosis, false, false},
		{"from the lists on", func() func(map[string]any) { return after(1) }, []string{"-era", "2026-07-28"}, diagnosis, false, false},
		{"from the calls on", func() func(map[string]any) { return after(2) }, []string{"-era", "2026-07-28"}, diagnosis, true, true},
		{"another member", func() func(map[string]any) { return without(mcp.MetaKeyClientCapabilities) }, []string{"-era", "2026-07-28"}, "has no io.modelcontextprotocol/clientCapabilities, but it was sent", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backend := onlyStateless(gated(t, middleware.Config{}, policydecl.AcceptFrom("self", "user")))
			args := append(tt.era, "-url", gateway(t, backend, tt.edit()))
			r := flowgate(t, append([]string{"probe", "-tool", "t"}, args...)...)
			r.wants(t, 1, "stripped: ", tt.want, "Probe the server past the gateway to make sure.", "was answered with error -32602")
			if strings.Contains(r.out, "policy  self, user") != tt.noisy {
				t.Error(r.out)
			}
			args[len(args)-1] = gateway(t, backend, tt.edit())
			out, status := verdictOf(t, args...)
			if out.Verdict != stripped || status != 1 || (out.Policy != nil) != tt.noisy || out.Requests == nil || !strings.Contains(out.Text, tt.want) {
				t.Errorf("status %d: %+v", status, out)
			}
			if !tt.listed {
				args[len(args)-1] = gateway(t, backend, tt.edit())
				flowgate(t, append([]string{"validate"}, args...)...).wants(t, 2, tt.want)
			}
		})
	}
	url := gateway(t, onlyStateless(gated(t, middleware.Config{}, policydecl.AcceptFrom("user"))), after(0))
	flowgate(t, "probe", "-url", url, "-tool", "t").golden(t, "probe-stripped-stateless", url, "URL")
	flowgate(t, "probe", "-json", "-url", url, "-tool", "t").golden(t, "probe-stripped-stateless-json", url, "URL")
}

// A server that declares policies and is not served through its gate is told so, once and
// not for each declaration, and a probe says what its answers mean.
func TestPastTheGate(t *testing.T) {
	const finding = "/capabilities/flow: missing: policies are declared (2, under _meta alone), but the server is not served through its gate, or the gate is off; "
	quiet := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		gate func(s *server.MCPServer) error
		want []string
	}{
		"no gate": {func(*server.MCPServer) error { return nil },
			[]string{"other-refusal: ", "This is the flow gate of the server, which refuses what it cannot judge: requests reach the server past its gate", "See the server's log."}},
		"past the gate": {func(s *server.MCPServer) error {
			_, err := middleware.New(s, middleware.Config{URI: gateURI, Logger: quiet})
			return err
		}, []string{"other-refusal: ", "a refusal by a flow gate, but without its code and its key (X2): requests reach the server past its gate"}},
		"off": {func(s *server.MCPServer) error {
			_, err := middleware.New(s, middleware.Config{URI: gateURI, Mode: middleware.DangerouslyOff, Logger: quiet})
			return err
		}, []string{"not-enforced: ", "does not announce that it has any: it is not served through its gate, or the gate is off."}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.NewMCPServer("gated", "1", server.WithToolCapabilities(true))
			for _, tool := range []string{"t", "u"} {
				err := middleware.AddTool(s, mcp.NewTool(tool), policydecl.AcceptFrom("user"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText("ran"), nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.gate(s); err != nil {
				t.Fatal(err)
			}
			h := httptest.NewServer(server.NewStreamableHTTPServer(s))
			defer h.Close()
			r := flowgate(t, "validate", "-url", h.URL)
			r.wants(t, 1, finding, "2 with their own policy: 1 finding\n", "tool  t     user    ok\n")
			var out validateJSON
			r = flowgate(t, "validate", "-json", "-url", h.URL)
			if err := json.Unmarshal([]byte(r.out), &out); err != nil || len(out.Findings) != 1 || out.Summary.Findings != 1 || len(out.Entries[0].Findings) != 0 {
				t.Errorf("%v %s", err, r.out)
			}
			r = flowgate(t, "probe", "-url", h.URL, "-tool", "t")
			r.wants(t, 1, tt.want...)
			if strings.Contains(r.out, "arguments that the tool takes") {
				t.Error(r.out)
			}
		})
	}
}

// Where refusals show no more than the key (X4), a probe says how to go on.
func TestProbeKeyOnly(t *testing.T) {
	const more = "flowgate's Config.Detail does that with flowerrors.DetailNoPrincipals or DetailFull."
	keyOnly := middleware.Config{Detail: flowerrors.DetailKeyOnly}
	strip := func(params map[string]any) { delete(params, "_meta") }
	for _, tt := range []struct {
		name   string
		policy policydecl.Policy
		edit   func(map[string]any)
		args   []string
		want   []string
		not    string
	}{
		{"not run", policydecl.AcceptFrom("user"), nil, nil, []string{"unclear: ", "-run also sends a request that the policy accepts", more}, "-self"},
		{"run", policydecl.AcceptFrom("user"), strip, []string{"-run"}, []string{"unclear: ", "The refusals do not tell which.", more, "Or probe the server past the gateway"}, "-run also"},
		{"self", policydecl.AcceptFrom("self"), nil, []string{"-run"}, []string{"unclear: ", "With -self URI, the server's own URI, -run can send a request that the policy accepts", more}, "-run also"},
		{"self, given", policydecl.AcceptFrom("self"), nil, []string{"-run", "-self", gateURI}, []string{"enforced: "}, more},
	} {
		t.Run(tt.name, func(t *testing.T) {
			edit := tt.edit
			if edit == nil {
				edit = func(map[string]any) {}
			}
			url := gateway(t, gated(t, keyOnly, tt.policy), edit)
			r := flowgate(t, append([]string{"probe", "-url", url, "-tool", "t"}, tt.args...)...)
			r.wants(t, r.status, tt.want...)
			if strings.Contains(r.out, tt.not) {
				t.Errorf("%q in\n%s", tt.not, r.out)
			}
		})
	}
}

// A label that something on the way replaces looks like one that is not enforced.
func TestProbeNamesAReplacedLabel(t *testing.T) {
	upgrade := eachContributor(func(c map[string]any) { c["assurance"] = "user" })
	url := gateway(t, gated(t, middleware.Config{}, policydecl.AcceptFrom("user")), upgrade)
	flowgate(t, "probe", "-url", url, "-tool", "t").wants(t, 1, "not-enforced: ", "or something on the way replaces the label: probe past the gateway to tell.")
}
