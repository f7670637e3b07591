package middleware

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// state is everything that verdicts depend on and that can change while the gate serves:
// the policies of resources, the modes and the operator's overrides. It is immutable, and
// a request is judged by one state from its first seam to its last; a change makes a new
// one and swaps it whole.
type state struct {
	over   overrides.Overrides // in force
	digest string              // of over, and of what the code says about the same

	loosened []string // tokens of over beyond what the code accepts

	applied      uint64 // how many times overrides were applied before
	declarations uint64 // how many times declarations were compiled before

	set        *policydecl.Set   // the server's URI, default and matchers
	before     policydecl.Policy // the default that the code names, which overrides may have narrowed
	server     Mode              // of the server
	undeclared bool              // hosts that never label are only reported
	modes      map[key]Mode      // of what has a mode of its own

	// The strictest mode of a tool, of a prompt, and of anything that is found by URI.
	strictest map[policydecl.TargetKind]Mode

	policies map[key]policydecl.Policy

	declared group // resources with a policy by the code, or by overrides that loosen
	extra    group // resources that have to meet a policy of the overrides besides
	parts    group // prefixes with a mode, and what has a mode and nothing else
	spaces   group // prefixes with a mode or a policy of the overrides
	governed group // what Govern has set alone, and overrides that loosen

	named func() names // what is registered, for the record and for matchesMore; built when first needed
}

// key names a target, whoever has declared it.
type key struct {
	kind policydecl.TargetKind
	name string
}

// governing is one policy that a request has to meet.
type governing struct {
	policy policydecl.Policy // absent: the default
	mode   Mode
	target key // whose policy it is; zero where nothing is declared
}

// group is a compiled list of targets that are found by URI.
type group struct {
	set  *policydecl.Set
	keys []key // by index of declaration
}

// newGroup compiles targets. cfg has what Compile needs besides.
func newGroup(cfg policydecl.Config, targets []policydecl.Declaration) (group, error) {
	cfg.Targets = targets
	set, err := policydecl.Compile(cfg)
	if err != nil {
		return group{}, err
	}
	g := group{set: set}
	for _, d := range targets {
		g.keys = append(g.keys, key{d.Kind, d.Name})
	}
	return g, nil
}

// find appends the indices of what uri, or the text of a template, matches.
func (g *group) find(dst []int, uri string, template bool) (found []int, bare bool, err error) {
	if template {
		return g.set.ResourceTemplateTargets(dst, uri)
	}
	return g.set.ResourceTargets(dst, uri)
}

// mode returns the mode of a target (M1).
func (st *state) mode(k key) Mode {
	if m, ok := st.modes[k]; ok {
		return m
	}
	return st.server
}

// requestMode returns the mode for what keeps a request from being judged at all, such as a
// URI that cannot be read, or a gate that is not in order. The strictest mode of all that the
// request could be about counts, so that nobody gets past one target by being unclear.
func (st *state) requestMode(method mcp.MCPMethod, target string) Mode {
	switch method {
	case mcp.MethodToolsCall:
		if target != "" {
			return st.mode(key{policydecl.Tool, target})
		}
		return st.strictest[policydecl.Tool]
	case mcp.MethodPromptsGet:
		if target != "" {
			return st.mode(key{policydecl.Prompt, target})
		}
		return st.strictest[policydecl.Prompt]
	case mcp.MethodCompletionComplete:
		return min(st.strictest[policydecl.Prompt], st.strictest[policydecl.Resource])
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodSubscriptionsListen:
		return st.strictest[policydecl.Resource]
	}
	return st.floor()
}

// floor is the strictest mode that there is.
func (st *state) floor() Mode {
	return min(st.strictest[policydecl.Tool], st.strictest[policydecl.Prompt], st.strictest[policydecl.Resource])
}

// publishes reports whether the server says anything of flow policy (D2).
func (st *state) publishes() bool { return st.server != DangerouslyOff || st.enforces() }

// enforces reports whether anything is refused at all. A server for which that is not so
// says "policy":false (D2).
func (st *state) enforces() bool { return st.floor() == Enforce }

