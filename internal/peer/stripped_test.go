package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// An answer counts as a denial of what was sent only if it names it and cannot well mean
// anything else.
func TestDoubt(t *testing.T) {
	const version, capabilities = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
	for _, tt := range []struct {
		error string
		want  string // none, certain or probably, and the member
	}{
		{`{"code":-32602,"message":"missing or invalid _meta field ` + version + `"}`, "certain " + version},
		{`{"code":-32602,"message":"Missing required field: params._meta['` + capabilities + `']"}`, "certain " + capabilities},
		{`{"code":-32602,"message":"Invalid params","data":{"issues":[{"path":["params","_meta","` + version + `"],"message":"Required"}]}}`, "certain " + version},
		{`{"code":-32602,"message":"bad ` + version + `"}`, "probably " + version},
		{`{"code":-32602,"message":"missing ` + version + ` (as of 2026-07-28)"}`, "probably " + version},
		{`{"code":-32602,"message":"` + version + ` 2026-07-28 is not supported"}`, "none"},
		{`{"code":-32602,"message":"Mcp-Protocol-Version header is required beside ` + version + `"}`, "none"},
		{`{"code":-32602,"message":"Invalid params","data":{"` + version + `":"2026-07-28"}}`, "none"},
		{`{"code":-32602,"message":"missing io.modelcontextprotocol/flowOrigin"}`, "none"},
		{`{"code":-32602,"message":"missing argument"}`, "none"},
		{`{"code":-32602,"message":"missing _meta"}`, "none"},
		{`{"code":-32600,"message":"missing ` + version + `"}`, "none"},
		{`{"code":-32602}`, "none"},
	} {
		m := message{err: []byte(tt.error)}
		_, err := m.outcome("tools/list")
		for _, c := range []*Conn{{era: Stateless, version: string(Stateless)}, {era: Handshake, version: string(Handshake)}} {
			want := tt.want
			if c.era == Handshake {
				want = "none" // nothing of it is sent there
			}
			got := "none"
			var e *StrippedError
			if errors.As(c.doubt(err.(*RPCError)), &e) {
				got = fmt.Sprint(map[bool]string{true: "probably ", false: "certain "}[e.Probably], e.Key)
				onTerminal(t, e.Error())
				if strings.Contains(e.Error(), "probably") != e.Probably || e.JSONRPCCode() != invalidParams {
					t.Error(e)
				}
			}
			if got != want {
				t.Errorf("%s %s: %s, want %s", c.era, tt.error, got, want)
			}
		}
	}
}

// The second greeting, too, may be the one that is denied.
func TestStrippedAfterTheHandshake(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, m rpc) bool {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"code":-32601,"message":"Method not found"}`
		if m.Method != "initialize" {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"code":-32602,"message":"missing or invalid _meta field io.modelcontextprotocol/protocolVersion"}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, answer)
		return true
	})
	_, err := Dial(t.Context(), Config{URL: s.URL})
	var e *StrippedError
	if !errors.As(err, &e) || e.Probably || e.Status != http.StatusBadRequest || !strings.Contains(err.Error(), e.Diagnosis()) {
		t.Error(err)
	}
	if deep := strings.Repeat(`[`, 9000) + `"x"` + strings.Repeat(`]`, 9000); dataTexts(json.RawMessage(`{"data":`+deep+`}`)) != "x\n" || dataTexts(nil) != "" {
		t.Error("the data is looked at however deep it is")
	}
}
