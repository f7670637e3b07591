package host

import (
	"context"
	"errors"
	"strconv"
	"sync"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Config says how a host behaves. The zero value is a safe choice in every field.
type Config struct {
	// The blank field keeps Configs from being compared or written without field names.
	_ [0]func()

	// Private keeps principals and publishers out of labels: recipients learn the
	// assurance states, and nothing about what else is connected (H4). Policies that
	// name principals then refuse more.
	Private bool

	// Record is told of every request that can carry content of a context, once, with
	// what became of it, and of any other that is refused; see [Record]. It is called on the goroutine of the request and
	// must be safe for concurrent use. One that panics changes nothing.
	Record func(context.Context, Record)

	// Approve is asked when a server loosens a policy that it has published, or when it
	// has a tool of the same name as another server; see [Approval]. Without approval, by
	// Approve or later by [Connection.Approve], the looser policy does not
	// count and the tool is not called. nil approves nothing.
	//
	// It is called without locks on the goroutine that has read what the server says, and
	// with its context, and may ask the user; whatever needs the same list waits meanwhile.
	// So it should return when the context ends, and must not send anything over the same
	// connection, which would wait for itself. What it declines it is not asked again, and
	// of what one answer of a server asks for it is asked the first hundred questions only:
	// the rest is in [Connection.Pending].
	Approve func(context.Context, Approval) bool

	// Matchers decide the vendor tokens of published policies (P3).
	Matchers map[string]policydecl.Matcher

	// DangerouslyIgnoreServerPolicies leaves the policies of servers to the servers: a
	// request that the recipient's policy refuses is sent all the same, with its label. The
	// ceiling still holds. It is for tests of servers.
	DangerouslyIgnoreServerPolicies bool

	// DangerouslyIgnoreCeiling sends content of verified servers to unverified ones
	// (H6). It is for tests of servers.
	DangerouslyIgnoreCeiling bool
}

// Host is the part of an agent application that knows where content comes from. It is
// safe for concurrent use. The zero Host is that of the zero [Config].
type Host struct {
	config Config

	mu      sync.Mutex
	told    Sources               // of the servers that have said something to all partitions
	tools   map[string][]identity // who has a tool of that name: one server, and those approved beside it
	servers map[identity]*memory
	gone    []identity // those of them without an open connection, the last one last
}

// New returns a host. It copies what it needs of cfg. The error lists every mistake, each a
// [flowerrors.ConfigError].
func New(cfg Config) (*Host, error) {
	matchers := make(map[string]policydecl.Matcher, len(cfg.Matchers))
	for prefix, m := range cfg.Matchers {
		matchers[prefix] = m
	}
	cfg.Matchers = matchers
	// The URI is any that can stand for a recipient: only the matchers are judged.
	if _, err := policydecl.Compile(policydecl.Config{URI: "urn:flowgate:any", Matchers: matchers}); err != nil {
		return nil, err
	}
	return &Host{config: cfg}, nil
}

// Server is what a host knows of a server that it connects to. It is the
// host's own knowledge: nothing that a server says of itself belongs here (H3).
type Server struct {
	// URI is the server's canonical URI (RFC 8707), by which it is known as a principal. One
	// without an address, as behind stdio, has a urn of the host's choice.
	URI string

	// Assurance is how well the host knows who the server is: policydecl.Verified, TOFU
	// or, by default, Unverified.
	Assurance policydecl.Assurance

	// Publisher is the URI of the server's publisher, if that is verified.
	Publisher string
}

// assuranceText names an assurance that is refused, also one that there is not.
func assuranceText(a policydecl.Assurance) string {
	if a > policydecl.User {
		return strconv.Itoa(int(a))
	}
	return a.String()
}

// check reports every mistake in s.
func (s Server) check() error {
	var errs []error
	add := func(path, value string, reason flowerrors.Reason, detail, hint string) {
		errs = append(errs, &flowerrors.ConfigError{Path: path, Value: value, Reason: reason, Detail: detail, Hint: hint})
	}
	canonical, err := resourcematch.Canonical(s.URI)
	errs = append(errs, flowerrors.Under("uri", err))
	if canonical == policydecl.PrincipalUser || canonical == policydecl.PrincipalHost {
		add("uri", s.URI, flowerrors.ReasonReserved, "the user and the host are no servers", "use the server's own URI")
	}
	if s.Assurance > policydecl.Verified {
		add("assurance", assuranceText(s.Assurance), flowerrors.ReasonReserved, "no server is the user or the host", "use Verified, TOFU or Unverified")
	}
	if s.Publisher != "" {
		_, err := resourcematch.Canonical(s.Publisher)
		errs = append(errs, flowerrors.Under("publisher", err))
	}
	return errors.Join(errs...)
}

// described returns the sources of what has been said to all partitions that are not
// limited, which is nothing at first.
func (h *Host) described() Sources {
	if h == nil {
		return Nothing()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.toldSoFar()
}

// tell adds to that. A server that has gone stays: its descriptions may be in use (H1).
func (h *Host) tell(s Sources) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = h.toldSoFar().And(s)
}

// toldSoFar tells the zero value, of which nothing is known, from nothing. h.mu is held.
func (h *Host) toldSoFar() Sources {
	if len(h.told.list) == 0 {
		return Nothing()
	}
	return h.told
}

// record tells the host's sink. What that does changes nothing.
func (h *Host) record(ctx context.Context, r Record) {
	if h == nil || h.config.Record == nil {
		return
	}
	defer func() { _ = recover() }()
	h.config.Record(ctx, r)
}

// approve asks the host's hook. One that panics has not approved.
func (h *Host) approve(ctx context.Context, a Approval) (ok bool) {
	if h.config.Approve == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return h.config.Approve(ctx, a)
}
