package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
)

// Flow is what the options say about the gate of a server.
type Flow struct {
	Config middleware.Config

	file    string // of overrides
	records io.Closer
	gate    *middleware.Gate
	log     *slog.Logger
}

// flushTimeout is how long a server waits at its end for its last decision records.
const flushTimeout = 2 * time.Second

// Flow reads the overrides and opens the file of decision records. The caller builds the
// gate from Config, calls [Flow.Follow], and [Flow.Close] at the end. A broken file of
// overrides is an error that names all its mistakes.
func (o *Options) Flow(log *slog.Logger) (*Flow, error) {
	f := &Flow{file: o.Overrides, log: log, Config: middleware.Config{
		URI: o.URI, Mode: o.Mode, DangerouslyReportUndeclared: o.ReportUndeclared, Logger: log,
	}}
	if o.Overrides != "" {
		var err error
		if f.Config.Overrides, err = overrides.Load(o.Overrides); err != nil {
			return nil, fmt.Errorf("-overrides: %w", err)
		}
	}
	if o.Records != "" {
		out, err := os.OpenFile(o.Records, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("-records: %w", err)
		}
		f.records = out
		f.Config.Sinks = []decision.Sink{decision.NewWriter(out)}
	}
	return f, nil
}

// Follow keeps the overrides of the gate at what their file says until ctx ends.
func (f *Flow) Follow(ctx context.Context, gate *middleware.Gate) {
	f.gate = gate
	if f.file == "" {
		return
	}
	go func() {
		if err := overrides.Watch(ctx, f.file, gate, overrides.WatchConfig{Logger: f.log}); err != nil {
			f.log.Error("the overrides are not followed", "error", err)
		}
	}()
}

// Close waits for the last decision records and closes their file.
func (f *Flow) Close() error {
	var err error
	if f.gate != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		err = f.gate.Flush(ctx)
	}
	if f.records != nil {
		err = errors.Join(err, f.records.Close())
	}
	return err
}
