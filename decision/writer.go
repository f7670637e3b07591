package decision

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// MaxLine is more than the length of any line that a [Writer] writes, in bytes. A line
// that is longer was written by something else.
const MaxLine = 256 << 10

// Writer is a [Sink] that writes one line of JSON for each record (M2), the same as
// [slog.NewJSONHandler] writes for a logger that is given the record's level, message and
// attributes at the record's time: a file may hold lines of either, and [Parse] reads
// both. A line is printable ASCII (M3) and shorter than [MaxLine].
//
// It is safe for concurrent use. Each record is one call of Write, so that several
// processes can append to one file where the system appends atomically (O_APPEND).
type Writer struct {
	mu    sync.Mutex
	w     io.Writer
	line  bytes.Buffer
	lines slog.Handler // writes to line
	torn  bool         // what w has got does not end with the end of a line
}

// NewWriter makes a sink that writes to w, which it neither buffers nor closes. A nil w is
// a mistake that the first record shows.
func NewWriter(w io.Writer) *Writer {
	s := &Writer{w: w}
	s.lines = slog.NewJSONHandler(&s.line, nil)
	return s
}

// Record writes the record. Its error is that of w.
//
// After an error the record is lost, or half of it is written: a full disk takes what
// there is room for. Nothing is written twice. If half of it was, then the next record
// begins with the end of that line, so that no more than one record is unreadable for
// each write that failed.
func (s *Writer) Record(ctx context.Context, r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Reset()
	if s.torn {
		s.line.WriteByte('\n')
	}
	line := slog.NewRecord(lineTime(r.Time), r.Level(), r.Message(), 0)
	line.AddAttrs(r.Attrs(nil)...)
	if err := s.lines.Handle(ctx, line); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	return s.write(s.line.Bytes())
}

func (s *Writer) write(p []byte) error {
	before := s.torn
	s.torn = true // for as long as it is not known what was written, even if w panics
	n, err := s.w.Write(p)
	switch {
	case n == len(p):
		s.torn = false
	case n == 0:
		s.torn = before
	case n > 0 && n < len(p):
		s.torn = p[n-1] != '\n'
	}
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	return nil
}

// lineTime is t in a zone that RFC 3339 can say, or zero, which is left out, for a year
// that it cannot.
func lineTime(t time.Time) time.Time {
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -day || offset >= day {
		t = t.UTC()
	}
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// MarshalJSON returns the record as a [Writer] writes it, without the end of the line, so that
// whoever encodes one gets the members that [Parse] reads.
func (r Record) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := NewWriter(&b).Record(context.Background(), r); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
