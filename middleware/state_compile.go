package middleware

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// compile makes the state that the declarations so far and some overrides amount to. The
// caller holds r.mu.
func (r *registry) compile(o overrides.Overrides) (*state, error) {
	st := &state{over: o, server: r.mode, before: r.base.Default, undeclared: r.undeclared || o.DangerouslyReportUndeclared}
	if st.before.IsZero() {
		st.before = policydecl.Default()
	}
	cfg := r.base
	if o.URI != "" {
		cfg.URI = o.URI
	}
	if !o.Default.IsZero() {
		cfg.Default = o.Default
	}
	if o.Mode != ModeUnset {
		st.server = o.Mode.Or(Enforce)
	}
	st.policies = make(map[key]policydecl.Policy)
	for _, t := range o.Targets {
		if !t.Policy.IsZero() {
			st.policies[key{t.Kind, t.Name}] = t.Policy
		}
	}
	st.modes = r.modesUnder(o)
	st.strictest = map[policydecl.TargetKind]Mode{
		policydecl.Tool: st.server, policydecl.Prompt: st.server, policydecl.Resource: st.server,
	}
	for k, m := range st.modes {
		kind := k.kind
		if byURI(kind) {
			kind = policydecl.Resource
		}
		st.strictest[kind] = min(st.strictest[kind], m)
	}
	if err := st.compileResources(r, cfg); err != nil {
		return nil, err
	}
	st.set = st.declared.set
	st.digest = policydecl.DigestOf(r.codeDigest + " " + o.Digest())
	st.named = r.namesAsNeeded(cfg)
	return st, nil
}

// compileResources arranges what is found by URI.
func (st *state) compileResources(r *registry, cfg policydecl.Config) error {
	code := r.targets(false)
	loosen := st.over.DangerouslyLoosen
	var extra, governed, parts, spaces []policydecl.Declaration
	known := make(map[key]int)
	for i, d := range code {
		known[key{d.Kind, d.Name}] = i
		if !r.lookup(target{d.Kind, d.Name, byGovern}).IsZero() {
			governed = append(governed, d)
		}
	}
	for _, t := range st.over.Targets {
		d := policydecl.Declaration{Kind: t.Kind, Name: t.Name, Policy: t.Policy}
		i, declared := known[key{t.Kind, t.Name}]
		if t.Kind == policydecl.Prefix && !t.Policy.IsZero() {
			spaces = append(spaces, policydecl.Declaration{Kind: t.Kind, Name: t.Name})
		}
		switch {
		case !byURI(t.Kind) || t.Policy.IsZero():
		case !loosen:
			extra = append(extra, d)
		case declared:
			code[i] = d
			governed = append(governed, d)
		default:
			code = append(code, d)
			governed = append(governed, d)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(st.modes), compareKeys) {
		_, declared := known[k]
		_, over := st.policies[k]
		if k.kind == policydecl.Prefix || byURI(k.kind) && !declared && !over {
			parts = append(parts, policydecl.Declaration{Kind: k.kind, Name: k.name})
		}
		if k.kind == policydecl.Prefix && !over {
			spaces = append(spaces, policydecl.Declaration{Kind: k.kind, Name: k.name})
		}
	}
	for _, part := range []struct {
		dst     *group
		targets []policydecl.Declaration
	}{{&st.declared, code}, {&st.extra, extra}, {&st.parts, parts}, {&st.spaces, spaces}, {&st.governed, dedupe(governed)}} {
		var err error
		if *part.dst, err = newGroup(cfg, part.targets); err != nil {
			return err
		}
	}
	return nil
}

// dedupe keeps the last of several declarations of one target.
func dedupe(list []policydecl.Declaration) []policydecl.Declaration {
	last := make(map[key]int)
	for i, d := range list {
		last[key{d.Kind, d.Name}] = i
	}
	out := list[:0]
	for i, d := range list {
		if last[key{d.Kind, d.Name}] == i {
			out = append(out, d)
		}
	}
	return out
}

// byURI reports whether requests find targets of that kind by URI.
func byURI(kind policydecl.TargetKind) bool {
	return kind == policydecl.Resource || kind == policydecl.Template || kind == policydecl.Prefix
}

// modesUnder returns the modes of single targets: the operator's word about a target, else
// the author's, but none that is looser than what the operator says of the server.
func (r *registry) modesUnder(o overrides.Overrides) map[key]Mode {
	modes := maps.Clone(r.modes)
	if modes == nil {
		modes = make(map[key]Mode)
	}
	for k, m := range modes {
		if o.Mode != ModeUnset && m.LooserThan(o.Mode) {
			modes[k] = o.Mode.Or(Enforce)
		}
	}
	for _, t := range o.Targets {
		if t.Mode != ModeUnset {
			modes[key{t.Kind, t.Name}] = t.Mode.Or(Enforce)
		}
	}
	return modes
}

// names is what records call a URI that no policy of its own governs.
type names struct {
	group                   // resources and templates that the server has
	schemes map[string]bool // of all URIs that it has
}

// namesAsNeeded returns a function that compiles the names when they are asked for and when
// there are more than the last time.
func (r *registry) namesAsNeeded(cfg policydecl.Config) func() names {
	var mu sync.Mutex
	var last names
	var of uint64
	return func() names {
		mu.Lock()
		defer mu.Unlock()
		if now := r.knownURIs.Load() + 1; now != of {
			last, of = r.namesOfResources(cfg), now
		}
		return last
	}
}

// know notes that the server has something of that name.
func (r *registry) know(k key) {
	if _, known := r.known.LoadOrStore(k, true); !known && byURI(k.kind) {
		r.knownURIs.Add(1)
	}
}

// namesOfResources compiles the resources and templates that are known by name. One that
// no URI could match is left out.
func (r *registry) namesOfResources(cfg policydecl.Config) names {
	n := names{schemes: make(map[string]bool)}
	var list []policydecl.Declaration
	r.known.Range(func(k, _ any) bool {
		have := k.(key)
		if !byURI(have.kind) {
			return true
		}
		if scheme, _, ok := strings.Cut(have.name, ":"); ok {
			n.schemes[strings.ToLower(scheme)] = true
		}
		if checkTarget(have.kind, have.name) == nil {
			list = append(list, policydecl.Declaration{Kind: have.kind, Name: have.name})
		}
		return true
	})
	slices.SortFunc(list, func(a, b policydecl.Declaration) int {
		return compareKeys(key{a.Kind, a.Name}, key{b.Kind, b.Name})
	})
	var err error
	if n.group, err = newGroup(cfg, list); err != nil {
		n.group, _ = newGroup(cfg, nil)
	}
	return n
}
