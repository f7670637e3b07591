package middleware

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// responseWriter is the way out for one POST. An answer that need not be looked
// at goes straight through, header, bytes and flushes as mcp-go makes them (G5). Only
// while the request is refused, or not judged yet, the header waits for the first
// byte, and bytes wait until an event or the body is whole.
//
// It offers what the writer below it offers: it flushes only as a flushWriter, and
// Unwrap leads http.ResponseController to everything else.
type responseWriter struct {
	http.ResponseWriter
	gate   *Gate
	edge   singleEdge
	modern bool // the request says that it is of the 2026-07-28 protocol or later

	// What these headers held before mcp-go could set them.
	connection, cacheControl []string

	mu      sync.Mutex // mcp-go writes from two goroutines
	status  int        // of a header that waits
	started bool       // the header is out
	done    bool       // the answer is out; nothing more may follow
	held    []byte     // bytes that wait
}

// flushWriter is a responseWriter over a writer that can flush. mcp-go decides by
// a type assertion whether it may stream.
type flushWriter struct {
	*responseWriter
	flusher http.Flusher
}

// Flush sends what is written so far. While the header waits there is nothing to
// send.
func (w flushWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return // the answer is whole, and net/http can tell its length
	}
	if !w.started && w.status != 0 && w.edge.free() {
		w.start()
	}
	if w.started || w.status == 0 && w.edge.free() {
		w.started = true
		w.flusher.Flush()
	}
}

// Unwrap lets http.ResponseController reach deadlines and the like.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header, or keeps it while the answer may still change.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status >= 100 && status < 200 {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	if w.started || w.status != 0 {
		return
	}
	w.status = status
	if w.edge.free() {
		w.start()
	}
}

// start sends the header that waits. The caller holds w.mu.
func (w *responseWriter) start() {
	if !w.started {
		w.started = true
		if w.status != 0 {
			w.ResponseWriter.WriteHeader(w.status)
		}
	}
}

// Write passes bytes on, or holds them until there is something whole to judge.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return len(p), nil
	}
	if len(w.held) == 0 && w.edge.free() {
		w.start()
		return w.ResponseWriter.Write(p)
	}
	w.held = append(w.held, p...)
	if w.streaming() {
		return len(p), w.events()
	}
	return len(p), nil
}

func (w *responseWriter) streaming() bool {
	return strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
}

// events judges every whole event that waits. The caller holds w.mu.
func (w *responseWriter) events() error {
	for !w.done {
		i := bytes.Index(w.held, []byte("\n\n"))
		if i < 0 {
			return nil
		}
		event := w.held[:i+2]
		if err := w.event(event); err != nil {
			return err
		}
		w.held = w.held[i+2:]
	}
	return nil
}

// event sends one event, or what replaces it.
func (w *responseWriter) event(event []byte) error {
	data := eventData(event)
	o, rawID := w.edge.answer(wire.ReadResponse(data))
	if o.fate == pass {
		if o.publish != "" {
			event = messageEvent(w.gate.publish(o, data, "result"))
		}
		w.start()
		_, err := w.ResponseWriter.Write(event)
		return err
	}
	w.done = true
	o.conclude(w.gate)
	if !w.started {
		// Nothing but the request itself has asked for a stream (G2).
		return w.replace(o, rawID)
	}
	_, err := w.ResponseWriter.Write(messageEvent(w.gate.appendAnswer(nil, rawID, o)))
	return err
}

// eventData joins the data lines of a server-sent event.
func eventData(event []byte) []byte {
	var data []byte
	n := 0
	for line := range bytes.Lines(event) {
		value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		if !ok {
			continue
		}
		if n++; n > 1 {
			data = append(data, '\n')
		}
		data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
	}
	return data
}

// replace sends an error as the whole answer (X1). A refusal has status 200 in both eras
// (X3); any other error has the status that mcp-go gives one of its kind.
func (w *responseWriter) replace(o outcome, rawID []byte) error {
	h := w.Header()
	restore(h, "Connection", w.connection)
	restore(h, "Cache-Control", w.cacheControl)
	h.Set("Content-Type", "application/json")
	w.status = http.StatusOK
	if o.fate == reject && w.modern {
		w.status = http.StatusBadRequest
	}
	w.start()
	_, err := w.ResponseWriter.Write(append(w.gate.appendAnswer(nil, rawID, o), '\n'))
	return err
}

// restore gives a header back what it held, in canonical form of its name.
func restore(h http.Header, name string, values []string) {
	if values == nil {
		delete(h, name)
	} else {
		h[name] = values
	}
}

// finish sends what still waits when mcp-go is done with the request.
func (w *responseWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.done = true
	body := w.held
	w.held = nil
	if len(body) > 0 {
		if w.streaming() {
			_ = w.event(body)
			return
		}
		o, rawID := w.edge.answer(wire.ReadResponse(body))
		if o.fate != pass {
			o.conclude(w.gate)
			_ = w.replace(o, rawID)
			return
		}
		if o.publish != "" {
			body = w.gate.publish(o, body, "result")
		}
	}
	if w.status != 0 || len(body) > 0 {
		w.start()
	}
	if len(body) > 0 {
		_, _ = w.ResponseWriter.Write(body)
	}
}
