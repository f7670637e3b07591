package overrides

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"time"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// DefaultInterval is how often [Watch] looks at the file unless [WatchConfig] says
// otherwise.
const DefaultInterval = 2 * time.Second

// Applier is what overrides are applied to: *middleware.Gate. Apply takes them whole or,
// with an error, not at all, and logs the change itself. It is called by one goroutine at a
// time.
//
// One that also has the method Overrides() Overrides is asked what is in force, and is not
// given the same again.
type Applier interface {
	// Apply puts overrides into force. An error says why they are not.
	Apply(Overrides) error
}

// WatchConfig is how [Watch] watches. The zero value will do.
type WatchConfig struct {
	// Literals must name their fields.
	_ [0]func()

	// Interval is how often the file is looked at; zero means [DefaultInterval]. A
	// changed file is applied after one to two intervals.
	Interval time.Duration

	// Logger is told what was reloaded and what was refused; nil means slog.Default().
	Logger *slog.Logger
}

// Watch keeps a gate's overrides at what a file says. It blocks until ctx is done and
// returns nil then; with an error it has not begun: the path is empty, the gate nil or the
// interval negative. It is safe to watch one file for several gates.
//
// The file is read at once, at every interval, and, where there is one, on SIGHUP. What it says is applied whole
// or not at all: a file that cannot be read, that has mistakes, or that the gate refuses
// changes nothing, and the last good overrides stay in force, without a limit of time.
// Overrides that say what is in force already are not applied again, whatever they look
// like; the first ones are, unless the gate can say what it has. One that can is held to
// the file: what somebody else has applied is undone at the next look, with a warning, for
// as long as the file says what was applied from it last.
//
// A changed file counts once two looks in a row have found the same in it, because the
// beginning of a file in YAML that is just being written can be a file without mistakes
// that says less. The first look and SIGHUP do not wait for a second one. To be safe
// there too, write another file and rename it.
//
// Every content that is refused is logged once, with a line for each of its mistakes, at
// most [MaxFaults], and so is every other reason for which the file cannot be read until it
// changes. SIGHUP has the file judged
// and logged again although nothing has changed, which is the way to apply it after the
// server has got a tool for want of which it was refused. While Watch runs, SIGHUP does not
// end the process; it is told to other receivers as before.
//
// The file is read each time, and compared; nothing is made of its time and size, and no
// library is asked for notice. Where configuration is mounted, a change is a link that is
// swapped two directories up; editors rename; network file systems send no notice and keep
// time badly. A file of at most [MaxBytes] is read in less time than it takes to get
// these right. A file system that does not answer holds up Watch, and nothing else.
func Watch(ctx context.Context, path string, gate Applier, cfg WatchConfig) error {
	fault := func(at, detail string) error {
		return &flowerrors.ConfigError{Path: at, Reason: flowerrors.ReasonMissing, Detail: detail}
	}
	switch {
	case path == "":
		return fault("path", "there is no file to watch")
	case gate == nil:
		return fault("gate", "there is nothing to apply overrides to")
	case cfg.Interval < 0:
		return &flowerrors.ConfigError{
			Path: "interval", Value: cfg.Interval.String(), Reason: flowerrors.ReasonLimit, Detail: "the interval is negative", Hint: "leave it zero for the default",
		}
	}
	hangUp := make(chan os.Signal, 1)
	onHangUp(hangUp)
	defer signal.Stop(hangUp)
	watch(ctx, path, gate, cfg, hangUp)
	return nil
}

// watch is Watch without the signal.
func watch(ctx context.Context, path string, gate Applier, cfg WatchConfig, hangUp <-chan os.Signal) {
	w := &watcher{path: path, gate: gate, log: cfg.Logger}
	if w.log == nil {
		w.log = slog.Default()
	}
	interval := cfg.Interval
	if interval == 0 {
		interval = DefaultInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	w.look(ctx, true)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangUp:
			w.log.LogAttrs(ctx, slog.LevelInfo, "flow overrides are read again because of SIGHUP", w.file())
			w.look(ctx, true)
		case <-ticker.C:
			w.look(ctx, false)
		}
	}
}
