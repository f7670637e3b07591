package otelflow_test

import (
	"os"
	"strings"
	"testing"
)

// The Go snippets of the README compile: each is found, line by line, in the examples.
func TestReadmeGo(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return b.String()
	}
	example, found := plain(read("example_test.go")), 0
	for i, block := range strings.Split(read("README.md"), "```go\n") {
		if i == 0 {
			continue
		}
		snippet, _, ok := strings.Cut(block, "```")
		if !ok || !strings.Contains(example, plain(snippet)) {
			t.Errorf("this is not in the examples:\n%s", snippet)
		}
		found++
	}
	if found == 0 {
		t.Error("the README has no snippet")
	}
}
