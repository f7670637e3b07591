package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// httpLine is Streamable HTTP. With stream, something other than the request
// turns its answer into a stream before the door sees the request: a
// notification of the session, which the client has received by then.
type httpLine struct {
	url    string
	stream bool
	ran    *tally
	client *http.Client
}

// listenHTTP serves h for the test's duration.
func listenHTTP(t testing.TB, h http.Handler, ran *tally) *httpLine {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return &httpLine{url: ts.URL, ran: ran, client: ts.Client()}
}

// streaming is the same endpoint with every answer a stream.
func (l *httpLine) streaming() *httpLine {
	c := *l
	c.stream = true
	return &c
}

// Streams that a test has asked for, by the value of streamHeader.
const streamHeader = "X-Test-Stream"

type streamKey struct{}

var (
	streams     sync.Map // string -> chan struct{}, closed when the client has the event
	streamCount atomic.Int64
)

// markStream is an HTTPContextFunc.
func markStream(ctx context.Context, r *http.Request) context.Context {
	if seen, ok := streams.Load(r.Header.Get(streamHeader)); ok {
		return context.WithValue(ctx, streamKey{}, seen)
	}
	return ctx
}

// openStream is an initialisation hook of the server's author: it sends a
// notification to the session and waits until the client has it. Now and then mcp-go
// drops one, with the request before this one in the session, so it is sent again when
// nothing has come of it.
func openStream(ctx context.Context, _, _ any) error {
	seen, ok := ctx.Value(streamKey{}).(chan struct{})
	if !ok {
		return nil
	}
	again := time.NewTicker(patience / 4)
	defer again.Stop()
	for {
		if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/test", nil); err != nil {
			return err
		}
		select {
		case <-seen:
			return nil
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// post sends one message and returns the open response.
func (l *httpLine) post(t testing.TB, ctx context.Context, body string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return resp
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// open starts a session and returns its id.
func (l *httpLine) open(t testing.TB) string {
	t.Helper()
	resp := l.post(t, deadline(t), initialize, nil)
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d %s", resp.StatusCode, body)
	}
	return id
}

// close ends a session.
func (l *httpLine) close(t testing.TB, id string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(deadline(t), http.MethodDelete, l.url, nil)
	req.Header.Set("Mcp-Session-Id", id)
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// headers returns the headers that an era asks of a request.
func headers(e era, r request, session string) http.Header {
	h := http.Header{}
	if e == modern {
		h.Set("Mcp-Protocol-Version", string(modern))
		h.Set("Mcp-Method", r.method)
		if r.name != "" {
			h.Set("Mcp-Name", r.name)
		}
	} else {
		h.Set("Mcp-Session-Id", session)
		h.Set("Mcp-Protocol-Version", string(legacy))
	}
	return h
}

func (l *httpLine) exchange(t testing.TB, e era, r request) answer {
	t.Helper()
	session := ""
	if e == legacy {
		session = l.open(t)
		defer l.close(t, session)
	}
	return l.exchangeIn(t, e, r, session)
}

// exchangeIn is exchange within a session that is open.
func (l *httpLine) exchangeIn(t testing.TB, e era, r request, session string) answer {
	t.Helper()
	h := headers(e, r, session)
	var seen chan struct{}
	if l.stream {
		name := strconv.FormatInt(streamCount.Add(1), 10)
		seen = make(chan struct{})
		streams.Store(name, seen)
		defer streams.Delete(name)
		h.Set(streamHeader, name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp := l.post(t, ctx, r.body(e), h)
	defer resp.Body.Close()
	return readAnswer(t, resp, func(json.RawMessage) {
		if seen != nil {
			close(seen)
			seen = nil
		}
	})
}

// readAnswer reads a response. first is called for the first event of a stream as
// soon as it is there. A listen stream is left after its acknowledgement.
func readAnswer(t testing.TB, resp *http.Response, first func(json.RawMessage)) answer {
	t.Helper()
	a := answer{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), header: resp.Header}
	if a.contentType != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		a.raw = string(body)
		if n := resp.Header.Get("Content-Length"); n != "" && n != strconv.Itoa(len(body)) {
			t.Errorf("Content-Length %s for %d bytes", n, len(body))
		}
		if len(body) > 0 && a.contentType == "application/json" {
			a.messages = append(a.messages, body)
		}
		return a
	}
	for in := bufio.NewReader(resp.Body); ; {
		event, ok := readEvent(t, in)
		if !ok {
			return a
		}
		a.messages = append(a.messages, event)
		first(event)
		if isAcknowledgement(event) {
			return a
		}
	}
}

// readEvent reads one event of the form that mcp-go writes, and nothing else.
func readEvent(t testing.TB, in *bufio.Reader) (json.RawMessage, bool) {
	t.Helper()
	head, err := in.ReadString('\n')
	if err == io.EOF && head == "" {
		return nil, false
	}
	data, err2 := in.ReadString('\n')
	end, err3 := in.ReadString('\n')
	if err != nil || err2 != nil || err3 != nil || head != "event: message\n" || !strings.HasPrefix(data, "data: ") || end != "\n" {
		t.Fatalf("not an event: %q %q %q %v %v %v", head, data, end, err, err2, err3)
	}
	msg := strings.TrimSuffix(strings.TrimPrefix(data, "data: "), "\n")
	if !json.Valid([]byte(msg)) {
		t.Fatalf("an event that is not JSON: %q", msg)
	}
	return json.RawMessage(msg), true
}

func (l *httpLine) took(testing.TB) map[string]int { return l.ran.take() }

func (l *httpLine) wait(t testing.TB, what string) {
	t.Helper()
	if !l.ran.wait(deadline(t), what) {
		t.Fatalf("%s did not happen: %v", what, l.ran.peek())
	}
}

func (l *httpLine) settle(testing.TB) {}

func (l *httpLine) object(_ testing.TB, o string) string { return o }
