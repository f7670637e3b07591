package interop

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/proctest"
)

const (
	patience = 60 * time.Second // for everything that one test waits for
	stopTime = 10 * time.Second // for a process to end once it was asked to
)

// programs are the servers, and flowgate itself.
var programs proctest.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// built returns the file of a program of the main module. It is built there, with that
// module's go.mod: what is tested are the servers as their own authors get them.
func built(t *testing.T, pkg string) string {
	t.Helper()
	return programs.Build(t, "..", pkg)
}

func (s server) program(t *testing.T) string {
	t.Helper()
	return built(t, "./examples/"+s.name)
}

// testContext ends with the test, or when it has waited too long. It also ends some
// time before go test itself loses patience, since that would leave processes behind.
func testContext(t *testing.T) context.Context {
	t.Helper()
	for _, s := range servers {
		s.program(t) // which no test's patience has to last for
	}
	end := time.Now().Add(patience)
	if last, ok := t.Deadline(); ok && last.Add(-2*stopTime).Before(end) {
		end = last.Add(-2 * stopTime)
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	t.Cleanup(cancel)
	return ctx
}
