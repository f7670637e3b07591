package peer

import (
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/internal/plain"
)

// How much is kept and shown of what a child writes to standard error.
const (
	maxWords    = 16 << 10
	maxLines    = 20
	maxLineText = 1000
)

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
	max  int
	cut  bool // the beginning is gone
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = t.cut || len(t.text)+len(p) > t.max
	t.text = append(t.text, p[max(0, len(p)-t.max):]...)
	if over := len(t.text) - t.max; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// said shows the last lines, or nothing if there are none. What a program says last is
// often the least telling, such as the "exit status 1" of go run. Each line is escaped
// by itself (M3) and indented, so that none passes for one of ours.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.SplitSeq(string(t.text), "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			lines = append(lines, strings.ReplaceAll(line, "\t", "    "))
		}
	}
	if t.cut && len(lines) > 1 {
		lines = lines[1:] // only its end is left
	}
	lines = lines[max(0, len(lines)-maxLines):]
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("; standard error ends with:")
	for _, line := range lines {
		b.WriteString("\n    " + plain.Escape(line, maxLineText))
	}
	return b.String()
}
