package peer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A request in words of one's own reaches the server as it is, and only an answer with its
// id, digit for digit, is one (X1).
func TestAskRaw(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","method":"tools/call","params":{}}`
	for id, want := range map[string]string{
		"9007199254740993": "", "9007199254740992": "which is no MCP message", `"9007199254740993"`: "which is no MCP message", "null": "without the id of the request",
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request, m rpc) bool {
			if m.Method != "tools/call" {
				return false
			}
			if string(m.ID) != "9007199254740993" || r.Header.Get("X-More") != "1" || r.Header.Get("Mcp-Name") != "t" {
				t.Errorf("%s %v", m.ID, r.Header)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}`, id)
			return true
		})
		conn, err := Dial(t.Context(), Config{URL: s.URL, Era: Stateless})
		if err != nil {
			t.Fatal(err)
		}
		got, err := conn.AskRaw(t.Context(), Raw{
			Method: "tools/call", ID: "9007199254740993", Body: []byte(body),
			Params: map[string]any{"name": "t"}, Header: http.Header{"X-More": {"1"}},
		})
		conn.Close()
		if err == nil {
			err = got.Err
			if e := (*RPCError)(nil); !errors.As(err, &e) || e.NoID != (want != "") {
				t.Errorf("id %s: %v", id, err)
			}
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("id %s: %v", id, err)
		}
	}
}

// An answer without an id does not get lost, although it is nobody's.
func TestUnnamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"result":{"a":1}}`: `{"a":1}`, `{"jsonrpc":"2.0","error":{"code":403}}`: `{"code":403}`,
		`{"jsonrpc":"2.0","id":2,"result":{}}`: "", `{"jsonrpc":"2.0","method":"ping"}`: "",
	} {
		r := reply{id: "1", strict: true}
		for _, raw := range []string{text, `{"jsonrpc":"2.0","id":null,"result":"later"}`, `{"jsonrpc":"2.0","id":1,"result":{"b":2}}`} {
			m, err := readMessage([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if r.take(m) != (string(m.id) == "1") {
				t.Errorf("%s: taken for the answer", raw)
			}
		}
		if want == "" {
			want = `"later"`
		}
		if string(r.none) != want || string(r.result) != `{"b":2}` {
			t.Errorf("%s: %s, %s", text, r.none, r.result)
		}
	}
}
