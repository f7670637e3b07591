//go:build interop

package interop

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const vectorsDir = "../testdata/vectors"

// evaluate runs testdata/vectors/evaluate.mjs with the vectors of a directory.
func evaluate(t *testing.T, dir string) (out string, code int) {
	t.Helper()
	_, node := nodeDir(t)
	cmd := exec.CommandContext(testContext(t), node, filepath.Join(vectorsDir, "evaluate.mjs"), dir)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, text.String())
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

// TestVectorsInNode: an implementation in another language, which shares nothing with this one,
// agrees with the vectors (L1 to L9, P1 to P7, P9, U1 to U4, R1 to R4, X2 to X5, H1 to H6,
// M1). It leaves out none.
func TestVectorsInNode(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	all := 0
	for _, name := range files {
		var file struct{ Count int }
		readJSON(t, name, &file)
		all += file.Count
	}
	out, code := evaluate(t, vectorsDir)
	if want := fmt.Sprintf("%d vectors, 0 differ\n", all); code != 0 || out != want {
		t.Errorf("status %d, want %q:\n%s", code, want, out)
	}
}

// TestVectorsInNodeFail: one wrong vector in any of the files is found and named, and so is a
// file that is shorter than it says. Otherwise TestVectorsInNode would say nothing.
func TestVectorsInNodeFail(t *testing.T) {
	for kind, change := range map[string]struct{ id, old, new string }{
		"labels":    {"labels/complete-yes", `"class":"incomplete"`, `"class":"ok"`},
		"policies":  {"policies/token-unknown-capital", `"unknown-token"`, `"duplicate"`},
		"decisions": {"decisions/self-other", `"accepted":false`, `"accepted":true`},
		"targets":   {"targets/template-dots", `"accepted":false`, `"accepted":true`},
		"patterns":  {"patterns/twice-case", `"duplicate"`, `"missing"`},
		"resources": {"resources/way-round-twice", `"patterns":[0,1]`, `"patterns":[0]`},
		"published": {"published/policy-false", `"governed":false`, `"governed":true`},
		"hosts":     {"hosts/ceiling-lowered", `"blocked-by-ceiling"`, `"answered"`},
		"uris":      {"uris/default-port", `"canonical":"https://records.example/mcp"`, `"canonical":null`},
		"equality":  {"equality/not-trailing-slash", `"equal":false`, `"equal":true`},
		"refusals":  {"refusals/private", `"error":{"code":403`, `"error":{"code":-32000`},
		"recognise": {"recognise/not-key-case", `"refusal":false`, `"refusal":true`},
		"codes":     {"codes/reserved-minus-32000", `"allowed":false`, `"allowed":true`},
		"modes":     {"modes/of-unset-in-report", `"want":"report"`, `"want":"enforce"`},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(vectorsDir)); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, kind+".json")
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			at := -1
			for i, line := range lines {
				if strings.Contains(line, `"id":"`+change.id+`"`) && strings.Contains(line, change.old) {
					at = i
				}
			}
			if at < 0 {
				t.Fatalf("%s says nothing of %s", change.id, change.old)
			}
			wrong := strings.Replace(lines[at], change.old, change.new, 1)
			for what, line := range map[string]string{change.id + ": ": wrong, kind + ".json: ": ""} {
				changed := strings.Join(lines[:at], "") + line + strings.Join(lines[at+1:], "")
				if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
					t.Fatal(err)
				}
				out, code := evaluate(t, dir)
				if code != 1 || !strings.HasPrefix(out, what) || !strings.Contains(out, ", ") {
					t.Errorf("with %q changed: status %d:\n%s", what, code, out)
				}
			}
		})
	}
}
