package policydecl_test

import (
	"go/build"
	"strings"
	"testing"
)

// The core, and the host's half of it, stand on nothing but the standard library, themselves, internal
// packages that import nothing else, one JSON reader and the readers of JSON Schema and URI templates, and no arrow goes back:
// another SDK's adapter can stand on them.
func TestCoreImports(t *testing.T) {
	const module = "github.com/flowgate-mcp/flowgate/"
	allowed := map[string][]string{
		"errors":        {},
		"resourcematch": {module + "errors"},
		"policydecl": {
			module + "errors", module + "resourcematch", module + "internal/place", "github.com/go-json-experiment/json/jsontext",
			"github.com/santhosh-tekuri/jsonschema/v6", "github.com/santhosh-tekuri/jsonschema/v6/kind", "github.com/yosida95/uritemplate/v3",
		},
		// The host's half without its adapter; the internal packages are as free of any SDK.
		"host": {
			module + "errors", module + "resourcematch", module + "policydecl", module + "internal/wire", module + "internal/plain", "github.com/go-json-experiment/json/jsontext",
		},
		"internal/wire":  {},
		"internal/plain": {},
		"internal/place": {},
	}
	// What a pure package has no business with.
	forbidden := []string{"os", "net", "net/http", "log", "log/slog", "io/ioutil", "os/exec", "syscall", "unsafe", "regexp", "plugin", "C"}
	for dir, others := range allowed {
		pkg, err := build.ImportDir("../"+dir, 0)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if len(pkg.Imports) == 0 || len(pkg.GoFiles) == 0 {
			t.Errorf("%s imports nothing at all: the test looks in the wrong place", dir)
		}
		ok := map[string]bool{}
		for _, path := range others {
			ok[path] = true
		}
		for _, path := range pkg.Imports {
			first, _, _ := strings.Cut(path, "/")
			if strings.Contains(first, ".") && !ok[path] {
				t.Errorf("%s imports %s (%v)", dir, path, pkg.ImportPos[path])
			}
			for _, bad := range forbidden {
				if path == bad && !(dir == "host" && path == "log/slog") { // a record is a slog.LogValuer
					t.Errorf("%s imports %s (%v)", dir, path, pkg.ImportPos[path])
				}
			}
		}
	}
}
