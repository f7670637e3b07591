package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// NeedsList returns the kinds of declarations whose lists an adapter has to read, from the
// start to the end, before a request can be judged (H5): those that the request is about and
// that were never read, or have changed since. It returns none for a request that
// [Connection.Prepare] would refuse whatever the lists say, so that nothing at all reaches
// its recipient. p is the partition as Prepare is given it.
func (c *Connection) NeedsList(p *Partition, method string, params json.RawMessage) []policydecl.TargetKind {
	if quiet[method] || !c.made() {
		return nil
	}
	// Most calls find what they are about fresh, and need not be read to know it.
	stale := slices.DeleteFunc(c.staleKinds(), func(k policydecl.TargetKind) bool { return !slices.Contains(mayNeed[method], k) })
	if len(stale) == 0 {
		return nil
	}
	r, s := c.request(p, method, params)
	about, err := r.read()
	if err != nil || len(about.names) == 0 {
		return nil
	}
	if !c.host.config.DangerouslyIgnoreCeiling && c.overCeiling(s) {
		return nil
	}
	needed := about.kinds()
	return slices.DeleteFunc(stale, func(k policydecl.TargetKind) bool { return !slices.Contains(needed, k) })
}

// mayNeed are the kinds that a request can be about, by method.
var mayNeed = map[string][]policydecl.TargetKind{
	"tools/call":           {policydecl.Tool},
	"prompts/get":          {policydecl.Prompt},
	"resources/read":       {policydecl.Resource, policydecl.Template},
	"resources/subscribe":  {policydecl.Resource, policydecl.Template},
	"subscriptions/listen": {policydecl.Resource, policydecl.Template},
	"completion/complete":  {policydecl.Prompt, policydecl.Resource, policydecl.Template},
}

// staleKinds returns the kinds that have to be listed before anything of them can be
// judged, in a fixed order; none if nothing can be judged anyway.
func (c *Connection) staleKinds() []policydecl.TargetKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.policies
	if c.closed || !p.known || p.hello != "" {
		return nil
	}
	var stale []policydecl.TargetKind
	for _, kind := range []policydecl.TargetKind{policydecl.Tool, policydecl.Resource, policydecl.Template, policydecl.Prompt} {
		if p.lists[kind].stale {
			stale = append(stale, kind)
		}
	}
	return stale
}

// kinds returns the kinds of declarations that govern the subject.
func (s subject) kinds() []policydecl.TargetKind {
	switch {
	case len(s.names) == 0:
		return nil
	case s.kind == policydecl.Resource:
		return []policydecl.TargetKind{policydecl.Resource, policydecl.Template}
	}
	return []policydecl.TargetKind{s.kind}
}

// Refuse records a request that an adapter cannot send for a reason that it alone knows, such
// as lists that cannot be read. It takes the place of [Connection.Prepare].
func (c *Connection) Refuse(ctx context.Context, p *Partition, method string, params json.RawMessage, reason string) *Refusal {
	r, _ := c.request(p, method, params)
	_, _ = r.read() // for the target; what cannot be read has none
	return r.refuse(ctx, NotSent, reason)
}
