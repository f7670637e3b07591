package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestConcurrentUse is case 8: fifty goroutines register, list and call at once. No
// tool is callable before its policy (D4), nothing refused runs, and what is
// accepted does. Run it with -race.
func TestConcurrentUse(t *testing.T) {
	before := stacks()
	func() {
		r := newRecipient(server.WithPaginationLimit(1_000_000))
		g, err := middleware.New(r.server, config())
		if err != nil {
			t.Fatal(err)
		}
		h, err := g.Handler()
		if err != nil {
			t.Fatal(err)
		}
		ts := httptest.NewServer(h)
		defer ts.Close()
		l := &httpLine{url: ts.URL, ran: r.ran, client: ts.Client()}
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for worker := range 50 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(8, uint64(worker)))
				for i := range 12 {
					use(t, r, l, &accepted, random, fmt.Sprintf("%d-%d", worker, i))
				}
			})
		}
		wg.Wait()
		for name, n := range r.ran.take() {
			if strings.HasPrefix(name, "never") {
				t.Errorf("%s ran %d times", name, n)
			}
			if name == "export" && int64(n) != accepted.Load() {
				t.Errorf("export ran %d times, want %d", n, accepted.Load())
			}
		}
		h.CloseSessions(context.Background())
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		ts.Client().CloseIdleConnections()
	}()
	noneLeft(t, before)
}

// use does one random thing.
func use(t *testing.T, r *recipient, l *httpLine, accepted *atomic.Int64, random *rand.Rand, name string) {
	e := eras[random.IntN(2)]
	switch random.IntN(6) {
	case 0: // a tool that nobody here may call, called as soon as it can be seen
		never := "never " + name
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := middleware.AddTool(r.server, mcp.NewTool(never), policydecl.AcceptFrom("host"), r.tool(never)); err != nil {
				t.Error(err)
			}
		}()
		for range 3 {
			if got := l.exchange(t, e, call(never, labelU)).reply(t); got.Result != nil {
				t.Errorf("%s: %s", never, got.Result)
			}
		}
		<-done
		r.server.DeleteTools(never)
	case 1:
		uri := "race://" + name
		if err := middleware.AddResource(r.server, mcp.NewResource(uri, name), policydecl.AcceptFrom("host"), r.resource("never "+uri)); err != nil {
			t.Error(err)
		}
		if a := l.exchange(t, e, read(uri, labelU)); !isRefusal(a.reply(t).Error) {
			t.Errorf("%s: %s", uri, a.messages)
		}
	case 2:
		a := l.exchange(t, e, request{method: "tools/list"})
		var result struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(a.reply(t).Result, &result); err != nil || len(result.Tools) < 4 {
			t.Errorf("%s", a.messages)
		}
	case 3:
		if a := l.exchange(t, e, call("export", labelX)); string(a.reply(t).Error) != refusal(rejectedX, bySelfUser) {
			t.Errorf("%s", a.messages)
		}
	case 4:
		if a := l.exchange(t, e, call("export", labelU)); a.reply(t).Error != nil {
			t.Errorf("%s", a.messages)
		}
		accepted.Add(1)
	case 5:
		if err := middleware.Govern(r.server, policydecl.Prefix, "race://p/"+name+"/", policydecl.AcceptFrom("host")); err != nil {
			t.Error(err)
		}
	}
}

// TestConcurrentStdio does the same with one stdio connection and ids of its own
// for each request.
func TestConcurrentStdio(t *testing.T) {
	before := stacks()
	t.Run("serve", func(t *testing.T) {
		r := newRecipient()
		g, err := middleware.New(r.server, config())
		if err != nil {
			t.Fatal(err)
		}
		l := listenPipe(t, r, g)
		const n = 600
		go func() {
			random := rand.New(rand.NewPCG(7, 7))
			for i := range n {
				req := routes[random.IntN(len(routes))].request
				if req.method == "subscriptions/listen" || strings.Contains(req.params, `"task"`) {
					req = call("export", "")
				}
				req.id, req.label = fmt.Sprintf(`"%d"`, i), labelX
				l.send(t, req.body(eras[i%2]))
			}
		}()
		seen := map[string]bool{}
		for range n {
			var got envelope
			if err := json.Unmarshal(l.next(t), &got); err != nil || seen[string(got.ID)] || !isRefusal(got.Error) {
				t.Errorf("%v %s %s", err, got.ID, got.Error)
			}
			seen[string(got.ID)] = true
		}
		sameCounts(t, r.ran.take())
	})
	noneLeft(t, before)
}

// countingHandler counts records of one message.
type countingHandler struct {
	slog.Handler
	refused, faults atomic.Int64
}

func (h *countingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *countingHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.faults.Add(1)
	} else {
		h.refused.Add(1)
	}
	return nil
}

// TestCase7OneRecordEach: ten thousand refused calls (fewer with -race) are logged once each, whatever
// the number of seams that saw them, and a panicking handler leaves the server as
// it was.
func TestCase7OneRecordEach(t *testing.T) {
	count := &countingHandler{}
	cfg := config()
	cfg.Logger = slog.New(count)
	r := newRecipient()
	r.try(middleware.AddTool(r.server, mcp.NewTool("panics"), noPolicy, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.ran.add("panics")
		panic(http.ErrAbortHandler)
	}))
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := startInProcess(t, g.InProcess(), r.ran)
	const n = middleware.ManyRequests
	for i := range n {
		req := routes[i%len(routes)].request.with(labelX)
		req.id = fmt.Sprint(i)
		if got := l.exchange(t, eras[i%2], req).reply(t); !isRefusal(got.Error) || string(got.ID) != req.id {
			t.Fatalf("%s: %s %s", req.body(modern), got.ID, got.Error)
		}
	}
	sameCounts(t, r.ran.take())
	if got := count.refused.Load(); got != n || count.faults.Load() != 0 {
		t.Errorf("%d refusals and %d faults in the log", got, count.faults.Load())
	}
	h, err := g.Handler()
	if err != nil {
		t.Fatal(err)
	}
	web := listenHTTP(t, h, r.ran)
	req := call("panics", labelU)
	post, _ := http.NewRequest(http.MethodPost, web.url, strings.NewReader(req.body(modern)))
	post.Header = headers(modern, req, "")
	post.Header.Set("Content-Type", "application/json")
	if resp, err := web.client.Do(post); err == nil {
		b, _ := io.ReadAll(resp.Body)
		t.Errorf("a panic was answered: %s", b)
	}
	if a := web.exchange(t, modern, call("export", labelU)); a.reply(t).Error != nil {
		t.Errorf("after the panic: %s", a.messages)
	}
	sameCounts(t, r.ran.take(), "panics", "export")
}

// TestNoGoroutineIsLeft serves every transport and ends it.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := stacks()
	t.Run("serve", func(t *testing.T) {
		_, lines := everywhere(t, newRecipient(), config())
		for _, l := range lines {
			for _, e := range eras {
				for _, rt := range routes {
					l.line.exchange(t, e, rt.request.with(labelX))
					l.line.exchange(t, e, rt.request.with(labelU))
				}
			}
		}
	})
	noneLeft(t, before)
}

// stacks counts the goroutines of this module and of mcp-go by where they stand.
func stacks() int {
	buf := make([]byte, 1<<20)
	n := 0
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "mcp-go") || strings.Contains(g, "flowgate/middleware.") {
			n++
		}
	}
	return n
}

// noneLeft waits until no more goroutines run than before.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for ctx := deadline(t); ; runtime.Gosched() {
		if stacks() <= before {
			return
		}
		if ctx.Err() != nil {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}
