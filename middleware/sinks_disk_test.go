package middleware_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-mcp/flowgate/decision"
)

// snkDisk is a disk on which there is so much room.
type snkDisk struct {
	mu   sync.Mutex
	room int
	buf  bytes.Buffer
}

var errNoRoom = errors.New("no space left on device")

func (d *snkDisk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(p), d.room)
	d.room -= n
	d.buf.Write(p[:n])
	if n < len(p) {
		return n, errNoRoom
	}
	return n, nil
}

// makeRoom is somebody who clears the disk.
func (d *snkDisk) makeRoom() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = 1 << 30
}

// TestFullDisk: when there is no more room for records, requests go on as they did, the log
// says so, and other sinks have every record. When there is room again, the file goes on
// with whole lines.
func TestFullDisk(t *testing.T) {
	var control map[string]string
	t.Run("control", func(t *testing.T) { control = newSnkBench(t, nil, nil).run(t) })
	for name, open := range map[string]func(*testing.T) io.Writer{
		"full at once":       func(*testing.T) io.Writer { return &snkDisk{} },
		"full after a while": func(*testing.T) io.Writer { return &snkDisk{room: 10_000} },
		"a full device":      fullDevice,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			writer, log := decision.NewWriter(w), &logBook{}
			b := newSnkBench(t, nil, func(b *snkBench, h *snkTap) { b.extra = writer; b.mirror = slog.NewJSONHandler(log, nil) })
			b.check(t, b.run(t), control)
			written := 0
			if disk, ok := w.(*snkDisk); ok {
				written = strings.Count(disk.buf.String(), "\n")
			}
			if failed := log.failures(t); failed+written != len(control) {
				t.Errorf("the log counts %d failures and %d lines were written, of %d requests", failed, written, len(control))
			}
			if disk, ok := w.(*snkDisk); ok {
				checkDisk(t, disk, writer)
			}
		})
	}
}

// failures adds up what the log says of requests that a sink has missed.
func (b *logBook) failures(t *testing.T) (n int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range bytes.Lines(b.buf.Bytes()) {
		var l struct {
			Msg, Level, Error string
			Requests          int
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Msg == "a decision sink failed" {
			n += l.Requests
			if l.Level != "ERROR" || !strings.Contains(l.Error, errNoRoom.Error()) {
				t.Errorf("%s", line)
			}
		}
	}
	return n
}

// checkDisk reads what is on the disk, after one record more.
func checkDisk(t *testing.T, disk *snkDisk, writer *decision.Writer) {
	t.Helper()
	before := strings.Count(disk.buf.String(), "\n")
	disk.makeRoom()
	if err := writer.Record(t.Context(), decision.Record{Method: "tools/call"}); err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(disk.buf.String()))
	torn := 0
	for _, line := range lines {
		if _, err := decision.Parse([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			torn++
		}
	}
	if torn > 1 || len(lines) < before+1 || !strings.HasSuffix(disk.buf.String(), "\n") {
		t.Errorf("%d lines, of which %d cannot be read; %d were there before", len(lines), torn, before)
	}
}

// fullDevice is a device of the system that is always full.
func fullDevice(t *testing.T) io.Writer {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has one")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
