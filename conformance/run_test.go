package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/conformance"
)

// recorder is a test that only keeps what it is told.
type recorder struct{ errors, logs []string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func TestTest(t *testing.T) {
	for _, tt := range []struct {
		broken string
		errors int
		want   string
	}{
		{"", 0, ""},
		{"takes the last of two members", 14, "L8 2025-11-25: a message that can be read in two ways is an invalid request: method twice\nsent {"},
		{"reports only", 1, "nothing was tested"},
	} {
		f := &fake{broken: tt.broken}
		var r recorder
		conformance.Test(t.Context(), &r, conformance.Target{URL: f.start(t)}, conformance.Options{})
		if text := strings.Join(r.errors, "\n"); len(r.errors) != tt.errors || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d errors\n%s", tt.broken, len(r.errors), text)
		}
		if len(r.logs) == 0 {
			t.Errorf("%s: nothing is said of what was not run", tt.broken)
		}
	}
	var r recorder
	conformance.Test(t.Context(), &r, conformance.Target{URL: "http://127.0.0.1:1/mcp"}, conformance.Options{})
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "the server could not be tested") {
		t.Errorf("%q", r.errors)
	}
}

// A server that says that it only reports is sent nothing.
func TestReportsOnly(t *testing.T) {
	f := &fake{broken: "reports only"}
	r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{})
	if r.Tested() || r.Count(conformance.Failed) != 0 || len(f.runs) != 0 || len(r.Notices) != 1 {
		t.Errorf("%+v, ran %v", r, f.runs)
	}
}

// What a server says reaches a report escaped (M3).
func TestEscapes(t *testing.T) {
	f := &fake{broken: "sends escapes"}
	r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{})
	failures := r.Find("5/tools", modern).Failures
	if !strings.Contains(r.Server, `\x1b[31m\u202e\u00e9`) || len(failures) == 0 || !strings.Contains(failures[0].Got, `\u202e`) {
		t.Errorf("%q, %+v", r.Server, failures)
	}
}

// Where the server is lost, what is left says so.
func TestLostServer(t *testing.T) {
	f := &fake{}
	f.runs = map[string]int{}
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls > 30 {
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	}))
	defer s.Close()
	r := run(t, conformance.Target{URL: s.URL}, conformance.Options{Era: conformance.EraStateless})
	lost := r.Find("X5", modern)
	if lost == nil || lost.Status != conformance.NotRun || !strings.Contains(lost.Reason, "the server was lost") || r.Count(conformance.Failed) != 0 {
		t.Errorf("%+v", r.Checks)
	}
	if first := r.Find("5/tools", modern); first == nil || first.Status != conformance.Passed {
		t.Errorf("%+v", first)
	}
}

// A server that does not answer what it must refuse has not refused it.
func TestSilence(t *testing.T) {
	f := &fake{}
	f.runs = map[string]int{}
	held := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" && bytes.Contains(body, []byte("flowOrigin")) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n")
			w.(http.Flusher).Flush()
			<-held
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer s.Close()
	defer close(held)
	r := run(t, conformance.Target{URL: s.URL}, conformance.Options{Era: conformance.EraStateless, Timeout: 4 * time.Second})
	failed(t, r, modern, []string{"5/listen"})
}

func TestMistakes(t *testing.T) {
	f := &fake{}
	opts := conformance.Options{Run: map[string]json.RawMessage{"nothing\x1b": json.RawMessage("{}")}}
	if r, err := conformance.Run(t.Context(), conformance.Target{URL: f.start(t)}, opts); err == nil || r != nil || !strings.Contains(err.Error(), `lists no tool "nothing\x1b"`) {
		t.Errorf("%v", err)
	}
	for want, opts := range map[string]conformance.Options{
		"there is no era":      {Era: "2020-01-01\x1b"},
		"are no JSON object":   {Run: map[string]json.RawMessage{"t\x1b": json.RawMessage("[]")}},
		"the server's own URI": {Self: "not a URI"},
		"cannot reach the":     {},
	} {
		r, err := conformance.Run(context.Background(), conformance.Target{URL: "http://127.0.0.1:1/mcp"}, opts)
		if err == nil || r != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
