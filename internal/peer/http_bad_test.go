package peer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What is no MCP endpoint is said to be none, with the way out.
func TestOtherThingsOverHTTP(t *testing.T) {
	page := func(status int, header map[string]string, body string) func(http.ResponseWriter, *http.Request, rpc) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ rpc) bool {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	json := map[string]string{"Content-Type": "application/json"}
	sse := map[string]string{"Content-Type": "text/event-stream"}
	tests := map[string]struct {
		f    func(http.ResponseWriter, *http.Request, rpc) bool
		want string
	}{
		"HTML":          {page(200, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<h1>\x1b[2J"), "an HTML page; is this the URL of the MCP endpoint?"},
		"unauthorised":  {page(401, map[string]string{"WWW-Authenticate": `Bearer realm="x"`}, ""), `WWW-Authenticate: "Bearer realm=\"x\""; authorize with -header`},
		"forbidden":     {page(403, nil, "no"), "403 Forbidden; authorize"},
		"not found":     {page(404, nil, "404"), "It often ends in /mcp"},
		"redirect":      {page(307, map[string]string{"Location": "https://u:p@elsewhere.example/?token=x"}, ""), `to https://elsewhere.example/?...; redirects are not followed`},
		"odd redirect":  {page(307, map[string]string{"Location": "mailto:x"}, ""), `to (a URL that cannot be shown); redirects`},
		"two readings":  {page(200, json, `{"jsonrpc":"2.0","id":1,"error":{},"Result":{}}`), "is no MCP message"},
		"wrong method":  {page(405, nil, ""), "HTTP+SSE transport is not supported"},
		"accepted":      {page(202, nil, ""), "without an answer"},
		"broken server": {page(500, nil, "\x1b]0;\u202eboom"), `500 Internal Server Error: "\x1b]0;\u202eboom"`},
		"other JSON":    {page(200, json, `{"hello":1}`), `"application/json", which is no MCP message`},
		"not JSON":      {page(200, json, `<h1>`), "is no MCP message"},
		"another's id":  {page(200, json, `{"jsonrpc":"2.0","id":99,"result":{}}`), "is no MCP message"},
		"two results":   {page(200, json, `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`), "is no MCP message"},
		"both":          {page(200, json, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`), "both a result and an error"},
		"odd error":     {page(200, json, `{"jsonrpc":"2.0","id":1,"error":7}`), "its error is no object"},
		"nothing":       {page(200, nil, ""), "is no MCP message"},
		"empty stream":  {page(200, sse, ": hello\n\n"), "the stream of events ended without an answer"},
		"odd stream":    {page(200, sse, "data: <h1>\n\n"), "an event holds what is not a JSON-RPC message"},
		"large":         {page(200, json, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", MaxMessage)+`"}`), "larger than 16 MiB"},
		"large event":   {page(200, sse, "data: "+strings.Repeat("x", MaxMessage)+"\n\n"), "larger than 16 MiB"},
		"large in many": {page(200, sse, strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 20)), "larger than 16 MiB"},
		"many events":   {page(200, sse, strings.Repeat("data: {\"method\":\"x\"}\n\n", maxBefore+1)), "too many messages"},
		"cut":           {page(200, map[string]string{"Content-Type": "application/json", "Content-Length": "100"}, "{"), "initialize: the answer broke off: unexpected EOF"},
		"cut stream":    {page(200, map[string]string{"Content-Type": "text/event-stream", "Content-Length": "100"}, "data: {"), "initialize: the answer broke off: unexpected EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), Config{URL: serve(t, tt.f).URL, Era: Handshake, Timeout: patience})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%.500v", err)
			}
			onTerminal(t, err.Error())
			noneLeft(t)
		})
	}
}

func TestAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	for address, want := range map[string]string{
		"":                                    "does not lead to an HTTP server",
		"localhost:80":                        "does not lead to an HTTP server",
		"ftp://x/":                            "does not lead to an HTTP server",
		"http://user:hidden@[::1/":            "this is no URL",
		"ftp://user:hidden@x/y?hidden#hidden": `-url: ftp://x/y?... does not lead`,
		"user:hidden@x":                       "does not lead to an HTTP server",
		"https:user:hidden@x":                 "does not lead to an HTTP server",
		"//user:hidden@x/":                    `-url: //x/ does not lead`,
		"http://" + ln.Addr().String():        "cannot reach the server: dial tcp " + ln.Addr().String() + ": connect: connection refused",
		"http://\x1b[31m.invalid/":            "is no URL",
		"http://127.0.0.1:99999/":             "cannot reach the server",
		"http://flowgate.invalid:1/secret":    "cannot reach the server",
	} {
		_, err := Dial(t.Context(), Config{URL: address})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
			continue
		}
		if strings.Contains(err.Error(), "/secret") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("shows more than it must: %v", err)
		}
		onTerminal(t, err.Error())
	}
}

func TestStreams(t *testing.T) {
	var replies []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request, m rpc) bool {
		if m.Method == "" && m.ID != nil {
			replies = append(replies, string(m.ID))
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		if m.ID == nil { // an answer to a notification, and one without an end
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}
		fmt.Fprintf(w, ": hello\r\nid: 1\r\nevent: message\r\ndata: {\"method\":\"ping\",\"id\":\"p\"}\r\n\r\nretry: 1\n\n")
		fmt.Fprintf(w, "data:{\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{}}\n\n", m.ID)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // and goes on
		return true
	})
	c, err := Dial(t.Context(), Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	noneLeft(t)
	if len(replies) != 1 || replies[0] != `"p"` {
		t.Errorf("%q", replies)
	}
}

func TestServersThatNeverAnswer(t *testing.T) {
	silent := func(http.ResponseWriter) {}
	for name, start := range map[string]func(http.ResponseWriter){
		"silent": silent,
		"trickles events": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": wait\n\n")
			w.(http.Flusher).Flush()
		},
		"stops in the middle": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc"`)
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ rpc) bool {
				start(w)
				<-r.Context().Done()
				return true
			})
			_, err := Dial(t.Context(), Config{URL: s.URL, Timeout: 50 * time.Millisecond})
			var late *TimeoutError
			if !errors.As(err, &late) || !strings.HasPrefix(err.Error(), "no answer to initialize within 50ms; a server that only speaks 2026-07-28 may need") {
				t.Errorf("%v", err)
			}
			noneLeft(t)
		})
	}
}
