package peer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errTooLarge = errors.New("larger than the limit")

// lines reads lines of at most MaxMessage bytes.
type lines struct{ in *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its end. The last one may have none. It is the
// caller's to keep.
func (l lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > MaxMessage {
			return nil, errTooLarge
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), nil
		}
		return nil, err
	}
}

// events reads a stream of server-sent events.
type events struct{ lines lines }

func newEvents(r io.Reader) *events { return &events{newLines(r)} }

// next returns the data of the next event that has any.
func (e *events) next() ([]byte, error) {
	var data []byte
	some := false
	for {
		line, err := e.lines.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return data, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if string(field) != "data" {
			continue // a comment, or what a client of one request has no use for
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if some {
			data = append(data, '\n')
		}
		if len(data)+len(value) > MaxMessage {
			return nil, errTooLarge
		}
		data = append(data, value...)
		some = len(data) > 0
	}
}
