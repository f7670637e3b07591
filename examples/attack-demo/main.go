// Attack-demo shows an attack across two MCP servers and what flow policy makes of it. It
// builds and starts the records server (a child process, stdio), the web-fetch server
// (Streamable HTTP) and a local web page that hides an instruction, and lets a scripted
// model follow that instruction, in one scenario after another.
//
//	go run ./examples/attack-demo [-json] [-scenario name] [-debug]
//
// The model is the only thing that is simulated: it reads what really came back, and does what
// a text tells it to. Whether a request was sent is counted between the host and its
// transports; whether a handler ran is what the servers themselves have counted.
//
// With -json there is one JSON object per step on standard output. Messages for people go to
// standard error; with -debug also every decision of the host. The exit status is 0 only
// if every step came out as it must. It needs the go command and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

const (
	name = "attack-demo"

	// buildTime and playTime bound the run. The first build compiles everything.
	buildTime = 5 * time.Minute
	playTime  = time.Minute
	// graceTime is how long a process that was asked to end may take before it is killed.
	graceTime = 3 * time.Second
)

func main() { serve.Main(name, run) }

type options struct {
	json     bool
	scenario string
	debug    bool
}

// run is the whole program, from its command line to its last line.
func run(ctx context.Context, env serve.Env) (err error) {
	opts, err := parseOptions(env)
	if err != nil {
		return err
	}
	d := &demo{log: serve.Logger(env.Stderr, env, opts.debug)}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.open(ctx); err != nil {
		return err
	}
	return d.tell(ctx, opts.chosen(), newReporter(env, opts.json))
}

func parseOptions(env serve.Env) (options, error) {
	var opts options
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(env.Stderr)
	fs.BoolVar(&opts.json, "json", false, "print JSON lines, one object per step")
	fs.StringVar(&opts.scenario, "scenario", "", "play only the scenario of this `name`: "+strings.Join(names(), ", "))
	fs.BoolVar(&opts.debug, "debug", false, "log every decision of the host")
	if err := fs.Parse(env.Args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opts, err
		}
		return opts, fmt.Errorf("%w: %w", serve.ErrUsage, err)
	}
	if fs.NArg() > 0 || len(opts.chosen()) == 0 {
		fmt.Fprintf(env.Stderr, "no such scenario or argument: %+q\n", append(fs.Args(), opts.scenario))
		fs.Usage()
		return opts, serve.ErrUsage
	}
	return opts, nil
}

// chosen returns the scenarios that are to be played.
func (o options) chosen() []scenario {
	if o.scenario == "" {
		return story()
	}
	var list []scenario
	for _, sc := range story() {
		if sc.name == o.scenario {
			list = append(list, sc)
		}
	}
	return list
}

// demo is what all scenarios share.
type demo struct {
	log       *slog.Logger
	dir       string // holds the servers' programs and what is uploaded; goes at the end
	site      *site
	sessions  []*session
	processes []*exec.Cmd // every one that was made
}

// open builds the servers and opens the web site.
func (d *demo) open(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", name+"-"); err != nil {
		return err
	}
	d.log.Info("building the records server and the web-fetch server")
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	const examples = "github.com/flowgate-mcp/flowgate/examples/"
	build := d.command(ctx, "go", "build", "-o", d.dir, examples+"records-server", examples+"webfetch-server")
	text, err := build.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("go build: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("go build, which needs a clone of the repository: %w\n%s", err, text)
	}
	d.site, err = openSite()
	return err
}

// close removes everything again. No process is left by then, because each stage ends its
// own; one that is would be a mistake.
func (d *demo) close() error {
	var err error
	for _, cmd := range d.processes {
		if cmd.Process != nil && cmd.ProcessState == nil {
			err = errors.Join(err, fmt.Errorf("process %d is left", cmd.Process.Pid), cmd.Process.Kill())
		}
	}
	if d.site != nil {
		err = errors.Join(err, d.site.close())
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	return err
}

// tell plays the scenarios, reports each and returns everything that did not come out as it
// must.
func (d *demo) tell(ctx context.Context, story []scenario, r *reporter) error {
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	r.begin()
	for _, sc := range story {
		if err := d.play(ctx, sc, r); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err() // what came of that does not help
			}
			return fmt.Errorf("scenario %s: %w", sc.name, err)
		}
	}
	return r.end()
}

// play plays one scenario, each of its stages with servers of its own.
func (d *demo) play(ctx context.Context, sc scenario, r *reporter) error {
	r.title(sc)
	for _, st := range sc.stages {
		s := &session{demo: d, number: len(d.sessions), scenario: sc.name, stage: st, lines: make(map[string]*line)}
		d.sessions = append(d.sessions, s)
		if err := s.play(ctx); err != nil {
			return err
		}
		r.stage(s)
	}
	return nil
}

// path returns where a file in the demo's own directory is.
func (d *demo) path(file string) string { return filepath.Join(d.dir, file) }
