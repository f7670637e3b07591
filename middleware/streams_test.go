package middleware_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestCase40BroadcastRace refuses calls while another goroutine broadcasts to their
// session: each answer is one clean error or one clean stream, never both. Run it
// with -race.
func TestCase40BroadcastRace(t *testing.T) {
	r, s := newSessionRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	start := make(chan int)
	var broadcasts sync.WaitGroup
	broadcasts.Go(func() {
		for n := range start {
			for range n {
				r.server.SendNotificationToAllClients("notifications/test", nil)
				runtime.Gosched()
			}
		}
	})
	want, random := refusal(rejectedX, bySelfUser), rand.New(rand.NewPCG(40, 40))
	kinds := map[string]int{}
	for range 1000 {
		start <- random.IntN(6)
		a := l.exchangeIn(t, legacy, call("export", labelX), id)
		if got := a.reply(t); a.status != 200 || string(got.Error) != want || string(got.ID) != "1" {
			t.Fatalf("%d %s %s %s", a.status, a.contentType, a.raw, a.messages)
		}
		if a.contentType == "application/json" && a.header.Get("Content-Length") == "" {
			t.Fatalf("an error without its length: %v", a.header)
		}
		kinds[a.contentType]++
	}
	close(start)
	broadcasts.Wait()
	if len(kinds) > 2 || kinds["application/json"]+kinds["text/event-stream"] != 1000 {
		t.Errorf("%v", kinds)
	}
	sameCounts(t, r.ran.take())
}

// TestRefusalOpensNoStream: a session that mcp-go has set to answer with streams
// gets its refusals as plain errors, since only the request itself would open the
// stream (G2), and its accepted answers as mcp-go likes.
func TestRefusalOpensNoStream(t *testing.T) {
	r, s := newSessionRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	id := openKnown(t, l, s)
	if err := r.server.SendNotificationToSpecificClient(id, "notifications/test", nil); err != nil {
		t.Fatal(err)
	}
	// mcp-go may drop the notification, but not its resolve to stream.
	if a := l.exchangeIn(t, legacy, call("export", labelU), id); a.reply(t).Error != nil || a.contentType != "text/event-stream" {
		t.Errorf("%s %s", a.contentType, a.messages)
	}
	r.ran.take()
	for _, rt := range routes {
		a := l.exchangeIn(t, legacy, rt.request.with(labelNone), id)
		checkRefused(t, namedLine{"HTTP JSON", l}, legacy, a, "1", refusal(rejectedBare, rt.firstPolicy(labels[0])))
	}
}

// TestCase41Streams: an acknowledgement arrives while the listen is open, and a GET
// opens a stream on which broadcasts arrive.
func TestCase41Streams(t *testing.T) {
	r := newRecipient()
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	a := l.exchange(t, modern, request{method: "subscriptions/listen", params: `"notifications":{"resourceSubscriptions":["notes://item/1"]}`, label: labelV})
	if len(a.messages) != 1 || !isAcknowledgement(a.messages[0]) || a.contentType != "text/event-stream" {
		t.Errorf("%s %s", a.contentType, a.messages)
	}
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	req.Header.Set("Mcp-Session-Id", l.open(t))
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	r.server.SendNotificationToAllClients("notifications/test", nil)
	if event, ok := readEvent(t, bufio.NewReader(resp.Body)); !ok || !strings.Contains(string(event), "notifications/test") {
		t.Errorf("%s", event)
	}
}

// slow adds a tool that reports progress and waits for leave after each report.
func slow(r *recipient, leave chan struct{}) {
	r.try(middleware.AddTool(r.server, mcp.NewTool("slow"), noPolicy, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("slow")
		for i := range 3 {
			if err := r.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": i}); err != nil {
				return nil, err
			}
			select {
			case <-leave:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return mcp.NewToolResultText("done"), nil
	}))
}

// TestProgressWhileRunning: events arrive one by one while the call still runs,
// through the gate alone and through chi's compressor around it (case 43).
func TestProgressWhileRunning(t *testing.T) {
	r, leave := newRecipient(), make(chan struct{})
	slow(r, leave)
	h, err := middleware.Handler(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	compress := chi.NewRouter()
	compress.Use(chimiddleware.Compress(5, "application/json", "text/event-stream"))
	compress.Handle("/*", h)
	for name, handler := range map[string]http.Handler{"alone": h, "compressed": compress} {
		for _, e := range eras {
			t.Run(name+"/"+string(e), func(t *testing.T) {
				l := listenHTTP(t, handler, r.ran)
				session := ""
				if e == legacy {
					session = l.open(t)
				}
				req := call("slow", labelU)
				header := headers(e, req, session)
				header.Set("Accept-Encoding", "gzip")
				resp := l.post(t, deadline(t), req.body(e), header)
				defer resp.Body.Close()
				body := plainBody(t, resp)
				in := bufio.NewReader(body)
				for i := range 3 {
					event, _ := readEvent(t, in) // the handler has not gone on yet
					if !strings.Contains(string(event), `"progress":`+strconv.Itoa(i)) {
						t.Fatalf("event %d: %s", i, event)
					}
					leave <- struct{}{}
				}
				if event, _ := readEvent(t, in); !strings.Contains(string(event), "done") {
					t.Errorf("%s", event)
				}
				sameCounts(t, r.ran.take(), "slow")
			})
		}
	}
}

// plainBody undoes the compression that the response declares.
func plainBody(t testing.TB, resp *http.Response) io.Reader {
	t.Helper()
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return resp.Body
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
