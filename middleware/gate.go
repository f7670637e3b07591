package middleware

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Gate stands between one mcp-go server and its peers. [New] makes it; its
// methods put it on a transport. It is safe for concurrent use. The zero Gate has
// no server: its methods return an error, or something that only ever answers with
// one.
type Gate struct {
	server   *server.MCPServer
	reg      *registry
	recorder *recorder

	code   int
	detail flowerrors.Detail
	limits policydecl.Limits

	hooks  hookSeams
	codes  hookCodes
	chains chains

	// A middleware of tools was seen behind the gate's. mcp-go's lock for that
	// list is held only where tools run at once, so calls as tasks ask here.
	chainBroken atomic.Bool

	// The author has prompt filters, so a prompt may be hidden.
	hidesPrompts bool

	// What was registered again without the policy it had, and has been logged.
	dropped sync.Map // key -> true

	peers peers
}

// New validates the configuration and every policy declared so far, and puts the
// gate into s. From then on nothing that the policy refuses reaches a handler of
// s, on any transport. Use the returned Gate to serve s, so that a refusal also
// has the form that the draft gives it.
//
// Call New last: after the options, hooks, filters and middleware of s. What is
// added behind the gate later puts it out of order, and gated requests are
// refused until that is mended (G6). s must not serve yet.
//
// The error joins all mistakes, those that registration helpers have returned before
// among them; flowerrors.All lists them.
func New(s *server.MCPServer, cfg Config) (*Gate, error) {
	g, err := build(s, &cfg)
	if err != nil {
		return nil, err
	}
	// Without the lock: the logger is the author's and may declare something.
	if st := g.now(); len(st.loose()) > 0 {
		g.announce("the flow gate does not enforce everything", st)
	} else if !st.over.IsZero() {
		g.announce("flow overrides are in force", st)
	}
	g.warnIdle(g.now())
	return g, nil
}

// errNoServer says that there is none to guard.
var errNoServer = &flowerrors.ConfigError{
	Path: "server", Reason: flowerrors.ReasonMissing, Detail: "it is nil", Hint: "pass what server.NewMCPServer returned",
}

// build makes a gate and installs it.
func build(s *server.MCPServer, cfg *Config) (*Gate, error) {
	if s == nil {
		return nil, fmt.Errorf("flowgate: %w", errNoServer)
	}
	g := newGate(s, cfg)
	r := g.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate != nil {
		return nil, fmt.Errorf("flowgate: %w", errGated)
	}
	slot, err := hasMetaPropagator(s)
	if slot {
		err = &flowerrors.ConfigError{
			Path: "metaPropagator", Reason: flowerrors.ReasonConflict,
			Detail: "the server has a propagator of _meta, and the gate needs mcp-go's only slot for one",
			Hint:   "set it in Config.MetaPropagator instead of server.WithMetaPropagator",
		}
	}
	errs := append([]error{cfg.check(), err, g.learn()}, r.faults...)
	errs = append(errs, g.configure(cfg))
	r.adopt(s)
	all := r.base
	all.Targets = r.targets(true)
	set, err := g.compileCode(all, cfg.Overrides)
	errs = append(errs, err, r.checkDeclarations(s, set))
	var loosened []string
	if set != nil {
		loosened, err = g.checkOverrides(set, cfg.Overrides)
	} else {
		err = cfg.Overrides.Check() // what they loosen depends on the code
	}
	errs = append(errs, flowerrors.Under("overrides", err))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("flowgate: %w", err)
	}
	st, err := r.compile(cfg.Overrides.Clone())
	if err != nil {
		return nil, fmt.Errorf("flowgate: %w", flowerrors.Under("overrides", err))
	}
	st.loosened = loosened
	if err := selfTest(); err != nil {
		return nil, err
	}
	r.now.Store(st)
	if err := g.install(cfg.MetaPropagator); err != nil {
		r.now.Store(nil)
		return nil, err
	}
	r.gate = g
	r.live.Store(g)
	return g, nil
}

// configure takes over what the code says about that which overrides can change. The
// caller holds g.reg.mu.
func (g *Gate) configure(cfg *Config) error {
	r := g.reg
	r.base = policydecl.Config{URI: cfg.URI, Default: cfg.Default, Matchers: maps.Clone(cfg.Matchers), MatcherBudget: cfg.MatcherBudget}
	r.mode, r.undeclared = cfg.Mode.Or(Enforce), cfg.DangerouslyReportUndeclared
	r.codeDigest = policydecl.DigestOf(strings.Join([]string{
		cfg.URI, cfg.Default.Digest(), describeModes(cfg.Mode, cfg.DangerouslyReportUndeclared, cfg.Modes),
	}, " "))
	var err error
	r.modes, err = g.codeModes(cfg.Modes)
	return err
}

