package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// What the parent tells a server before it starts.
const (
	envServe = "FLOWGATE_SOAK_SERVE" // "stdio" or an address for HTTP
	envFile  = "FLOWGATE_SOAK_FILE"  // of overrides to be watched; "" for none
	envBug   = "FLOWGATE_SOAK_BUG"
)

// The bugs that a server can have, for TestNoticed.
const (
	bugVerdict   = "a call runs that should not"
	bugRecord    = "a record is lost"
	bugTwice     = "an answer comes twice"
	bugStale     = "overrides are not applied"
	bugLeak      = "memory leaks"
	bugGoroutine = "a goroutine stays"
	bugStrict    = "a call is refused that should run"
	bugLost      = "an answer is lost"

	// Over HTTP only; the two without this are so over stdio only.
	bugLostHTTP  = "an answer is lost over HTTP"
	bugTwiceHTTP = "an answer comes twice over HTTP"
	bugForeign   = "an answer has the id of another"
	bugList      = "lists show no policies"
	bugStaleHTTP = "overrides are not applied over HTTP"
)

// TestMain turns the test binary into a server when a test asks for one.
func TestMain(m *testing.M) {
	if how := os.Getenv(envServe); how != "" {
		runChild(how)
		return
	}
	os.Exit(m.Run())
}

// command is what the parent asks of a server while it runs, and report the answer.
type command struct {
	Do    string `json:"do"`
	Text  string `json:"text"`
	State int    `json:"state"`
}

type report struct {
	Err     string    `json:"err"`
	Addr    string    `json:"addr"`
	Digest  string    `json:"digest"`
	Broken  int64     `json:"broken"` // files that were refused
	Runs    []event   `json:"runs"`
	Records []account `json:"records"`
	Stats   stats     `json:"stats"`
}

// stats is what a process holds.
type stats struct {
	Heap       uint64 `json:"heap"`
	Goroutines int    `json:"goroutines"`
	Files      int    `json:"files"`
}

func measure() stats {
	for range 3 { // finalizers may hold on to what the first one found
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := stats{Heap: m.HeapAlloc, Goroutines: runtime.NumGoroutine(), Files: -1}
	if files, err := os.ReadDir("/dev/fd"); err == nil {
		s.Files = len(files)
	}
	return s
}

// child is the process of a server.
type child struct {
	world  *world
	gate   *middleware.Gate
	addr   string
	broken atomic.Int64

	applied int // how often overrides were applied, or awaited
	unwatch context.CancelFunc
}

func runChild(how string) {
	c := &child{world: newWorld(os.Getenv(envBug))}
	cfg := middleware.Config{
		URI: ownURI, Logger: slog.New(slog.DiscardHandler), Sinks: []decision.Sink{c.world}, MetaPropagator: numbers{},
	}
	if c.world.bug == bugVerdict {
		cfg.Modes = []middleware.TargetMode{{Kind: policydecl.Tool, Name: "export", Mode: middleware.DangerouslyReport}}
	}
	path := os.Getenv(envFile)
	if path != "" {
		o, err := overrides.Load(path)
		try(err)
		cfg.Overrides = o
	}
	var err error
	c.gate, err = middleware.New(c.world.server, cfg)
	try(err)
	if path != "" {
		logger := slog.New(&refusals{slog.DiscardHandler, &c.broken})
		var ctx context.Context
		ctx, c.unwatch = context.WithCancel(context.Background())
		go func() {
			try(overrides.Watch(ctx, path, c.gate, overrides.WatchConfig{Interval: 20 * time.Millisecond, Logger: logger}))
		}()
	}
	commands, reports := os.NewFile(3, "commands"), os.NewFile(4, "reports")
	if how == "stdio" {
		go c.obey(commands, reports)
		err = c.gate.Listen(context.Background(), os.Stdin, &way{out: os.Stdout, bug: c.world.bug}, server.WithErrorLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			os.Exit(1)
		}
		return
	}
	h, err := c.gate.Handler(server.WithSessionIdleTTL(2*time.Second), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	try(err)
	l, err := net.Listen("tcp", how)
	try(err)
	c.addr = l.Addr().String()
	srv := &http.Server{Handler: bugged(h, c.world.bug), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { try(srv.Serve(l)) }()
	c.obey(commands, reports)
}

// refusals counts the files that Watch refuses.
type refusals struct {
	slog.Handler
	n *atomic.Int64
}

func (h *refusals) Enabled(context.Context, slog.Level) bool { return true }

func (h *refusals) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.n.Add(1)
	}
	return nil
}

// obey does what the parent says, until it says no more.
func (c *child) obey(commands io.Reader, reports io.Writer) {
	in, out := json.NewDecoder(commands), json.NewEncoder(reports)
	for {
		var cmd command
		if in.Decode(&cmd) != nil {
			return
		}
		r, err := c.do(cmd)
		if err != nil {
			r.Err = err.Error()
		}
		if out.Encode(r) != nil {
			return
		}
	}
}

func (c *child) do(cmd command) (r report, err error) {
	switch cmd.Do {
	case "addr":
		r.Addr = c.addr
	case "apply":
		var o overrides.Overrides
		if o, err = overrides.Parse("o.yaml", []byte(cmd.Text)); err == nil && (c.world.bug != bugStale || c.applied < len(variants)) {
			c.applied++
			err = c.gate.Apply(o)
		}
	case "await", "broken":
		err = c.await(cmd)
	case "come":
		err = c.world.come(cmd.Text, cmd.State)
	case "take":
		r.Runs, r.Records = c.world.take()
	case "flush":
		ctx, done := context.WithTimeout(context.Background(), patience)
		defer done()
		err = c.gate.Flush(ctx)
	case "stats":
		r.Stats = measure()
	default:
		err = fmt.Errorf("no such command: %s", cmd.Do)
	}
	r.Digest, r.Broken = c.gate.Settings(), c.broken.Load()
	return r, err
}

// await waits until the file that says Text is in force, or until so many files were refused.
func (c *child) await(cmd command) error {
	c.applied++
	if c.world.bug == bugStaleHTTP && c.applied > len(variants) {
		c.unwatch()
		return nil
	}
	if cmd.Do == "broken" {
		return until(func() bool { return c.broken.Load() >= int64(cmd.State) })
	}
	o, err := overrides.Parse("o.yaml", []byte(cmd.Text))
	if err != nil {
		return err
	}
	return until(func() bool { return c.gate.Overrides().Digest() == o.Digest() })
}

// patience is how long anybody waits for what has to happen. Nothing waits this long
// unless something is wrong.
const patience = 30 * time.Second

// until waits for a condition.
func until(holds func() bool) error { return untilFor(patience, holds) }

func untilFor(d time.Duration, holds func() bool) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(d); !holds(); <-again.C {
		if time.Now().After(end) {
			return fmt.Errorf("what had to happen has not happened in %v", d)
		}
	}
	return nil
}
