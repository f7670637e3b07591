package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/internal/wire"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Request is a request that may be sent.
type Request struct {
	// Params are its parameters, with the label attached (H3).
	Params json.RawMessage

	connection *Connection // nil in a zero Request, which nobody may send
	partition  *Partition
	labelled   bool
	record     Record // does not change once Prepare has returned
	once       sync.Once
}

// quiet are the methods whose parameters carry nothing from a context (section 5). What
// is not among them is labelled, also a method that nobody knows yet.
var quiet = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "logging/setLevel": true, "resources/unsubscribe": true,
	"tools/list": true, "resources/list": true, "resources/templates/list": true, "prompts/list": true,
	"tasks/list": true,
}

// describing are those of them whose answers a server describes itself with (H2).
var describing = map[string]bool{
	"initialize": true, "server/discover": true,
	"tools/list": true, "resources/list": true, "resources/templates/list": true, "prompts/list": true,
}

// Prepare decides whether a request may be sent, and labels it (H3, H5, H6). p is the
// partition that it is built from, nil if that cannot be told. The error is a
// [*Refusal], whose text is all that the model may be told; the request must not be sent then.
//
// Without an error the caller sends Request.Params and must call one of
// [Request.Answered], [Request.Error] and [Request.Failed] in the end.
func (c *Connection) Prepare(ctx context.Context, p *Partition, method string, params json.RawMessage) (*Request, error) {
	r, s := c.request(p, method, params)
	switch {
	case !c.made():
		return nil, r.refuse(ctx, NotSent, errNoConnection.Error())
	case quiet[method] && c.isClosed():
		return nil, r.refuse(ctx, NotSent, "the connection is closed")
	case quiet[method], c.polls(method, params):
		c.enter(p)
		return r, nil
	}
	r.labelled = true
	about, err := r.read()
	if err != nil {
		return nil, r.refuse(ctx, NotSent, err.Error())
	}
	if outcome, reason := c.judge(ctx, s, &r.record, about); outcome != "" {
		return nil, r.refuse(ctx, outcome, reason)
	}
	if r.Params, err = attach(params, r.record.Label); err != nil {
		return nil, r.refuse(ctx, NotSent, err.Error())
	}
	c.enter(p)
	return r, nil
}

// request returns a request that has not been judged, and its sources.
func (c *Connection) request(p *Partition, method string, params json.RawMessage) (*Request, Sources) {
	r := &Request{Params: params, partition: p, record: Record{Partition: p.Name(), Method: method}}
	if !c.made() {
		return r, Sources{}
	}
	s := p.of(c.host)
	r.connection = c
	r.record.Server, r.record.Label = c.server.URI, s.Label(c.host.config.Private)
	return r, s
}

