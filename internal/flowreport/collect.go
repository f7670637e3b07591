package flowreport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/flowgate-mcp/flowgate/decision"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Lines says what was found in the input.
type Lines struct {
	Records    uint64 // that count
	Outside    uint64 // records of another time
	Undated    uint64 // records without a time, left out where a time was asked for
	Others     uint64 // lines that are no decision records
	Malformed  uint64 // lines that are damaged records
	Unfinished uint64 // last lines that somebody may still be writing
}

// Collector counts records. It is not safe for concurrent use.
type Collector struct {
	since, until time.Time

	lines   Lines
	total   Tally
	lost    uint64
	sampled Tally
	above   uint64 // sources without a record below Info
	outcome [Off + 1]uint64

	servers, methods, targets, unregistered, clients, principals, reasons, digests *names

	cells        map[cellKey]*Tally
	hosts        map[Name]*Host
	contributors map[Who]*Contributor
	faults       map[[2]Name]*Fault
	settings     map[[2]Name]*Digest
	policies     map[[2]Name]*Digest
	cellsFull    bool
}

// NewCollector counts records from since until before until. A zero time is no bound; with
// a bound, records without a time are left out.
func NewCollector(since, until time.Time) *Collector {
	return &Collector{
		since: since, until: until,
		servers: newNames("servers", maxServers), methods: newNames("methods", maxMethods), targets: newNames("targets", maxTargets),
		unregistered: newNames("targets that no server knows", maxUnregistered), clients: newNames("hosts", maxClients),
		principals: newNames("principals", maxPrincipals), reasons: newNames("reasons", maxReasons), digests: newNames("digests", maxDigests),
		cells: map[cellKey]*Tally{}, hosts: map[Name]*Host{}, contributors: map[Who]*Contributor{},
		faults: map[[2]Name]*Fault{}, settings: map[[2]Name]*Digest{}, policies: map[[2]Name]*Digest{},
	}
}

// Read counts all records of a log, which is one source. Its error is that of in or of ctx,
// which is looked at between lines.
func (c *Collector) Read(ctx context.Context, in io.Reader) error {
	lines := decision.NewReader(in)
	before, below := c.lines.Records, false
	defer func() {
		if !below && c.lines.Records > before {
			c.above++
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := lines.Next()
		switch {
		case err == nil:
			below = below || r.Level() < slog.LevelInfo // of whatever time it is
			c.Add(&r)
		case errors.Is(err, decision.ErrNotDecision):
			c.lines.Others++
		case errors.Is(err, decision.ErrMalformed) && lines.Unfinished():
			c.lines.Unfinished++
		case errors.Is(err, decision.ErrMalformed):
			c.lines.Malformed++
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// Add counts one record. It keeps none of its slices.
func (c *Collector) Add(r *decision.Record) {
	if !c.since.IsZero() || !c.until.IsZero() {
		switch {
		case r.Time.IsZero():
			c.lines.Undated++
			return
		case !c.since.IsZero() && r.Time.Before(c.since), !c.until.IsZero() && !r.Time.Before(c.until):
			c.lines.Outside++
			return
		}
	}
	o := outcome(r)
	c.lines.Records++
	c.total.add(r)
	c.lost = sum(c.lost, r.Lost)
	c.outcome[o] = sum(c.outcome[o], weight(r))

	server, reason := c.servers.name(r.Server), c.reasons.name(string(r.Reason))
	if r.Reason == decision.ReasonSampled {
		c.sampled.add(r)
		c.enter(cellKey{Server: server, Method: others, Target: others, Client: others, Reason: reason, Outcome: o}, r)
	} else {
		client := c.clients.name(r.Client)
		host := at(c.hosts, client)
		host.Name = client
		host.add(r, o)
		c.cell(r, o, server, client, reason)
		if r.Verdict.Objects() {
			c.rejected(r, o)
		}
	}
	if r.Verdict == decision.Fault || r.Reason == decision.ReasonMatcher {
		f := at(c.faults, [2]Name{server, reason})
		if f.Records == 0 || !r.Time.Before(f.Last) {
			f.Detail = decision.Shown(r.Detail)
		}
		f.Server, f.Reason = server, reason
		f.add(r)
	}
	c.digest(c.settings, server, r.Settings, r)
	if d := c.digest(c.policies, server, r.Policy, r); d != nil && d.Records == 1 && !d.Digest.Others {
		d.AcceptFrom = shownTokens(r.AcceptFrom)
	}
}

// at returns the value for a key, a new one if there is none.
func at[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}

func (c *Collector) cell(r *decision.Record, o Outcome, server, client, reason Name) {
	targets := c.unregistered
	if r.Registered {
		targets = c.targets
	}
	key := cellKey{
		Server: server, Method: c.methods.name(r.Method), Target: targets.name(r.Target), Client: client, Reason: reason,
		Registered: r.Registered, Outcome: o,
	}
	if r.Reason == decision.ReasonContributor || r.Reason == decision.ReasonMatcher {
		key.Who = c.leastAssured(r.Rejected)
	}
	c.enter(key, r)
}

// enter counts a record in a cell, or in one of those for all others.
func (c *Collector) enter(key cellKey, r *decision.Record) {
	if _, ok := c.cells[key]; !ok && len(c.cells) >= maxCells {
		c.cellsFull = true
		key = cellKey{Server: others, Method: others, Target: others, Client: others, Reason: key.Reason, Outcome: key.Outcome, Who: Who{Assurance: key.Who.Assurance, Principal: others}}
		if key.Who.Assurance == "" {
			key.Who = Who{}
		}
	}
	at(c.cells, key).add(r)
}

// who is a contributor with a name that is bounded.
func (c *Collector) who(x decision.Contributor) Who {
	assurance, _ := policydecl.ParseAssurance(x.Assurance)
	return Who{assurance.String(), c.principals.name(x.Principal)}
}

// leastAssured returns the contributor that stands for a request: of the least assured
// ones, the first.
func (c *Collector) leastAssured(list []decision.Contributor) Who {
	if len(list) == 0 {
		return Who{}
	}
	least, lowest := list[0], policydecl.User+1
	for _, x := range list {
		if assurance, _ := policydecl.ParseAssurance(x.Assurance); assurance < lowest {
			least, lowest = x, assurance
		}
	}
	return c.who(least)
}

func (c *Collector) rejected(r *decision.Record, o Outcome) {
	seen := map[Who]bool{}
	for _, x := range r.Rejected {
		who := c.who(x)
		if seen[who] {
			continue
		}
		seen[who] = true
		k := at(c.contributors, who)
		k.Who = who
		k.add(r)
		switch o {
		case WouldStop:
			k.WouldStop = sum(k.WouldStop, weight(r))
		case Stopped:
			k.Stopped = sum(k.Stopped, weight(r))
		}
		if len(r.Rejected) == 1 && r.More == 0 {
			k.Alone = sum(k.Alone, weight(r))
		}
	}
}

// digest counts a digest, and returns nil for none.
func (c *Collector) digest(m map[[2]Name]*Digest, server Name, digest string, r *decision.Record) *Digest {
	if digest == "" {
		return nil
	}
	name := c.digests.name(digest)
	d := at(m, [2]Name{server, name})
	d.Server, d.Digest = server, name
	d.add(r)
	return d
}

func shownTokens(tokens []string) []string {
	list := []string{}
	for _, token := range tokens[:min(len(tokens), decision.MaxTokens+1)] {
		list = append(list, decision.Shown(token))
	}
	return list
}
