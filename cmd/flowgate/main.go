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

	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
)

// The exit statuses.
const (
	statusOK       = 0 // nothing to mend
	statusFindings = 1 // something to mend
	statusMisuse   = 2 // the question could not be answered
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	heed(cancel)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// heed makes every signal that would end the program leave it the time to end what it
// has started: a child is not in the terminal's process group. A second one ends both at
// once. What was ignored on purpose, as by nohup, stays so.
func heed(cancel func()) {
	// Without a reader a write fails, which shows at the end; it would kill otherwise. It
	// does not interrupt: a child that stops reading causes the same signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	asked := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(asked, s)
		}
	}
	go func() {
		<-asked
		cancel()
		<-asked
		peer.KillChildren()
		os.Exit(statusMisuse)
	}()
}

// run is the whole program, from its arguments to its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, colour: colourful(stdout), nonce: judge.Nonce}
	return a.run(ctx, args)
}

// app is one run of the program. Tests make their own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	out            *output // what stdout is while a command runs
	colour         bool
	nonce          func() string    // makes a probe's principal recognisable
	grace          time.Duration    // see peer.Config
	now            func() time.Time // what report reckons from; nil is the clock
}

const usage = `Usage: flowgate COMMAND [FLAGS]

Commands:
  validate     check what a file or a running MCP server declares
  explain      say why a flow policy accepts or refuses an origin label
  probe        find out whether labels arrive at a server and are enforced
  conformance  try whether a server keeps the rules for whoever receives labels
  report       say what enforcing would stop, from the records that gates have written

flowgate COMMAND -h, or flowgate help COMMAND, shows the flags of a command, and
flowgate version which version this is.

Exit status: 0 all is well, 1 there is something to mend, 2 the question could
not be answered (wrong flags, unreadable file, server out of reach or silent).
go run turns every failure into status 1; for scripts:
  go install github.com/flowgate-mcp/flowgate/cmd/flowgate@latest
`

// errMisuse marks a mistake on the command line that has been explained already.
var errMisuse = errors.New("invalid command line")

// run ends with statusMisuse if what there was to say could not be written: whoever
// reads the status alone must not take silence for an answer.
func (a *app) run(ctx context.Context, args []string) int {
	a.out = &output{to: a.stdout}
	a.stdout = a.out
	status := a.command(ctx, args)
	if a.out.err != nil {
		fmt.Fprintf(a.stderr, "flowgate: cannot write the output: %s\n", cause(a.out.err))
		return statusMisuse
	}
	return status
}

func (a *app) command(ctx context.Context, args []string) int {
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
	case "report":
		command = a.report
	case "conformance":
		command = a.conformance
	case "help", "-h", "-help", "--help":
		fmt.Fprint(a.stdout, usage)
		return statusOK
	case "version", "-version", "--version":
		fmt.Fprintln(a.stdout, versionLine())
		return statusOK
	default:
		fmt.Fprintf(a.stderr, "flowgate: there is no command %s; use validate, explain, probe, conformance, report, help or version\n", quoted(name, 40))
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
