package peer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// said is a tail to which something was written.
func said(text string) *tail {
	w := &tail{max: maxWords}
	_, _ = w.Write([]byte(text))
	return w
}

func TestWords(t *testing.T) {
	const head = "; standard error ends with:"
	numbered := func(from, to int) (lines, shown string) {
		for i := from; i <= to; i++ {
			lines += fmt.Sprintf("line %d\n", i)
			shown += fmt.Sprintf("\n    line %d", i)
		}
		return lines, shown
	}
	many, _ := numbered(1, 100)
	_, last := numbered(81, 100)
	for _, tt := range []struct{ written, want string }{
		{"", ""}, {"\n \r\n\t\n", ""},
		{"exit status 1\n", head + "\n    exit status 1"},
		{"# example.com/x\r\n./main.go:7:2: undefined: y\r\n\r\nexit status 1\r\n", head + "\n    # example.com/x\n    ./main.go:7:2: undefined: y\n    exit status 1"},
		{"\tat \"x\" \\ \u00e9\x1b]0;t\x07\rflowgate: fine", head + "\n        at \"x\" \\\\ \\u00e9\\x1b]0;t\\a\\rflowgate: fine"},
		{many, head + last},
		{strings.Repeat("x", maxLineText+5), head + "\n    " + strings.Repeat("x", maxLineText) + "..."},
		{strings.Repeat("x", maxWords) + "\nwhole\n", head + "\n    whole"}, // the rest of a line passes for another
		{strings.Repeat("y", maxWords+1), head + "\n    " + strings.Repeat("y", maxLineText) + "..."},
	} {
		got := said(tt.written).said()
		if got != tt.want {
			t.Errorf("%.100q:\n got %.2000q\nwant %.2000q", tt.written, got, tt.want)
		}
		if len(got) > 2000 {
			continue
		}
		onTerminal(t, got)
	}
	if got := said(strings.Repeat(strings.Repeat("\x00", 700)+"\n", 100)).said(); strings.Count(got, "\n") > maxLines || len(got) > 5*maxWords {
		t.Errorf("%d bytes", len(got))
	}
}

// What may help a server that does not answer the greeting depends on what it is.
func TestTimeoutHints(t *testing.T) {
	const era, load = "; a server that only speaks 2026-07-28 may need -era 2026-07-28", "; if the command has to compile or load first, raise -timeout, as in -timeout "
	for _, tt := range []struct {
		era     Era
		command []string
		timeout time.Duration
		want    string
	}{
		{Auto, []string{"x"}, time.Millisecond, "no answer to initialize within 1ms" + era + load + "2m"},
		{Auto, nil, time.Millisecond, "no answer to initialize within 1ms" + era},
		{Handshake, []string{"x"}, time.Millisecond, "no answer to initialize within 1ms" + load + "2m"},
		{Stateless, []string{"x"}, time.Millisecond, "no answer to server/discover within 1ms" + load + "2m"},
		{Stateless, nil, time.Millisecond, "no answer to server/discover within 1ms"},
	} {
		c := &Conn{cfg: Config{Era: tt.era, Command: tt.command, Timeout: tt.timeout}, link: mute{}}
		if err := c.open(t.Context()); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if got := more(3 * time.Minute); got != "6m0s" {
		t.Error(got)
	}
}