// effective returns the mode in which a request of a peer is judged.
func (st *state) effective(m Mode, peer func() peerOrigin) Mode {
	if m == Enforce && st.undeclared && peer() == originUndeclared {
		return DangerouslyReport
	}
	return m
}

// governNamed appends what a tool or prompt has to meet: the policy of the overrides, which
// is what lists show and so what a refusal names, and those that the code gives it (P5). An
// override takes the place of the default only as far as the code's own default goes, so
// that it can narrow the default of the overrides and never what the author wrote.
func (st *state) governNamed(dst []governing, k key, policies ...policydecl.Policy) []governing {
	mode := st.mode(k)
	own, has := st.policies[k]
	if has {
		dst = append(dst, governing{own, mode, k})
	}
	if has && st.over.DangerouslyLoosen {
		return dst
	}
	for _, p := range policies {
		if has && p.IsZero() {
			p = st.before
		}
		dst = append(dst, governing{p, mode, k})
	}
	return dst
}

// governURI appends what a request for a URI, or for the text of a template, has to meet
// (R2): the policies of all that it matches, those of the overrides first and those of the
// session among them, and the default where a reading of it finds nothing (R4).
func (st *state) governURI(ctx context.Context, dst []governing, uri string, template bool) ([]governing, error) {
	var buf [8]int
	extra, _, err := st.extra.find(buf[:0], uri, template)
	if err != nil {
		return dst, unreadable(err)
	}
	for _, i := range extra {
		k := st.extra.keys[i]
		dst = append(dst, governing{st.extra.set.Target(i), st.mode(k), k})
	}
	start := len(dst)
	found, bare, err := st.declared.find(buf[:0], uri, template)
	if err != nil {
		return dst, unreadable(err)
	}
	for _, i := range found {
		k := st.declared.keys[i]
		dst = appendOnce(dst, start, governing{st.declared.set.Target(i), st.mode(k), k})
	}
	if dst, bare, err = st.governSession(ctx, dst, bare, uri, template); err != nil {
		return dst, err
	}
	if err := st.tighten(dst, uri, template); err != nil || !bare {
		return dst, err
	}
	def, err := st.governDefault(ctx, uri, template, plainHandler{})
	return append(dst, def), err
}

// tighten gives policies the strictest mode of the prefixes that the URI is under, and of
// what it matches that has only a mode: these say so of a part of a wider target's space.
func (st *state) tighten(all []governing, uri string, template bool) error {
	var buf [8]int
	parts, _, err := st.parts.find(buf[:0], uri, template)
	if err != nil {
		return unreadable(err)
	}
	for _, i := range parts {
		for j := range all {
			all[j].mode = min(all[j].mode, st.mode(st.parts.keys[i]))
		}
	}
	return nil
}

// plainHandler is what is known of a handler that is about to run and that no helper has
// registered.
type plainHandler struct {
	key key  // of a resource; zero for a template
	any bool // it is one of which the gate knows nothing else
}

// governDefault returns the default as it counts for a URI: that of the overrides gives
// way where they name a policy for every reading of it (P5), and the strictest mode counts of
// all that the URI matches and that has a mode or a policy of the overrides. The mode of a
// prefix is about its whole space, and takes the place of the server's there. That of a
// resource or template is about itself: where the URI, in any reading, is also that of
// another without a mode, the mode of the server counts as well.
func (st *state) governDefault(ctx context.Context, uri string, template bool, own plainHandler) (governing, error) {
	var buf [8]int
	extra, bareExtra, err := st.extra.find(buf[:0], uri, template)
	if err != nil {
		return governing{}, unreadable(err)
	}
	def := governing{mode: DangerouslyOff}
	for _, i := range extra {
		def.mode = min(def.mode, st.mode(st.extra.keys[i])) // as the modes are ordered
	}
	covered := len(extra) > 0 && !bareExtra
	if covered {
		def.policy = st.before
	}
	_, ownMode := st.modes[own.key]
	if ownMode {
		def.mode = min(def.mode, st.mode(own.key))
	}
	parts, bare, err := st.parts.find(buf[:0], uri, template)
	if err != nil {
		return governing{}, unreadable(err)
	}
	for _, i := range parts {
		k := st.parts.keys[i]
		def.target, def.mode = k, min(def.mode, st.mode(k))
	}
	_, uncovered, err := st.spaces.find(buf[:0], uri, template)
	switch {
	case err != nil:
		return governing{}, unreadable(err)
	case !uncovered: // every reading is in the space of a prefix that somebody speaks of
	case ownMode: // it is this very resource that runs
	case bare && !covered, own.any, def.mode > st.server && (sessionServes(ctx, uri) || st.matchesMore(uri, template)):
		def.mode = min(def.mode, st.server)
	}
	return def, nil
}

