package host

import (
	"context"
	"sync"
)

// Turn says what a partition is opened with.
type Turn struct {
	// Name names the partition in records. It reaches neither a server nor the model.
	Name string

	// From is what is in the model's context at the start: the user's input, the host's
	// own text, content kept from earlier, each with the Sources it had.
	From []Sources

	// Shown lists the connections whose descriptions the model is shown: their tools,
	// resources, prompts and instructions, which are content of their servers (H2). nil
	// stands for all connections that have described themselves to the application, or have
	// said anything outside of a partition, by the time a request is made. A list that is
	// not nil, even an empty one, is the host's word that the model sees no others'.
	Shown []*Connection
}

// Partition is one context of a model, and the record of who has contributed to it (H1).
// Contributors are only ever added; where a context starts clean, open a new partition
// for it. A partition costs little and need not be closed. It is safe for
// concurrent use: the requests of one turn may run in parallel, and what one of them
// brings in is in the label of the next that is built.
//
// The sources of a zero Partition, and of a nil one, are unknown and stay so.
type Partition struct {
	host    *Host
	name    string
	parent  *Partition
	limited bool // to the descriptions that are in sources already

	mu      sync.Mutex
	sources Sources
}

// Open opens a partition for a turn, or for a sub-agent that starts with nothing but what
// the turn says.
func (h *Host) Open(t Turn) *Partition {
	p := &Partition{host: h, name: t.Name, sources: Nothing().And(t.From...), limited: t.Shown != nil}
	for _, c := range t.Shown {
		p.Add(c.Sources())
	}
	return p
}

// Sub opens a partition within p, for a sub-agent that is given some of p's context
// and whose answer comes back to it. It starts with the sources of p, because what the model
// of p asks for is derived from them, and whatever it takes in counts for p at once:
// the answer is derived from that. What p takes in later does not count for it until it
// is given some of that; then call Add with p's Sources. A sub-agent whose task is written
// by the user or the host alone, and whose answer does not come back, needs no Sub but
// Open.
func (p *Partition) Sub(t Turn) *Partition {
	t.From = append([]Sources{p.Sources()}, t.From...)
	if p == nil {
		return (*Host)(nil).Open(t)
	}
	sub := p.host.Open(t)
	if t.Shown == nil {
		sub.limited = p.limited
	}
	sub.parent = p
	p.Add(sub.Sources())
	return sub
}

// Add notes that content with the given sources has entered the context. It must be
// called before the model reads the content.
func (p *Partition) Add(s Sources) {
	for q := p; q != nil; q = q.parent {
		q.mu.Lock()
		q.sources = q.sources.And(s)
		q.mu.Unlock()
	}
}

// Incomplete notes that something has entered the context whose sources the host cannot
// tell. Every label says so from then on (H3).
func (p *Partition) Incomplete() { p.Add(Sources{}) }

// Sources returns the sources of everything in the context so far, and so of whatever
// the model makes of it: its answers, summaries and the arguments of its requests.
func (p *Partition) Sources() Sources {
	if p == nil {
		return Sources{}
	}
	if !p.limited {
		p.Add(p.host.described())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sources
}

// Name returns the name that the partition was opened with.
func (p *Partition) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// of returns the sources of what is built from p for a request of h. A partition of another
// host does not know what h has been told.
func (p *Partition) of(h *Host) Sources {
	s := p.Sources()
	if p == nil || p.host != h {
		s = s.And(Sources{})
	}
	return s
}

type partitionKey struct{}

// WithPartition returns a context for requests that are built from what is in p. An
// adapter finds p there.
func WithPartition(ctx context.Context, p *Partition) context.Context {
	return context.WithValue(ctx, partitionKey{}, p)
}

// PartitionFrom returns the partition of a context, or nil. A request without one is
// labelled as of unknown origin.
func PartitionFrom(ctx context.Context) *Partition {
	if ctx == nil {
		return nil
	}
	p, _ := ctx.Value(partitionKey{}).(*Partition)
	return p
}
