package proctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// buildTime is how long the build of one program may take, with nothing in the cache and
// the machine busy with other tests.
const buildTime = 5 * time.Minute

// Programs are the programs that the tests of a package need. Each is built once, when the
// first test asks for it. It is safe for concurrent use while [Programs.Run] runs.
type Programs struct {
	dir string

	mu    sync.Mutex
	built map[target]func() (string, error)
}

// target is a package as it is named in a directory.
type target struct{ dir, pkg string }

// Run is what TestMain has to exit with: it runs the tests and removes what was built for
// them.
func (p *Programs) Run(m interface{ Run() int }) (status int) {
	dir, err := os.MkdirTemp("", "flowgate-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
	}()
	p.dir = dir
	return m.Run()
}

// Dir returns the directory that the programs are in.
func (p *Programs) Dir() string { return p.dir }

// Build returns the file of a program, which it builds if no test has asked for it before.
// dir is where the package is named from: empty for the directory of the test. Any other
// stands for a module of its own, whose go.mod alone counts, without a workspace. The
// last element of pkg is the program's name, and no other program of the tests may have it.
func (p *Programs) Build(t testing.TB, dir, pkg string) string {
	t.Helper()
	file, err := p.File(dir, pkg)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// File is Build where there is no test at hand, as in an Example.
func (p *Programs) File(dir, pkg string) (string, error) { return p.build(target{dir, pkg}) }

func (p *Programs) build(what target) (string, error) {
	if p.dir == "" {
		return "", fmt.Errorf("build %s: TestMain does not run the tests by Programs.Run", what.pkg)
	}
	p.mu.Lock()
	once, ok := p.built[what]
	if !ok {
		if p.built == nil {
			p.built = make(map[target]func() (string, error))
		}
		once = sync.OnceValues(func() (string, error) { return compile(what, p.dir) })
		p.built[what] = once
	}
	p.mu.Unlock()
	return once()
}

// compile builds a program into a directory.
func compile(what target, into string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", into+string(filepath.Separator), what.pkg)
	cmd.WaitDelay = usualGrace // for the compiler, which holds the output
	if what.dir != "" {
		cmd.Dir = what.dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
	}
	if text, err := cmd.CombinedOutput(); ctx.Err() != nil {
		return "", fmt.Errorf("build %s: it takes more than %v\n%s", what.pkg, buildTime, text)
	} else if err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", what.pkg, err, text)
	}
	return filepath.Join(into, path.Base(what.pkg)), nil
}
