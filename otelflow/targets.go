package otelflow

import (
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/decision"
)

// targets are the names that have series of their own: the first max that are registered.
type targets struct {
	max int

	mu    sync.RWMutex
	names map[string]string // by what the record says, what the series says
}

func newTargets(max int) *targets { return &targets{max: max, names: make(map[string]string)} }

// name returns what the target of r is counted as. Names that are not the server's own are
// not even looked up, so that there is nothing that a peer could fill.
func (t *targets) name(r *decision.Record) string {
	if !r.Registered || r.Target == "" {
		return Unregistered
	}
	t.mu.RLock()
	name, ok := t.names[r.Target]
	t.mu.RUnlock()
	if ok {
		return name
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if name, ok = t.names[r.Target]; ok {
		return name
	}
	if len(t.names) >= t.max {
		return Other
	}
	name = decision.Shown(r.Target) // a proxy registers names that others have chosen
	t.names[strings.Clone(r.Target)] = name
	return name
}
