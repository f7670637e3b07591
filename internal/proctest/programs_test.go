package proctest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// module writes a module with one program.
func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "hello/main.go": source} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runFunc is a test binary's tests.
type runFunc func() int

func (f runFunc) Run() int { return f() }

// A program is built once, however many tests want it, and removed when they have ended.
func TestPrograms(t *testing.T) {
	var programs Programs
	dir := module(t, "package main\n\nfunc main() {}\n")
	status := programs.Run(runFunc(func() int {
		file := programs.Build(t, dir, "./hello")
		if filepath.Dir(file) != programs.Dir() {
			t.Errorf("it is %s", file)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if again, err := programs.build(target{dir, "./hello"}); err != nil || again != file {
					t.Errorf("%s, %v", again, err)
				}
			})
		}
		wg.Wait()
		if _, err := os.Stat(file); err == nil {
			t.Error("it was built twice")
		}
		return 7
	}))
	if status != 7 {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat(programs.Dir()); err == nil {
		t.Error("the programs are still there")
	}
}

// What the compiler says is what whoever reads the failure needs.
func TestProgramThatDoesNotCompile(t *testing.T) {
	var programs Programs
	dir := module(t, "package main\n\nfunc main() { luck() }\n")
	_, err := programs.build(target{dir, "./hello"})
	has(t, err, "build ./hello: TestMain does not run the tests by Programs.Run")
	programs.Run(runFunc(func() int {
		var r recorder
		r.run(func() { programs.Build(&r, dir, "./hello") })
		if len(r.failures) != 1 {
			t.Fatalf("failed with %q", r.failures)
		}
		_, err = programs.build(target{dir, "./hello"})
		has(t, err, "build ./hello: exit status 1\n", "undefined: luck")
		return 0
	}))
}
