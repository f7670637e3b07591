package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Env is a process as a server sees it. Tests build their own and run a whole
// server inside the test binary.
type Env struct {
	Args      []string // without the program's name
	LookupEnv func(string) (string, bool)
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
}

// Main runs a server until it ends or the first SIGINT or SIGTERM, which asks
// for a graceful shutdown; a second one kills the process the usual way. It
// does not return.
func Main(name string, run func(context.Context, Env) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, Env{
		Args:      os.Args[1:],
		LookupEnv: os.LookupEnv,
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
	})
	os.Exit(exitCode(name, err, os.Stderr))
}

// exitCode explains err on w, unless the flag package has done so, and returns
// the process's exit status for it.
func exitCode(name string, err error, w io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		return 2
	default:
		fmt.Fprintf(w, "%s: %v\n", name, err)
		return 1
	}
}
