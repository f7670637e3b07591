package soak_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"sync/atomic"
)

// oneIn is how often a server with a bug shows it: in one of so many answers.
const oneIn = 20

// way is the way out of a stdio server, which may have a bug.
type way struct {
	out  io.Writer
	bug  string
	seen int
}

func (w *way) Write(p []byte) (int, error) {
	if w.seen++; w.seen%oneIn == 0 && bytes.HasSuffix(p, []byte("\n")) {
		switch w.bug {
		case bugLost:
			return len(p), nil
		case bugTwice:
			if _, err := w.out.Write(p); err != nil {
				return 0, err
			}
		}
	}
	return w.out.Write(p)
}

var (
	replyID = regexp.MustCompile(`"id":(?:[0-9]+|"s-[0-9]+")`)
	policed = regexp.MustCompile(`,"flowPolicy":\{[^{}]*\}`)
)

// bugged is the way out of an HTTP server, which may have a bug. It leaves streams alone.
func bugged(h http.Handler, bug string) http.Handler {
	switch bug {
	case bugLostHTTP, bugTwiceHTTP, bugForeign, bugList:
	default:
		return h
	}
	var seen atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &withheld{ResponseWriter: w}
		h.ServeHTTP(v, r)
		if v.text != nil && (bug == bugList || seen.Add(1)%oneIn == 0) {
			v.spoil(bug)
		}
		v.release()
	})
}

// withheld is a response that is held back if it is JSON.
type withheld struct {
	http.ResponseWriter
	status int
	text   []byte // nil for a stream
}

func (v *withheld) WriteHeader(status int) {
	if v.status = status; v.Header().Get("Content-Type") != "application/json" {
		v.ResponseWriter.WriteHeader(status)
	} else {
		v.text = []byte{}
	}
}

func (v *withheld) Write(p []byte) (int, error) {
	if v.status == 0 {
		v.WriteHeader(http.StatusOK)
	}
	if v.text == nil {
		return v.ResponseWriter.Write(p)
	}
	v.text = append(v.text, p...)
	return len(p), nil
}

// Flush makes it an http.Flusher, as streams need it.
func (v *withheld) Flush() {
	if v.text == nil {
		v.ResponseWriter.(http.Flusher).Flush()
	}
}

// spoil does to the answer what the bug does.
func (v *withheld) spoil(bug string) {
	switch bug {
	case bugLostHTTP:
		v.text = []byte{}
	case bugForeign:
		v.text = replyID.ReplaceAll(v.text, []byte(`"id":999999999`))
	case bugList:
		v.text = policed.ReplaceAll(v.text, nil)
	case bugTwiceHTTP:
		v.Header().Set("Content-Type", "text/event-stream")
		event := "event: message\ndata: " + string(bytes.TrimSpace(v.text)) + "\n\n"
		v.text = []byte(event + event)
	}
}

// release writes what was held back.
func (v *withheld) release() {
	if v.text != nil {
		v.ResponseWriter.WriteHeader(v.status)
		_, _ = v.ResponseWriter.Write(v.text)
	}
}
