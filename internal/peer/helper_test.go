package peer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// onTerminal fails the test unless a text is fit for one (M3). A line that is indented
// cannot pass for one of ours.
func onTerminal(t *testing.T, s string) {
	t.Helper()
	s = strings.ReplaceAll(s, "\n    ", "")
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) || len(s) > 2000 {
		t.Errorf("not fit for a terminal: %.3000q", s)
	}
}

// noneLeft fails the test if a goroutine of this package, or of a connection that it
// made, goes on. Those of net/http end a moment after they were told to.
func noneLeft(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	var stacks string
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		stacks = ""
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "persistConn") || strings.Contains(g, "peer.(*child)") || strings.Contains(g, "peer.startChild.") {
				stacks += g + "\n\n"
			}
		}
		if stacks == "" {
			return
		}
	}
	t.Errorf("still running:\n%s", stacks)
}

// rpc is what a request says.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// web answers with f; what f does not answer is answered well.
func serve(t *testing.T, f func(w http.ResponseWriter, r *http.Request, m rpc) bool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m rpc
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && json.Unmarshal(body, &m) != nil {
			t.Errorf("no JSON: %s", body)
		}
		if f != nil && f(w, r, m) {
			return
		}
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusNoContent)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
