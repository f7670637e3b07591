package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
)

// session is one stage of a scenario while it is played: servers that were started for it, a
// host, and a model for each turn.
type session struct {
	demo     *demo
	scenario string
	stage    stage
	number   int // of all sessions

	lines   map[string]*line // by the server's name
	host    *host.Host       // nil where there is none: today
	models  []*model
	results []result
	wrong   []string // what did not come out as it must, beside the steps

	mu      sync.Mutex
	records []host.Record
}

// line is the way to one server.
type line struct {
	wire   *wire
	client *client.Client
	conn   *host.Connection            // nil without a host
	end    func() (invocations, error) // ends the server and says what has run in it
}

// invocations is how often each handler of a server has run.
type invocations map[string]int

// result is what became of a step. The JSON form is that of -json.
type result struct {
	Scenario   string  `json:"scenario"`
	Step       string  `json:"step"`
	Server     string  `json:"server"`
	Target     string  `json:"target"`
	Outcome    outcome `json:"outcome"`
	Sent       bool    `json:"sent"`
	HandlerRan bool    `json:"handlerRan"`

	handler string // whose count says whether it ran
	label   string // that was on the wire
	problem string // in what it did not come out as it must
}

// play plays the stage from its start to its end. Whether a handler has run is known only
// then.
func (s *session) play(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, t := range s.stage.turns {
		if err := s.turn(ctx, t); err != nil {
			return err
		}
	}
	if s.stage.ask != nil {
		if err := s.stage.ask(ctx, s); err != nil {
			s.wrong = append(s.wrong, err.Error())
		}
	}
	for _, m := range s.models {
		if err := silent(m); err != nil {
			s.wrong = append(s.wrong, err.Error())
		}
	}
	return nil
}

// open starts the servers and connects the host with them.
func (s *session) open(ctx context.Context) error {
	if !s.stage.plain {
		cfg := s.stage.host
		cfg.Record = s.record
		h, err := host.New(cfg)
		if err != nil {
			return err
		}
		s.host = h
	}
	if err := s.openStdio(ctx, records); err != nil {
		return fmt.Errorf("%s: %w", records, err)
	}
	remotes := []string{webfetch}
	if s.stage.mirror {
		remotes = append(remotes, mirror)
	}
	for _, server := range remotes {
		if err := s.openHTTP(ctx, server); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
	}
	return nil
}

// uploads returns the directory of what is uploaded to a server.
func (s *session) uploads(server string) string {
	return s.demo.path(server + "-" + strconv.Itoa(s.number))
}

// record keeps what the host says of a request. It is for people (H7).
func (s *session) record(ctx context.Context, r host.Record) {
	s.demo.log.DebugContext(ctx, "decided", "record", r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
}

// decided returns the host's records so far.
func (s *session) decided() []host.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// turn lets a model do what the user asks for, and whatever it reads on the way.
func (s *session) turn(ctx context.Context, t turn) error {
	m := &model{}
	s.models = append(s.models, m)
	if s.host != nil {
		// The host has no words of its own in the context, and shows the model no
		// server's description but where the story says so.
		opened := host.Turn{Name: s.scenario, From: []host.Sources{host.UserInput()}, Shown: []*host.Connection{}}
		if t.shown {
			opened.Shown = append(opened.Shown, s.lines[records].conn)
		}
		ctx = host.WithPartition(ctx, s.host.Open(opened))
	}
	if t.shown {
		tools, err := s.lines[records].client.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return fmt.Errorf("list the tools: %+q", err.Error())
		}
		for _, tool := range tools.Tools {
			m.hear(tool.Name + ": " + tool.Description)
		}
	}
	m.hear(strings.ReplaceAll(t.user, "SITE", "http://"+s.demo.site.addr))
	done := 0
	for o, more := m.next(); more; o, more = m.next() {
		must := step{name: "unexpected", outcome: "nothing"}
		if done < len(t.steps) {
			must = t.steps[done]
		}
		done++
		s.results = append(s.results, s.step(ctx, m, o, must))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, must := range t.steps[min(done, len(t.steps)):] {
		s.results = append(s.results, result{
			Scenario: s.scenario, Step: must.name, Server: must.server, Target: must.target, Outcome: failed,
			problem: "was not even tried, must be " + string(must.outcome),
		})
	}
	return nil
}

// step does one thing that the model wants, tells it what came back, and notes what became
// of it.
func (s *session) step(ctx context.Context, m *model, o order, must step) result {
	r := result{Scenario: s.scenario, Step: must.name, Server: o.server, Target: shortened(o.target), Outcome: failed, handler: handlerOf(o)}
	l := s.lines[o.server]
	if l == nil {
		r.problem = "there is no such server"
		return r
	}
	l.wire.take("") // what was sent before is none of this step's
	decisions := len(s.decided())
	text, err := l.do(ctx, o)
	if err != nil {
		m.hear(err.Error()) // of a refusal, whoever refused, this is the one sentence (H7)
	} else {
		m.answer(o, text)
	}
	if left := l.wire.take(methods[o.verb]); len(left) > 0 {
		r.Sent, r.Outcome, r.label = true, left[0].outcome, left[0].label
	} else if decided := s.decided(); len(decided) > decisions {
		r.Outcome = blocked(decided[len(decided)-1].Outcome)
	}
	switch {
	case r.Server != must.server || r.Target != must.target:
		r.problem = fmt.Sprintf("must be %s at %s", must.target, must.server)
	case r.Outcome != must.outcome || r.Sent != must.outcome.sent():
		r.problem = "must be " + string(must.outcome)
	case (err == nil) != (r.Outcome == allowed) || s.host != nil && err != nil && err.Error() != flowerrors.ModelText:
		r.problem = "the model was told something else than became of it"
	}
	return r
}

// blocked says what a host's outcome is called here.
func blocked(o host.Outcome) outcome {
	switch o {
	case host.BlockedByCeiling:
		return ceiling
	case host.BlockedByPolicy:
		return precheck
	}
	return failed
}

// sent reports whether a step with this outcome has left the host.
func (o outcome) sent() bool { return o == allowed || o == rejected }

// close ends the servers and notes which of their handlers have run.
func (s *session) close() error {
	var errs []error
	for server, l := range s.lines {
		ran, err := l.end()
		errs = append(errs, err)
		if err == nil {
			s.ran(server, ran)
		}
	}
	return errors.Join(errs...)
}

// ran notes which handlers of a server have run. The counts are of the whole stage, so each
// handler is the target of one step at most.
func (s *session) ran(server string, ran invocations) {
	targets := make(map[string]bool)
	for i := range s.results {
		r := &s.results[i]
		if r.Server != server || r.handler == "" { // or it was not tried
			continue
		}
		if targets[r.handler] {
			r.problem = "an earlier step has the same target, so nobody can tell which of them ran"
			continue
		}
		targets[r.handler] = true
		r.HandlerRan = ran[r.handler] > 0
		if want := r.Outcome == allowed; r.problem == "" && (ran[r.handler] > 1 || r.HandlerRan != want) {
			r.problem = fmt.Sprintf("the handler has run %d time(s)", ran[r.handler])
		}
	}
	for handler, n := range ran {
		if n > 0 && !targets[handler] {
			s.wrong = append(s.wrong, fmt.Sprintf("%s: %+q has run, and no step was to run it", server, handler))
		}
	}
}
