package host

import (
	"errors"
	"sync"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Connection is a connection to one server, with the policies that were read from it
// (H5). An adapter feeds it what the server sends, as it came: [Connection.Hello],
// [Connection.Page], [Connection.Heard]; and asks it before it sends anything:
// [Connection.Prepare]. It is made by [Host.Connect] and safe for concurrent use. The
// zero Connection sends nothing.
type Connection struct {
	host     *Host // nil only in a zero Connection
	server   Server
	identity identity
	sources  Sources
	set      *policydecl.Set // decides; its own default is never asked

	mu       sync.Mutex
	closed   bool
	policies published
	inFlight map[*Partition]int // partitions with a request at the server
	tasks    []string           // that the server has named, the newest last
}

// The errors of values that nobody has made.
var (
	errNoHost       = errors.New("the host was not made by New")
	errNoConnection = errors.New("the connection was not made by Connect")
)

// Connect returns a connection to a server that the host knows as s. It starts with what
// earlier connections to a server of the same URI, assurance and publisher have found
// published: a server cannot loosen a policy by ending the connection (H5). The error lists
// every mistake in s.
func (h *Host) Connect(s Server) (*Connection, error) {
	if h == nil {
		return nil, errNoHost
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	set, err := policydecl.Compile(policydecl.Config{URI: s.URI, Matchers: h.config.Matchers})
	if err != nil {
		return nil, err
	}
	as := policydecl.NewContributor(s.URI, s.Assurance, s.Publisher)
	c := &Connection{host: h, server: s, identity: identityOf(as), set: set, sources: of(as), inFlight: make(map[*Partition]int)}
	c.policies.init()
	h.meet(c)
	return c, nil
}

// made reports whether c came from Connect.
func (c *Connection) made() bool { return c != nil && c.host != nil }

// Server returns what the host knows of the server.
func (c *Connection) Server() Server {
	if !c.made() {
		return Server{}
	}
	return c.server
}

// Sources returns the sources of whatever comes from the server.
func (c *Connection) Sources() Sources {
	if !c.made() {
		return Sources{}
	}
	return c.sources
}

// Close ends the connection: nothing can be sent over it any more. What its server has
// contributed stays where it is (H1). What it has published, and the names of its tools,
// stay known to the host, within [MaxServers]: else another server could take a name that
// the model knows while its owner is away.
func (c *Connection) Close() {
	if !c.made() {
		return
	}
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if !was {
		c.host.part(c.identity)
	}
}

// Heard notes that something has come from the server: an answer of any kind, an error
// too, a notification, or a request of its own, such as sampling or elicitation
// (H2). p is the partition that it came for; nil says that this cannot be told, and
// then it counts for every partition that has a request at the server, and for every one
// that is not limited to the descriptions of other servers.
func (c *Connection) Heard(p *Partition) {
	if p != nil {
		p.Add(c.Sources())
		return
	}
	if !c.made() {
		return
	}
	c.mu.Lock()
	waiting := make([]*Partition, 0, len(c.inFlight))
	for p := range c.inFlight {
		waiting = append(waiting, p)
	}
	c.mu.Unlock()
	for _, p := range waiting {
		p.Add(c.sources)
	}
	c.host.tell(c.sources)
}

// Waiting notes that p waits for the server, until the function that is returned is called,
// which may be called more than once. An adapter calls it before it sends anything for a
// request that [Connection.Prepare] has not seen yet, such as a request for a list: what the
// server says meanwhile by other ways than the answer counts for p too (H2).
func (c *Connection) Waiting(p *Partition) (done func()) {
	if !c.made() {
		return func() {}
	}
	c.enter(p)
	return sync.OnceFunc(func() { c.leave(p) })
}

// enter and leave count the requests that a partition has at the server.
func (c *Connection) enter(p *Partition) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[p]++
}

func (c *Connection) leave(p *Partition) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight[p]--; c.inFlight[p] <= 0 {
		delete(c.inFlight, p)
	}
}
