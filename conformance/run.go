package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Target says which server to test. Either URL or Command is set.
type Target struct {
	URL     string      // of a Streamable HTTP endpoint
	Header  http.Header // sent with every request
	Command []string    // a program and its arguments, which speaks MCP over stdio
}

// The protocol eras.
const (
	EraHandshake = string(peer.Handshake) // that of initialize
	EraStateless = string(peer.Stateless) // that of server/discover
)

// Options say how to test. The zero value tests in both eras and runs nothing for real
// but tools that say that they only read and need no arguments.
type Options struct {
	// Era is one era to test alone.
	Era string
	// Self is the server's own URI, for which the token self stands.
	Self string
	// Run holds arguments, as JSON objects, for tools that may run for real.
	Run map[string]json.RawMessage
	// Timeout is how long one answer may take; 0 means ten seconds.
	Timeout time.Duration
	// Grace is how long a command may take to end before it is killed; 0 means two seconds.
	Grace time.Duration
	// Name and Version are what the server is told of the client.
	Name, Version string
}

// check reports what is wrong with the options.
func (o *Options) check() error {
	var errs []error
	if o.Era != "" && o.Era != EraHandshake && o.Era != EraStateless {
		errs = append(errs, fmt.Errorf("there is no era %s; use %s or %s", plain.Quote(o.Era, 40), EraHandshake, EraStateless))
	}
	for name, args := range o.Run {
		if !rawjson.IsObject(args) {
			errs = append(errs, fmt.Errorf("the arguments for %s are no JSON object", plain.Quote(name, 80)))
		}
	}
	return errors.Join(errs...)
}

// Run tests a server. The error says why it could not be tested at all: the options are
// wrong, or it was reached in no era. A server that is lost half-way makes no error: the
// check that lost it fails, [Report.Lost] says why, and the checks that are left are not run.
func Run(ctx context.Context, target Target, opts Options) (*Report, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	uri := opts.Self
	if uri == "" {
		uri = judge.PlaceholderSelf
	}
	set, err := policydecl.Compile(policydecl.Config{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("the server's own URI: %w", err)
	}
	r := &Report{Unchecked: allUnchecked()}
	marker := "https://" + judge.Nonce() + ".flowgate-conformance.invalid/mcp"
	kept := map[string]map[string]refusalOf{}
	var errs []error
	for _, era := range []string{EraHandshake, EraStateless} {
		if opts.Era != "" && opts.Era != era {
			r.Eras = append(r.Eras, Era{Name: era, Reason: "it was not asked for"})
			continue
		}
		s := &session{ctx: ctx, opts: &opts, era: era, set: set, marker: marker, stdio: len(target.Command) > 0, kept: map[string]refusalOf{}, further: map[asking]*subject{}}
		if err := s.open(target); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", era, err))
			r.Eras = append(r.Eras, Era{Name: era, Reason: plain.Escape(err.Error(), MaxText)})
			continue
		}
		r.add(s)
		kept[era] = s.kept
	}
	if len(kept) == 0 {
		return nil, errors.Join(errs...)
	}
	r.Checks = append(r.Checks, acrossEras(kept))
	return r, ctx.Err()
}

// add tests a server in one era.
func (r *Report) add(s *session) {
	defer s.conn.Close()
	r.Eras = append(r.Eras, Era{Name: s.era, Version: plain.Escape(s.conn.Version(), 40)})
	info := s.inspected.Server
	r.Server = strings.TrimSpace(plain.Escape(info.Name, 80) + " " + plain.Escape(info.Version, 40))
	r.notices(s)
	for _, k := range catalogue {
		c := &checker{session: s, Check: &Check{ID: k.id, Era: s.era, Title: k.title}}
		before := s.lost
		if before == nil {
			k.run(c)
		}
		switch {
		case s.lost == nil:
		case before == nil && s.ctx.Err() == nil: // and not only that the run was ended
			why := s.lost.Error()
			r.Lost = plain.Escape(strings.TrimSpace(c.ID+" "+s.era)+": "+why, MaxText)
			c.fail("the server was lost after this request", s.last, why)
		case len(c.Failures) == 0:
			c.Status, c.Reason = NotRun, plain.Escape("the server was lost: "+s.lost.Error(), MaxText)
		}
		c.end()
		r.Checks = append(r.Checks, *c.Check)
	}
	r.judged = r.judged || s.judged
}

// notices says what of a server keeps it from being tested.
func (r *Report) notices(s *session) {
	text := s.ungated()
	if text == unannounced && len(s.subjects) > 0 {
		text += " Only what declares a policy of its own was tried."
	}
	if text != "" && !slices.Contains(r.Notices, text) {
		r.Notices = append(r.Notices, text)
	}
}

// T is what [Test] needs of a *testing.T.
type T interface {
	// Helper, Errorf and Logf are those of testing.TB.
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Test fails a test for every check that failed, and if nothing could be tested. It logs
// what was not run, and what no run can check.
func Test(ctx context.Context, t T, target Target, opts Options) {
	t.Helper()
	r, err := Run(ctx, target, opts)
	if err != nil {
		t.Errorf("the server could not be tested: %v", err)
		if r == nil {
			return
		}
	}
	if !r.Tested() {
		t.Errorf("nothing was tested: %s", r.Untested())
	} else {
		for _, n := range r.Notices {
			t.Logf("%s", n)
		}
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		where := strings.TrimSpace(c.ID + " " + c.Era)
		for _, f := range c.Failures {
			t.Errorf("%s: %s: %s\nsent %s\ngot  %s", where, c.Title, f.About, f.Sent, f.Got)
		}
		if c.More > 0 {
			t.Errorf("%s: and %d failures more", where, c.More)
		}
		if c.Status == NotRun || c.Status == NotApplicable {
			t.Logf("%s: %s: %s: %s", where, c.Title, c.Status, c.Reason)
		}
	}
	for i := range r.Unchecked {
		t.Logf("%s", &r.Unchecked[i])
	}
}
