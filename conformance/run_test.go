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
		{"takes the last of two members", 19, "L8 2025-11-25: a message that can be read in two ways is an invalid request: method twice\nsent {"},
		{"dies of a bad label", 2, "L3 2025-11-25: a contributor that is no object is unverified: the server was lost after this request\nsent tools/call"},
		{"answers what is gated with HTTP status 403", 1, "nothing was tested: no request was refused by policy: the server answered with something else than a refusal or a result"},
		{"answers what is gated with HTTP status 500", 1, "nothing was tested: no request was refused by policy: "},
		{"answers what is gated with an internal error", 1, "nothing was tested: no request was refused by policy: "},
		{"reports only", 1, "nothing was tested: the server says that it only reports (capabilities.flow.policy is false), so nothing it lists has to be refused"},
		{"declares and announces nothing", 1, "nothing was tested: the server announces no flow policy; is it served through its gate?"},
	} {
		f := &fake{broken: tt.broken}
		var r recorder
		conformance.Test(t.Context(), &r, conformance.Target{URL: f.start(t)}, conformance.Options{})
		if text := strings.Join(r.errors, "\n"); len(r.errors) != tt.errors || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d errors\n%s", tt.broken, len(r.errors), text)
		}
		logs := strings.Join(r.logs, "\n")
		if !strings.Contains(logs, ": not-applicable: ") || !strings.Contains(logs, "not checked from outside: M2, M3, because ") {
			t.Errorf("%s: too little is said of what was not run: %s", tt.broken, logs)
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

// The reasons are true of a server that announces that it only reports, or nothing.
func TestReasons(t *testing.T) {
	const (
		gate   = "the server announces no flow policy; is it served through its gate?"
		report = "the server says that it only reports (capabilities.flow.policy is false), so nothing it lists has to be refused"
	)
	for broken, want := range map[string]map[string]string{
		"reports only":                   {"5/tools": report, "5/listen": report, "L1": report, "P4": report, "P5": report, "R1": report, "G5": report, "D4": report},
		"declares and announces nothing": {"5/tools": gate, "5/listen": "the server does not announce subscriptions", "L1": gate, "P4": gate, "P5": gate, "R1": gate, "G5": gate, "D4": gate},
		"announces nothing":              {"5/completion": gate, "5/listen": "the server does not announce subscriptions"},
	} {
		f := &fake{broken: broken}
		r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Era: modern})
		for id, reason := range want {
			if c := r.Find(id, modern); c == nil || c.Status != conformance.NotApplicable || c.Reason != reason {
				t.Errorf("%s: %+v", broken, c)
			}
		}
		for _, c := range r.Checks {
			if strings.Contains(c.Reason, "sure to refuse") || strings.Contains(c.Reason, "everything has") {
				t.Errorf("%s: %+v", broken, c)
			}
		}
		if r.Tested() != (broken == "announces nothing") || (r.Untested() == "") != r.Tested() || len(r.Notices) != 1 {
			t.Errorf("%s: %q, %q", broken, r.Untested(), r.Notices)
		}
	}
}

// A result that comes instead of a refusal is told as one, whatever id it has.
func TestWithoutGate(t *testing.T) {
	f := &fake{broken: "ignores labels"}
	r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Era: stateful})
	if c := r.Find("X1", stateful); !strings.Contains(c.Reason, "a result came, and no refusal; is it served through its gate?") {
		t.Errorf("%+v", c)
	}
	f = &fake{broken: "ignores labels and ids"}
	r = run(t, conformance.Target{URL: f.start(t)}, conformance.Options{Era: stateful})
	c := r.Find("X1", stateful)
	if len(c.Failures) == 0 || !strings.HasPrefix(c.Failures[0].Got, "a result whose id is not written as it was sent, and no refusal; is it served through its gate? {") {
		t.Errorf("%+v", c)
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

// A server that answers what is gated with anything but a refusal was not tested.
func TestNoRefusal(t *testing.T) {
	for _, how := range []string{"HTTP status 403", "HTTP status 500", "an internal error"} {
		f := &fake{broken: "answers what is gated with " + how}
		r := run(t, conformance.Target{URL: f.start(t)}, conformance.Options{})
		if r.Tested() || r.Count(conformance.Failed) != 0 || !strings.HasPrefix(r.Untested(), "no request was refused by policy") {
			t.Errorf("%s: %q, %+v", how, r.Untested(), r.Failed())
		}
		for _, id := range []string{"5/tools", "L1", "G5"} {
			if c := r.Find(id, modern); c.Status != conformance.NotRun {
				t.Errorf("%s: %+v", how, c)
			}
		}
	}
}

// An HTTP error is neither an invalid request nor an error of the server's own.
func TestHTTPErrorsProveNothing(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		f := &fake{runs: map[string]int{}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("flowOrigin")) {
				http.Error(w, "no", status)
				return
			}
			f.ServeHTTP(w, r)
		}))
		r := run(t, conformance.Target{URL: s.URL}, conformance.Options{Era: conformance.EraStateless})
		s.Close()
		for _, id := range []string{"L8", "X5", "G1", "G5"} {
			if c := r.Find(id, modern); c.Status != conformance.NotRun || !strings.Contains(c.Reason, "proves nothing") {
				t.Errorf("%d: %+v", status, c)
			}
		}
	}
}

// Where the server is lost, that is a failure, and what is left says so.
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
	if lost == nil || lost.Status != conformance.NotRun || !strings.Contains(lost.Reason, "the server was lost") || r.Count(conformance.Failed) != 1 || r.Lost == "" || !r.Tested() {
		t.Errorf("%q %+v", r.Lost, r.Checks)
	}
	if f := r.Failed(); len(f) == 1 && f[0].Failures[len(f[0].Failures)-1].About != "the server was lost after this request" {
		t.Errorf("%+v", f)
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