func (c *Connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// subject is what a request is about.
type subject struct {
	kind      policydecl.TargetKind // 0 for none that a policy could name
	names     []string              // all of them count
	templates bool                  // the names may be texts of templates
}

// read finds out what the request is about. It reads as strictly as a gate: a request that
// two recipients could read differently is not sent.
func (r *Request) read() (subject, error) {
	params := r.Params
	if len(bytes.Trim(params, space)) == 0 {
		params = []byte("{}")
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": r.record.Method, "params": params})
	if err != nil {
		return subject{}, err
	}
	req, err := wire.ReadRequest(message)
	if err != nil {
		return subject{}, err
	}
	about := subject{}
	switch r.record.Method {
	case "tools/call":
		about = subject{kind: policydecl.Tool, names: []string{req.Name}}
	case "prompts/get":
		about = subject{kind: policydecl.Prompt, names: []string{req.Name}}
	case "resources/read", "resources/subscribe":
		about = subject{kind: policydecl.Resource, names: []string{req.URI}}
	case "subscriptions/listen":
		about, err = readFilter(params)
	case "completion/complete":
		about, err = readReference(params)
	}
	r.record.Target = about.shown()
	for _, name := range about.names {
		if name == "" || len(name) > MaxName {
			return about, errNoName
		}
	}
	return about, err
}

// shown names the subject for a record. What follows the path of a URI is left out: it can
// be the very content that was to be carried out.
func (s subject) shown() string {
	names := slices.Clone(s.names)
	for i, name := range names {
		if end := strings.IndexAny(name, "?#"); end >= 0 && s.kind == policydecl.Resource && !s.templates {
			names[i] = name[:end]
		}
	}
	return strings.Join(names, " ")
}

var errNoName = errors.New("what the request names is empty, too long or no text")

// readFilter finds out which resources a subscription is about.
func readFilter(params []byte) (subject, error) {
	var of struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	if err := json.Unmarshal(params, &of); err != nil {
		return subject{}, errNoName
	}
	return subject{kind: policydecl.Resource, names: of.Notifications.ResourceSubscriptions}, nil
}

// readReference finds out what a completion refers to.
func readReference(params []byte) (subject, error) {
	var of struct {
		Ref struct{ Type, Name, URI string }
	}
	if err := json.Unmarshal(params, &of); err != nil {
		return subject{}, errNoName
	}
	switch of.Ref.Type {
	case "ref/prompt":
		return subject{kind: policydecl.Prompt, names: []string{of.Ref.Name}}, nil
	case "ref/resource":
		return subject{kind: policydecl.Resource, names: []string{of.Ref.URI}, templates: true}, nil
	}
	return subject{}, nil
}

// judge decides on a request. It returns no outcome for one that may be sent.
func (c *Connection) judge(ctx context.Context, s Sources, record *Record, about subject) (Outcome, string) {
	// The ceiling comes first: what it blocks is not even worth a list (NeedsList).
	if !c.host.config.DangerouslyIgnoreCeiling && c.overCeiling(s) {
		return BlockedByCeiling, ""
	}
	if reason := c.unknown(about); reason != "" {
		return NotSent, reason
	}
	if about.kind == policydecl.Tool {
		c.mu.Lock()
		taken := c.blocked(about.names[0])
		c.mu.Unlock()
		if taken {
			return BlockedByName, "a tool of another server had this name first"
		}
	}
	policies, fault, err := c.rules(about)
	record.Reason = fault
	if err != nil {
		return NotSent, err.Error()
	}
	if len(policies) == 0 || c.host.config.DangerouslyIgnoreServerPolicies {
		return "", ""
	}
	d := c.set.Decide(ctx, &record.Label, policies...)
	if policydecl.Restrict(true, d) {
		return "", ""
	}
	v := d.Violation()
	record.Rejected, record.AcceptFrom = v.Rejected, v.AcceptFrom
	if cause := d.Cause(); cause != nil {
		fault = strings.TrimPrefix(fault+"; "+cause.Error(), "; ")
	}
	return BlockedByPolicy, fault
}

// overCeiling reports whether the request would carry content of a verified server to an
// unverified one, or may do so (H6).
func (c *Connection) overCeiling(s Sources) bool {
	if c.server.Assurance != policydecl.Unverified {
		return false
	}
	if !s.complete || len(s.list) == 0 {
		return true // nobody can tell that it does not
	}
	// A principal of the same URI is no exception: that was a server which the host had
	// verified, and nobody has verified this one.
	return len(s.verified) > 0
}

// unknown says why the policies for a request are not known, if they are not.
func (c *Connection) unknown(about subject) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.policies
	switch {
	case c.closed:
		return "the connection is closed"
	case p.hello != "":
		return p.hello
	case !p.known:
		return "the server has not said whether it has policies"
	}
	for _, kind := range about.kinds() {
		switch l := p.lists[kind]; {
		case l.unread != "":
			return l.unread
		case !l.whole:
			return "its " + l.member + " have not been read"
		}
	}
	return ""
}

// rules returns the policies that must all accept, and what is wrong with them as
// published. There are none if the server asks for nothing.
func (c *Connection) rules(about subject) (policies []policydecl.Policy, fault string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.policies
	stances := []*stance{&p.def}
	switch {
	case about.kind == policydecl.Resource:
		stances = nil
		for _, name := range about.names {
			found, bare, err := c.governing(name, about.templates)
			if err != nil {
				return nil, "", err
			}
			if stances = append(stances, found...); bare {
				stances = append(stances, &p.def)
			}
		}
	case about.kind != 0:
		if s := p.targets[target{about.kind, about.names[0]}]; s != nil {
			stances = []*stance{s}
		}
	}
	def := p.def.inForce()
	for _, s := range stances {
		r := s.inForce()
		if r.byDefault {
			fault = cmp.Or(fault, p.def.fault)
		}
		policies = append(policies, r.under(def).all()...)
		fault = cmp.Or(s.fault, fault)
	}
	return policies, fault, nil
}
