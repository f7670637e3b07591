package decision

import "context"

// Sink takes decision records: a file, a counter, an audit service.
//
// Record is called once for each record, from one goroutine at a time for each gate, with
// the values of the request's context but without its end; where records have queued up, of
// those further back without the values too. What it does changes no verdict: an
// error and a panic are logged by the gate, and a call that takes long holds up the
// request for a moment only (middleware says how long), after which records queue up and,
// when the queue is full, are counted in [Record.Lost] of the next one. A sink must not
// change the record or what its slices hold, and may keep it.
//
// A sink may make requests of the gated server, which have records of their own, but it
// cannot wait for the gate to be done with sinks: it would wait for itself.
//
// A sink that several gates share is called from several goroutines.
type Sink interface {
	// Record takes one record. An error is logged by the gate and has no other effect.
	Record(ctx context.Context, r Record) error
}

// SinkFunc makes a function a [Sink].
type SinkFunc func(ctx context.Context, r Record) error

// Record calls the function.
func (f SinkFunc) Record(ctx context.Context, r Record) error { return f(ctx, r) }
