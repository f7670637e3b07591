package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
)

const (
	// laneDepth is how many records wait for one sink before records are lost to it.
	laneDepth = 4096
	// laneContexts is how many of them keep the context of their request.
	laneContexts = 64
	// sinkPatience is how long a request waits for a sink to take its record. A sink that
	// answers in time has it before the handler runs; for one that does not, no further
	// request waits until it has caught up.
	sinkPatience = 50 * time.Millisecond
	// complaintGap is how far apart the log lines about one trouble of a sink are at least.
	complaintGap = time.Second
)

// lane is the way to one sink: a queue with a goroutine that lives only while there is
// something in it.
type lane struct {
	sink decision.Sink

	mu      sync.Mutex
	queue   []*delivery
	running bool
	late    bool            // a request has waited in vain, and the queue was not empty since
	lost    uint64          // requests that the next delivery has to tell of
	last    decision.Record // of those that were lost, while there are any

	failed, full complaint
}

// delivery is one record on its way.
type delivery struct {
	lane *lane
	ctx  context.Context
	rec  decision.Record
	done chan struct{}
}

func newLane(sink decision.Sink, rec *recorder, index int) *lane {
	return &lane{
		sink:   sink,
		failed: complaint{rec: rec, sink: index, text: "a decision sink failed"},
		full:   complaint{rec: rec, sink: index, text: "a decision sink is too slow; records are lost to it and counted"},
	}
}

// put queues a record. It returns the delivery if it is worth waiting for.
func (l *lane) put(ctx context.Context, r decision.Record) *delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= laneDepth {
		l.lost += r.Requests()
		l.last = r
		l.full.add(r.Requests(), nil)
		return nil
	}
	if len(l.queue) >= laneContexts {
		// The request will be over, and what its context holds, such as its label, would be
		// kept for nothing.
		ctx = context.Background()
	}
	// What a sink makes of the slices is its own.
	r.Rejected, r.AcceptFrom = slices.Clone(r.Rejected), slices.Clone(r.AcceptFrom)
	d := &delivery{lane: l, ctx: ctx, rec: r, done: make(chan struct{})}
	d.rec.Lost, l.lost = l.lost, 0
	l.queue = append(l.queue, d)
	if !l.running {
		l.running = true
		go l.run()
	}
	if l.late {
		return nil
	}
	return d
}

// run delivers until the queue is empty. A sink that ends the goroutine ends that of one
// record.
func (l *lane) run() {
	var d *delivery
	defer func() {
		if d != nil {
			l.finish(d, errSinkExit)
			go l.run()
		}
	}()
	for {
		if d = l.next(); d == nil {
			return
		}
		l.finish(d, call(l.sink, d))
	}
}

// next returns the delivery that is due, or nil when there is none and the lane rests.
func (l *lane) next() *delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.tellLost()
	}
	if len(l.queue) == 0 {
		l.queue, l.running, l.late = nil, false, false
		return nil
	}
	return l.queue[0]
}

// tellLost queues the last of the records that were lost, to stand for all of them, so that
// none is untold for want of a next one. The caller holds l.mu.
func (l *lane) tellLost() {
	if l.lost == 0 {
		return
	}
	d := &delivery{lane: l, ctx: context.Background(), rec: l.last, done: make(chan struct{})}
	d.rec.Lost = l.lost - 1 - d.rec.Suppressed
	l.lost, l.last = 0, decision.Record{}
	l.queue = append(l.queue, d)
}

// finish takes a delivery off the queue, and notes what the sink could not do with it.
func (l *lane) finish(d *delivery, err error) {
	if err != nil {
		l.failed.add(d.rec.Requests(), err)
	}
	l.mu.Lock()
	l.queue[0] = nil
	l.queue = l.queue[1:]
	l.mu.Unlock()
	close(d.done)
}

// call asks the sink, whose panic is an error like any other.
func call(sink decision.Sink, d *delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = sinkPanic{p}
		}
	}()
	return sink.Record(d.ctx, d.rec)
}

// sinkPanic is what a sink has panicked with.
type sinkPanic struct{ value any }

func (e sinkPanic) Error() string { return fmt.Sprintf("the sink panicked: %v", e.value) }

var errSinkExit = errors.New("the sink ended its goroutine")

// drain waits until the sink has had what is in the queue now, and has been told of what it
// was not given.
func (l *lane) drain(ctx context.Context) error {
	l.mu.Lock()
	l.tellLost()
	if len(l.queue) == 0 {
		l.mu.Unlock()
		return nil
	}
	last := l.queue[len(l.queue)-1]
	l.mu.Unlock()
	select {
	case <-last.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitFor waits for deliveries, for all of them together no longer than sinkPatience, and
// marks the lanes that are late.
func waitFor(deliveries []*delivery) {
	if len(deliveries) == 0 {
		return
	}
	timer := time.NewTimer(sinkPatience)
	defer timer.Stop()
	over := false
	for _, d := range deliveries {
		if !over {
			select {
			case <-d.done:
				continue
			case <-timer.C:
				over = true
			}
		}
		select {
		case <-d.done:
		default:
			d.lane.mu.Lock()
			d.lane.late = d.lane.running
			d.lane.mu.Unlock()
		}
	}
}

// complaint logs one kind of trouble with a sink, in a goroutine of its own and at most once
// a second, so that neither a logger that blocks nor one that fails keeps a record from a
// sink. The counts in its lines add up to how many requests there was trouble with.
type complaint struct {
	rec  *recorder
	sink int
	text string

	mu    sync.Mutex
	armed bool // a line is due or being written
	told  time.Time
	n     uint64 // requests since the last line
	err   error  // of the last of them
}

// add notes trouble with a record that stands for n requests.
func (c *complaint) add(n uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.err = c.n+n, err
	c.arm()
}

// arm sees to it that there is a line when it is time for one. The caller holds c.mu.
func (c *complaint) arm() {
	if !c.armed && c.n > 0 {
		c.armed = true
		time.AfterFunc(time.Until(c.told.Add(complaintGap)), c.due)
	}
}

// due is what a timer of arm calls.
func (c *complaint) due() {
	defer func() { // also if the logger ends the goroutine
		c.mu.Lock()
		defer c.mu.Unlock()
		c.armed = false
		c.arm()
	}()
	c.tell()
}

// pending reports whether there is something to tell.
func (c *complaint) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > 0
}

// tell writes the line.
func (c *complaint) tell() {
	c.mu.Lock()
	n, err := c.n, c.err
	c.n, c.err, c.told = 0, nil, time.Now()
	c.mu.Unlock()
	if n == 0 {
		return
	}
	attrs := []slog.Attr{slog.Int("sink", c.sink), slog.Uint64("requests", n)}
	if err != nil {
		attrs = append(attrs, slog.String("error", escaped(errorText(err))))
	}
	c.rec.say(context.Background(), slog.LevelError, c.text, attrs...)
}

// errorText is the text of a sink's error, whose method may panic.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("a %T, whose text cannot be had", err)
		}
	}()
	return err.Error()
}
