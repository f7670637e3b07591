package middleware_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// patience is how long a test waits for what has to happen. Nothing waits this
// long unless a test fails.
const patience = 20 * time.Second

// answer is everything that a server sent for one request.
type answer struct {
	status      int    // HTTP only
	contentType string // HTTP only
	header      http.Header
	raw         string // HTTP only: the body
	messages    []json.RawMessage
}

// reply returns the one message with the request's answer. Notifications may come
// before it; a second answer is an error.
func (a answer) reply(t testing.TB) envelope {
	t.Helper()
	var found *envelope
	for _, m := range a.messages {
		var e envelope
		if err := json.Unmarshal(m, &e); err != nil {
			t.Fatalf("not a message: %s: %v", m, err)
		}
		if e.Result == nil && e.Error == nil {
			continue
		}
		if found != nil {
			t.Fatalf("two answers: %s", a.messages)
		}
		found = &e
	}
	if found == nil {
		t.Fatalf("no answer: status %d, %s", a.status, a.messages)
	}
	return *found
}

// methods lists the notifications and requests of the server in a.
func (a answer) methods(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, m := range a.messages {
		var e envelope
		if err := json.Unmarshal(m, &e); err != nil {
			t.Fatalf("not a message: %s: %v", m, err)
		}
		if e.Method != "" {
			out = append(out, e.Method)
		}
	}
	return out
}

// line is one transport between a client and a server.
type line interface {
	// exchange sends one request and collects what comes for it. A listen
	// that is acknowledged is cancelled and returns the acknowledgement.
	exchange(t testing.TB, e era, r request) answer
	// took returns what the server counted since the last time.
	took(t testing.TB) map[string]int
	// wait waits until the server has counted something of that name.
	wait(t testing.TB, what string)
	// settle waits for the notifications of a task that has ended.
	settle(t testing.TB)
	// object returns an error object as this transport can deliver it.
	object(t testing.TB, errorObject string) string
}

// isAcknowledgement reports whether m is the first message of a listen stream.
func isAcknowledgement(m json.RawMessage) bool {
	var e envelope
	return json.Unmarshal(m, &e) == nil && e.Method == mcp.MethodNotificationSubscriptionsAcknowledged
}

// decoded is what a client that decodes an error with mcp-go's types makes of it.
func decoded(t testing.TB, errorObject string) string {
	t.Helper()
	var d mcp.JSONRPCErrorDetails
	if err := json.Unmarshal([]byte(errorObject), &d); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// deadline returns a context for one step of a test.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sameCounts compares counts and names the difference.
func sameCounts(t testing.TB, got map[string]int, want ...string) {
	t.Helper()
	var list []string
	for what, n := range got {
		for range n {
			list = append(list, what)
		}
	}
	slices.Sort(list)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(list, want) {
		t.Errorf("the server did %q, want %q", list, want)
	}
}

// TestMain turns the test binary into a stdio server when a test asks for one.
func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		runChild(name)
		return
	}
	os.Exit(m.Run())
}
