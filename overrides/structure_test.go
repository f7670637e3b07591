package overrides_test

import (
	"go/build"
	"strings"
	"testing"
)

// The package knows no MCP SDK, and nothing of flowgate that does.
func TestImports(t *testing.T) {
	const module = "github.com/flowgate-mcp/flowgate/"
	allowed := map[string]bool{
		module + "errors": true, module + "policydecl": true, module + "resourcematch": true, module + "internal/near": true, module + "internal/place": true, module + "internal/plain": true,
		"github.com/go-json-experiment/json/jsontext": true, "go.yaml.in/yaml/v3": true,
	}
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") && !allowed[path] {
			t.Errorf("imports %s (%v)", path, pkg.ImportPos[path])
		}
		delete(allowed, path)
	}
	for path := range allowed {
		t.Errorf("does not import %s: the test looks in the wrong place", path)
	}
}