// matchesMore reports whether the URI is also that of something that has neither a policy
// nor a mode of its own.
func (st *state) matchesMore(uri string, template bool) bool {
	names := st.named()
	found, _, err := names.find(nil, uri, template)
	return err != nil || slices.ContainsFunc(found, func(i int) bool { return st.unsaid(names.keys[i]) })
}

// unsaid reports whether nobody has said anything of a target.
func (st *state) unsaid(k key) bool {
	_, mode := st.modes[k]
	_, over := st.policies[k]
	return !mode && !over && !slices.Contains(st.declared.keys, k)
}

// governPlain appends what a read of uri would have to meet because of the handler that it
// would run, where [Gate.judgePlain] sees that: a subscription or a completion has to meet the
// same. Which template mcp-go would take it shows to nobody but for those of the session.
func (g *Gate) governPlain(ctx context.Context, r *record, all []governing, uri string, template bool) ([]governing, error) {
	k := key{policydecl.Resource, uri}
	st := r.by()
	if _, known := g.reg.known.Load(k); known || hasOwnResources(ctx) {
		if res, static := g.static(ctx, uri, r.resources); static {
			if codePointer(res.Handler) == ownResourceCode {
				return all, nil
			}
			f, has, err := st.governHandler(ctx, uri, template, plainHandler{key: k}, res.Resource.Meta)
			if has {
				all = append(all, f)
			}
			return all, err
		}
	}
	if !sessionRunsPlain(ctx, uri) {
		return all, nil
	}
	f, has, err := st.governHandler(ctx, uri, template, plainHandler{}, nil)
	if has {
		all = append(all, f)
	}
	return all, err
}

// governHandler returns what a handler that no helper has registered has to meet: the policy
// in its declaration's _meta, if there is one, and else the default, unless Govern has spoken.
func (st *state) governHandler(ctx context.Context, uri string, template bool, own plainHandler, meta *mcp.Meta) (f governing, has bool, err error) {
	p, err := declared(meta)
	if _, over := st.policies[own.key]; over && st.over.DangerouslyLoosen {
		p = policydecl.Policy{} // theirs stands in its place
	}
	if err != nil || p.IsZero() && !st.ungoverned(uri, template) {
		return f, false, err
	}
	f, err = st.governDefault(ctx, uri, template, own)
	if own.key != (key{}) {
		f.target = own.key
	}
	if !p.IsZero() {
		f.policy, f.mode = p, min(f.mode, st.mode(own.key))
	}
	return f, true, err
}

// ungoverned reports whether neither Govern nor overrides that loosen have said anything
// about some reading of uri, or whether nobody can tell.
func (st *state) ungoverned(uri string, template bool) bool {
	_, bare, err := st.governed.find(nil, uri, template)
	return bare || err != nil
}

// onceWindow bounds how many policies appendOnce compares with, so that a URI which very
// many declarations match costs no more than linear time.
const onceWindow = 16

// appendOnce appends g unless its policy is among the last few since start, in the same
// mode.
func appendOnce(dst []governing, start int, g governing) []governing {
	for _, have := range dst[max(start, len(dst)-onceWindow):] {
		if have.policy == g.policy && have.mode == g.mode {
			return dst
		}
	}
	return append(dst, g)
}
