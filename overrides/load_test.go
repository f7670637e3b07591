package overrides_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range everything {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := overrides.Load(file); err != nil || len(o.Targets) != 8 {
			t.Errorf("%v, %d targets", err, len(o.Targets))
		}
	}
	if _, err := overrides.Load(filepath.Join(dir, "nothing\n")); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if _, err := overrides.Load(dir); err == nil {
		t.Error("a directory was read")
	}
	file := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(file, []byte(everything["o.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := overrides.Load(file)
	var e *flowerrors.ConfigError
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), fmt.Sprintf("overrides %q: ", file)) {
		t.Error(err)
	}
}
