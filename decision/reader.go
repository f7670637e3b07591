package decision

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Reader reads decision records from a log, which may hold other lines too and be of any
// length: it holds no more than one line of [MaxLine] bytes. It is not safe for concurrent
// use.
type Reader struct {
	in   *bufio.Reader
	line int64
	open bool
	err  error // of the reader below, after which there is nothing more
}

// NewReader reads from in, which it does not close.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, MaxLine)}
}

// Next reads the next line that is not blank and returns the record on it, as [Parse]
// does. An error that wraps [ErrNotDecision] or [ErrMalformed] is about that line alone,
// and Next can be called again. Every other error is final: [io.EOF] at the end, or what
// the reader below says.
func (r *Reader) Next() (Record, error) {
	for {
		line, err := r.next()
		if err != nil {
			return Record{}, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return Parse(line)
		}
	}
}

// Line is the number of the line that Next returned last, from 1.
func (r *Reader) Line() int64 { return r.line }

// Unfinished reports whether that line was the last one and has no end: whoever writes it
// may be about to go on.
func (r *Reader) Unfinished() bool { return r.open }

// next returns one line, with its end if it has one. What it returns is overwritten by the
// next call.
func (r *Reader) next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	line, err := r.in.ReadSlice('\n')
	long := false
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		line, err = r.in.ReadSlice('\n')
	}
	if err != nil {
		r.err = err
		if len(line) == 0 && !long || !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.open = true
	}
	r.line++
	if long {
		return nil, errLong
	}
	return line, nil
}
