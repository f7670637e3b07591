package middleware_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// namedLine is a transport of the matrix.
type namedLine struct {
	name string
	line line
}

// gatedLines puts the gate before R on every transport.
func gatedLines(t testing.TB) []namedLine {
	t.Helper()
	web, inside := newRecipient(), newRecipient()
	h, err := middleware.Handler(web.server, config(), server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	g, err := middleware.New(inside.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, web.ran)
	return []namedLine{
		{"HTTP JSON", l}, {"HTTP SSE", l.streaming()}, {"stdio", startChild(t, childGated)},
		{"in process", startInProcess(t, g.InProcess(), inside.ran)},
	}
}

// everywhere puts one gate before r and serves it on every transport, stdio over
// pipes.
func everywhere(t testing.TB, r *recipient, cfg middleware.Config) (*middleware.Gate, []namedLine) {
	t.Helper()
	g, err := middleware.New(r.server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g, serve(t, g, r)
}

// serve puts a gate on every transport.
func serve(t testing.TB, g *middleware.Gate, r *recipient) []namedLine {
	t.Helper()
	h, err := g.Handler(server.WithHTTPContextFunc(markStream))
	if err != nil {
		t.Fatal(err)
	}
	l := listenHTTP(t, h, r.ran)
	return []namedLine{
		{"HTTP JSON", l}, {"HTTP SSE", l.streaming()},
		{"stdio", listenPipe(t, r, g)},
		{"in process", startInProcess(t, g.InProcess(), r.ran)},
	}
}

// ungatedLines is the control: the same servers without a gate.
func ungatedLines(t testing.TB) []namedLine {
	t.Helper()
	web, inside := newRecipient(), newRecipient()
	l := listenHTTP(t, server.NewStreamableHTTPServer(plain(web.server), server.WithHTTPContextFunc(markStream)), web.ran)
	return []namedLine{
		{"HTTP JSON", l}, {"HTTP SSE", l.streaming()}, {"stdio", startChild(t, childUngated)},
		{"in process", startInProcess(t, transport.NewInProcessTransport(plain(inside.server)), inside.ran)},
	}
}

// TestMatrix sends every kind of request over every transport, in both eras, with
// every kind of label (section 5; cases 3, 5, 6 and 17). A refusal is as X1, X2, X3 and G2
// ask.
func TestMatrix(t *testing.T) {
	id := 0
	for _, l := range gatedLines(t) {
		for _, e := range eras {
			for _, rt := range routes {
				for _, lb := range labels {
					t.Run(l.name+"/"+string(e)+"/"+rt.name+"/"+lb.name, func(t *testing.T) {
						id++
						checkCell(t, l, e, rt, lb, strconv.Itoa(9007199254740000+id))
					})
				}
			}
		}
	}
}

// checkCell sends one request and compares everything that can be seen.
func checkCell(t *testing.T, l namedLine, e era, rt route, lb labelRow, id string) {
	r := rt.request.with(lb.label)
	r.id = id
	a := l.line.exchange(t, e, r)
	if want := lb.refusalFor(rt.firstPolicy(lb)); want != "" {
		checkRefused(t, l, e, a, id, want)
		return
	}
	if rt.only != "" && rt.only != e {
		checkUnknown(t, l, e, a, id)
		return
	}
	checkAccepted(t, l, rt, a, id)
}

// checkRefused asserts X1, X2, X3 and G2: one error with the request's own id, the
// object byte for byte, status 200 in both eras, and nothing else happened.
func checkRefused(t *testing.T, l namedLine, e era, a answer, id, want string) {
	t.Helper()
	got := a.reply(t)
	if string(got.ID) != id {
		t.Errorf("id %s, want %s", got.ID, id)
	}
	if got.Result != nil || string(got.Error) != l.line.object(t, want) {
		t.Errorf("answer %s\n  want error %s", a.messages, want)
	}
	sameCounts(t, l.line.took(t))
	var others []string
	switch l.name {
	case "HTTP JSON":
		if a.status != 200 || a.contentType != "application/json" {
			t.Errorf("status %d, %s", a.status, a.contentType)
		}
	case "HTTP SSE":
		if a.status != 200 || a.contentType != "text/event-stream" {
			t.Errorf("status %d, %s", a.status, a.contentType)
		}
		others = []string{"notifications/test"} // which was there first
	}
	if m := a.methods(t); !slices.Equal(m, others) {
		t.Errorf("besides the refusal %q came, want %q", m, others)
	}
}

// checkUnknown asserts that a method the era does not have is left to mcp-go.
func checkUnknown(t *testing.T, l namedLine, e era, a answer, id string) {
	t.Helper()
	got := a.reply(t)
	if string(got.ID) != id || errorCode(t, got.Error) != -32601 {
		t.Errorf("answer %s", a.messages)
	}
	if want := map[era]int{legacy: 200, modern: 404}[e]; l.name == "HTTP JSON" && a.status != want {
		t.Errorf("status %d, want %d", a.status, want)
	}
	sameCounts(t, l.line.took(t))
}

// checkAccepted asserts that the handler ran once and its result came.
func checkAccepted(t *testing.T, l namedLine, rt route, a answer, id string) {
	t.Helper()
	if rt.endless {
		if n := len(a.messages); n == 0 || !isAcknowledgement(a.messages[n-1]) && l.name != "stdio" {
			t.Errorf("no acknowledgement: %s", a.messages)
		}
	} else if got := a.reply(t); string(got.ID) != id && l.name != "in process" || got.Error != nil {
		t.Errorf("answer %s", a.messages)
	}
	want := rt.effects
	if rt.runs != "" {
		want = append([]string{rt.runs}, want...)
	}
	if slices.Contains(want, "task:ended") {
		l.line.wait(t, "task:ended")
		if !slices.Contains(a.methods(t), "notifications/tasks/status") {
			l.line.settle(t)
		}
	}
	sameCounts(t, l.line.took(t), want...)
	if l.name == "HTTP JSON" && len(a.messages) == 1 && !rt.endless && a.contentType != "application/json" {
		t.Errorf("%s, want application/json", a.contentType)
	}
}
