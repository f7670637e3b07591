package peer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// told writes what an answer says in one line.
func told(a *Answer) string {
	s := "result"
	if answer := (*RPCError)(nil); errors.As(a.Err, &answer) {
		s = fmt.Sprintf("error %d", answer.Code)
		if answer.NoID {
			s += " without id"
		}
	}
	if len(a.Beside) > 0 {
		s += " beside " + strings.Join(a.Beside, " ")
	}
	if a.Again > 0 {
		s += fmt.Sprintf(" again %d %s", a.Again, a.Late)
	}
	if a.Open {
		s += " open"
	}
	if a.Unversioned {
		s += " unversioned"
	}
	return s
}

// What a server says beside an answer and after it is told, and only an error with the
// request's id is one (X1). % stands for the id.
var asked = map[string]struct{ said, want string }{
	"refused":             {`{"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403"},
	"no version":          {`{"id":%,"error":{"code":403}}`, "error 403 unversioned"},
	"null id":             {`{"jsonrpc":"2.0","id":null,"error":{"code":403}}`, "error 403 without id"},
	"no id":               {`{"jsonrpc":"2.0","error":{"code":403}}`, "error 403 without id"},
	"could not be read":   {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`, "error -32700 without id"},
	"null id, then real":  {`{"jsonrpc":"2.0","id":null,"error":{"code":403}} {"jsonrpc":"2.0","id":%,"result":{}}`, "result"},
	"refused and run":     {`{"jsonrpc":"2.0","id":%,"error":{"code":403}} {"jsonrpc":"2.0","id":%,"result":{"a":1}}`, `error 403 again 1 {"a":1}`},
	"refused twice":       {`{"jsonrpc":"2.0","id":%,"error":{"code":403}} {"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403 again 1 "},
	"another's answer":    {`{"jsonrpc":"2.0","id":%,"error":{"code":403}} {"jsonrpc":"2.0","id":77,"result":{}}`, "error 403"},
	"progress":            {`{"jsonrpc":"2.0","method":"notifications/progress","params":{}} {"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403 beside notifications/progress"},
	"asks before, after":  {`{"jsonrpc":"2.0","id":"e","method":"elicitation/create"} {"jsonrpc":"2.0","id":%,"error":{"code":403}} {"jsonrpc":"2.0","method":"x"}`, "error 403 beside elicitation/create x"},
	"ping":                {`{"jsonrpc":"2.0","id":"p","method":"ping"} {"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403"},
	"rubbish afterwards":  {`{"jsonrpc":"2.0","id":%,"error":{"code":403}} 7`, "error 403"},
	"many notifications":  {strings.Repeat(`{"jsonrpc":"2.0","method":"x"} `, 30) + `{"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403 beside " + strings.TrimSpace(strings.Repeat("x ", maxBeside))},
	"a method of no kind": {`{"jsonrpc":"2.0","method":7} {"jsonrpc":"2.0","id":%,"error":{"code":403}}`, "error 403 beside 7"},
}

func TestAskOverStreams(t *testing.T) {
	for name, tt := range asked {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, m rpc) bool {
				if m.Method != "tools/call" {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for part := range strings.SplitSeq(tt.said, " ") {
					fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(part, "%", string(m.ID)))
				}
				return true
			})
			ask(t, s.URL, tt.want, patience)
		})
	}
}

// ask sends one request and compares what came of it and, for as long as settle, after it.
func ask(t *testing.T, url, want string, settle time.Duration) {
	t.Helper()
	c, err := Dial(t.Context(), Config{URL: url, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.settle = settle
	a, err := c.Ask(t.Context(), "tools/call", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := told(a); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An answer that is one body has the same rule for its id.
func TestAskForOneBody(t *testing.T) {
	for _, name := range []string{"refused", "null id", "no id", "could not be read"} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, m rpc) bool {
			if m.Method != "tools/call" {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(asked[name].said, "%", string(m.ID)))
			return true
		})
		ask(t, s.URL, asked[name].want, patience)
	}
}

// A greeting that could not be read has no id to name (X1), and leads to the other era.
func TestGreetingsWithoutAnID(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, m rpc) bool {
		if m.Method != "initialize" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"no"}}`)
		return true
	})
	c, err := Dial(t.Context(), Config{URL: s.URL})
	if err != nil || c.Era() != Stateless {
		t.Fatal(err)
	}
	c.Close()
	_, err = Dial(t.Context(), Config{URL: s.URL, Era: Handshake})
	if err == nil || strings.Contains(err.Error(), "X1") {
		t.Error(err)
	}
}

// A stream that goes on after the answer is left after a moment.
func TestStreamsThatStayOpen(t *testing.T) {
	for said, want := range map[string]string{
		`{"jsonrpc":"2.0","id":%,"error":{"code":403}}`:    "error 403 open",
		`{"jsonrpc":"2.0","id":null,"error":{"code":403}}`: "error 403 without id open",
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request, m rpc) bool {
			if m.Method != "tools/call" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(said, "%", string(m.ID)))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		})
		ask(t, s.URL, want, short)
		noneLeft(t)
	}
}

// A child is asked something else after each answer, so that what it says twice shows.
func TestAskAChild(t *testing.T) {
	for name, tt := range asked {
		t.Run(name, func(t *testing.T) {
			t.Setenv(saidVariable, tt.said)
			c, err := Dial(t.Context(), childConfig(t, "says"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if !strings.Contains(tt.want, "without id") { // which is waited for in vain
				c.settle = patience
			}
			a, err := c.Ask(t.Context(), "tools/call", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(a); got != tt.want || c.Twice() != (a.Again > 0) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	noneLeft(t)
}

// Behind one address there can be many servers; each request may meet another one.
func TestApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		var conns, requests atomic.Int64
		s := httptest.NewUnstartedServer(serve(t, func(http.ResponseWriter, *http.Request, rpc) bool {
			requests.Add(1)
			return false
		}).Config.Handler)
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		}
		s.Start()
		c, err := Dial(t.Context(), Config{URL: s.URL, Apart: apart})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := c.Ask(t.Context(), "tools/call", nil, nil); err != nil {
				t.Error(err)
			}
		}
		c.Close()
		s.Close()
		if apart != (conns.Load() == requests.Load()) {
			t.Errorf("apart %v: %d requests on %d connections", apart, requests.Load(), conns.Load())
		}
	}
}
