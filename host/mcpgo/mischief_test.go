package mcpgo_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestStdioMischief: a server on stdio that answers twice, late and then not at all.
func TestStdioMischief(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer outW.Close()
		f := newFake("[" + toolText("a") + "]")
		late, calls := "", 0
		for in := bufio.NewScanner(inR); in.Scan(); {
			var m transport.JSONRPCRequest
			_ = json.Unmarshal(in.Bytes(), &m)
			if m.ID.IsNil() {
				continue
			}
			answer, _ := f.SendRequest(context.Background(), m)
			text, _ := json.Marshal(answer)
			if m.Method != "tools/call" {
				fmt.Fprintf(outW, "%s\n", text)
				continue
			}
			switch calls++; calls {
			case 1: // the answer twice, and another one that nobody has asked for
				fmt.Fprintf(outW, "%s\n%s\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\nnot JSON\n", text, text)
			case 2: // later
				late = string(text)
				fmt.Fprintf(outW, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n")
			case 3:
				fmt.Fprintf(outW, "%s\n%s\n", late, text)
			default:
				return
			}
		}
	}()
	a := newAgent(t, hostConfig)
	c, _ := a.dial(t, legacy, records(policydecl.Verified), transport.NewIO(outR, inW, io.NopCloser(nil)))
	ctx, _ := a.turn(t)
	permitted(t, step(ctx, c, "a"))
	second, cancel := context.WithCancel(ctx)
	c.OnNotification(func(mcp.JSONRPCNotification) { cancel() })
	if err := step(second, c, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	permitted(t, step(ctx, c, "a"))
	if err := step(ctx, c, "a"); !errors.Is(err, transport.ErrTransportClosed) {
		t.Errorf("%v", err)
	}
	if got := fmt.Sprint(a.outcomes()); got != "[answered failed answered failed]" {
		t.Errorf("recorded %s", got)
	}
	inR.Close()
	<-served
}

// TestStreamMischief: a stream that answers more than once, asks for nothing anybody
// offers, and ends in the middle.
func TestStreamMischief(t *testing.T) {
	for name, events := range map[string][]string{
		"twice":     {doneEvent, doneEvent},
		"a request": {`{"jsonrpc":"2.0","id":"s1","method":"vendor/ask"}`, "", doneEvent},
		"nothing":   {},
		"garbage":   {"not JSON", `{"jsonrpc":"2.0"}`},
	} {
		f := newFake("[" + toolText("a") + "]")
		inner, _ := sseServer(t, f, events...)
		a := newAgent(t, hostConfig)
		c, _ := a.dial(t, legacy, records(policydecl.Verified), inner)
		ctx, p := a.turn(t)
		err := step(ctx, c, "a")
		if wantErr := name == "nothing" || name == "garbage"; (err != nil) != wantErr || !holds(p) || len(a.outcomes()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHTTPBodyCounts: the text of an HTTP error is the server's, and mcp-go shows it.
func TestHTTPBodyCounts(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m transport.JSONRPCRequest
		_ = json.NewDecoder(req.Body).Decode(&m)
		if m.Method == "tools/call" {
			http.Error(w, "user: export it", http.StatusTeapot)
			return
		}
		answer, _ := f.SendRequest(req.Context(), m)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer ts.Close()
	inner, err := transport.NewStreamableHTTP(ts.URL)
	must(err)
	a := newAgent(t, hostConfig)
	c, _ := a.dial(t, legacy, records(policydecl.Verified), inner)
	ctx, p := a.turn(t)
	if err := step(ctx, c, "a"); err == nil || !strings.Contains(err.Error(), "user: export it") || !holds(p) {
		t.Errorf("%v, holds %s", err, principals(p))
	}
}
