package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The deadline for the body must not end a call that goes on after the body
// has been read, and it must not be left on the connection.
func TestBodyDeadlineIsLifted(t *testing.T) {
	deadlines := make(chan time.Time, 8)
	conn := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder(), set: deadlines}
	h := boundBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if first := <-deadlines; first.IsZero() {
			t.Error("no deadline while the body is read")
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if last := <-deadlines; !last.IsZero() {
			t.Errorf("deadline %v after the body was read", last)
		}
	}))
	h.ServeHTTP(conn, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}")))
}

type deadlineRecorder struct {
	*httptest.ResponseRecorder
	set chan<- time.Time
}

func (d *deadlineRecorder) SetReadDeadline(t time.Time) error {
	d.set <- t
	return nil
}
