package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit statuses.
const (
	statusOK       = 0 // nothing to mend
	statusFindings = 1 // something to mend
	statusMisuse   = 2 // the question could not be answered
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, from its arguments to its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, colour: colourful(stdout), nonce: randomNonce}
	return a.run(ctx, args)
}

// app is one run of the program. Tests make their own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	colour         bool
	nonce          func() string // makes a probe's principal recognisable
	grace          time.Duration // see peer.Config
}

const usage = `Usage: flowgate COMMAND [FLAGS]

Commands:
  validate  check what a file or a running MCP server declares
  explain   say why a flow policy accepts or refuses an origin label
  probe     find out whether labels arrive at a server and are enforced

flowgate COMMAND -h, or flowgate help COMMAND, shows the flags of a command, and
flowgate version which version this is.

Exit status: 0 all is well, 1 there is something to mend, 2 the question could
not be answered (wrong flags, unreadable file, server out of reach or silent).
go run turns every failure into status 1; for scripts:
  go install github.com/flowgate-mcp/flowgate/cmd/flowgate
`

// errMisuse marks a mistake on the command line that has been explained already.
var errMisuse = errors.New("invalid command line")

func (a *app) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(a.stderr, usage)
		return statusMisuse
	}
	name, args := args[0], args[1:]
	if name == "help" && len(args) > 0 {
		name, args = args[0], []string{"-h"}
	}
	var command func(context.Context, []string) (int, error)
	switch name {
	case "validate":
		command = a.validate
	case "explain":
		command = a.explain
	case "probe":
		command = a.probe
	case "help", "-h", "-help", "--help":
		fmt.Fprint(a.stdout, usage)
		return statusOK
	case "version", "-version", "--version":
		fmt.Fprintln(a.stdout, versionLine())
		return statusOK
	default:
		fmt.Fprintf(a.stderr, "flowgate: there is no command %s; use validate, explain, probe, help or version\n", quoted(name, 40))
		return statusMisuse
	}
	status, err := command(ctx, args)
	switch {
	case err == nil:
		return status
	case errors.Is(err, flag.ErrHelp):
		return statusOK
	case errors.Is(err, errMisuse):
		return statusMisuse
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	fmt.Fprintf(a.stderr, "flowgate %s: %s\n", name, err)
	return statusMisuse
}

// flags returns the flag set of a command. Its help goes to standard output when it was
// asked for and to standard error when something was wrong.
func (a *app) flags(name, text string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // parse writes
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), text)
		fs.PrintDefaults()
	}
	return fs
}

// parse reads the flags. Its error is flag.ErrHelp or errMisuse, and explained.
func (a *app) parse(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(a.stdout)
		fs.Usage()
		return err
	case err != nil:
		return a.misuse(fs, "%s", clean(err.Error(), 300))
	}
	return nil
}

// misuse explains a mistake on the command line in one line; the flags are a long read
// and -h away.
func (a *app) misuse(fs *flag.FlagSet, format string, args ...any) error {
	fmt.Fprintf(a.stderr, "flowgate %s: %s\nflowgate %s -h shows the flags\n", fs.Name(), fmt.Sprintf(format, args...), fs.Name())
	return errMisuse
}
