package inspect_test

import (
	"go/build"
	"strings"
	"testing"
)

// A helper for the authors of any server stands on this package: it must know neither
// an MCP SDK nor a terminal.
func TestImports(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil || len(pkg.Imports) == 0 {
		t.Fatal(err, pkg.Imports)
	}
	for _, path := range pkg.Imports {
		switch {
		case strings.Contains(path, "mcp-go/"), strings.HasPrefix(path, "github.com/mark3labs"):
			t.Errorf("imports an MCP SDK: %s", path)
		case path == "os", path == "net/http", path == "os/exec", path == "log", path == "flag":
			t.Errorf("imports %s", path)
		}
	}
}
