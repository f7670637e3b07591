package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	buildTime = 3 * time.Minute  // for the build of both servers
	patience  = 60 * time.Second // for everything that one test waits for
	stopTime  = 10 * time.Second // for a process to end once it was asked to
)

// binaries is the directory that the servers are built into.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is a function of its own so that the directory is removed before the exit.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flowgate-interop-")
	if err == nil {
		binaries = dir
		err = build(dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// build builds in the main module's directory, with its go.mod: what is tested are
// the servers as their own authors get them.
func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./examples/records-server", "./examples/webfetch-server")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the servers: %w\n%s", err, out)
	}
	return nil
}

// testContext ends with the test, or when it has waited too long. It also ends some
// time before go test itself loses patience, since that would leave processes behind.
func testContext(t *testing.T) context.Context {
	t.Helper()
	end := time.Now().Add(patience)
	if last, ok := t.Deadline(); ok && last.Add(-2*stopTime).Before(end) {
		end = last.Add(-2 * stopTime)
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	t.Cleanup(cancel)
	return ctx
}