// newGate fills in the defaults. The gate is not installed yet.
func newGate(s *server.MCPServer, cfg *Config) *Gate {
	g := &Gate{
		server: s, reg: registryOf(s), recorder: newRecorder(cmp.Or(cfg.Logger, slog.Default()), cfg.Sinks, cfg.SampleAbove),
		code: cmp.Or(cfg.Code, flowerrors.DefaultCode), detail: cfg.Detail, limits: cfg.Limits,
	}
	g.codes = g.hookCodes()
	return g
}

// install puts the gate into its server.
func (g *Gate) install(next tracing.MetaPropagator) error {
	if next == nil {
		next = tracing.NoopMetaPropagator()
	}
	if err := g.installChains(); err != nil {
		return err
	}
	g.installHooks()
	server.WithMetaPropagator(propagator{gate: g, next: next})(g.server)
	return nil
}

// adopt takes over the policies that resources of s carry in their _meta without a
// helper's help. The declaration in force is the one that is published, so its policy
// counts, whatever a helper was told about the same URI before. The caller holds r.mu.
func (r *registry) adopt(s *server.MCPServer) {
	resources := s.ListResources()
	for _, uri := range slices.Sorted(maps.Keys(resources)) {
		t := target{policydecl.Resource, uri, helper}
		p, err := declared(resources[uri].Resource.Meta)
		if err != nil || p.IsZero() {
			continue // checkDeclarations reports the error
		}
		r.put(t, p)
	}
}

// checkDeclarations reports the mistakes in policies that stand in the _meta of
// declarations which were registered without a helper. The caller holds r.mu.
func (r *registry) checkDeclarations(s *server.MCPServer, set *policydecl.Set) error {
	var errs []error
	check := func(kind policydecl.TargetKind, name string, meta *mcp.Meta) {
		p, err := declared(meta)
		if err == nil && set != nil {
			err = set.Check(p)
		}
		if err == nil && p.IsZero() && !r.lookup(target{kind, name, helper}).IsZero() {
			err = errAgain()
		}
		errs = append(errs, flowerrors.Under(targetPath(kind, name), err))
	}
	tools := s.ListTools()
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		check(policydecl.Tool, name, tools[name].Tool.Meta)
	}
	resources := s.ListResources()
	for _, uri := range slices.Sorted(maps.Keys(resources)) {
		check(policydecl.Resource, uri, resources[uri].Resource.Meta)
	}
	prompts := s.ListPrompts()
	for _, name := range slices.Sorted(maps.Keys(prompts)) {
		check(policydecl.Prompt, name, prompts[name].Prompt.Meta)
	}
	for _, hidden := range []struct {
		field, decl string
		kind        policydecl.TargetKind
		origin      origin
		helper      string
	}{
		{fieldTemplates, "template", policydecl.Template, helper, "AddResourceTemplate"},
		{fieldTaskTools, "Tool", policydecl.Tool, taskHelper, "AddTaskTool"},
	} {
		names, err := namesWithPolicy(s, hidden.field, hidden.decl)
		errs = append(errs, err)
		all, err := keysOf(s, hidden.field)
		errs = append(errs, err)
		for _, name := range all {
			if _, with := slices.BinarySearch(names, name); !with && !r.lookup(target{hidden.kind, name, hidden.origin}).IsZero() {
				errs = append(errs, flowerrors.Under(targetPath(hidden.kind, name), errAgain()))
			}
		}
		for _, name := range names {
			if r.lookup(target{hidden.kind, name, hidden.origin}).IsZero() {
				errs = append(errs, &flowerrors.ConfigError{
					Path: targetPath(hidden.kind, name), Reason: flowerrors.ReasonUnsupported,
					Detail: "its _meta holds a policy that New cannot check, because mcp-go does not show it",
					Hint:   "register it with middleware." + hidden.helper,
				})
			}
		}
	}
	return errors.Join(errs...)
}

// errAgain is the mistake of registering again, without its policy, what a helper has
// registered with one.
func errAgain() *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Reason: flowerrors.ReasonConflict,
		Detail: "a helper registered it with a policy, and it was registered again without",
		Hint:   "register it once, with the helper",
	}
}

// errZeroGate is what a Gate says that New did not make.
var errZeroGate = &flowerrors.ConfigError{
	Path: "gate", Reason: flowerrors.ReasonMissing, Detail: "it has no server", Hint: "make it with middleware.New",
}

// made reports whether g comes from New.
func (g *Gate) made() bool { return g != nil && g.server != nil }
