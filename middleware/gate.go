package middleware

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Gate stands between one mcp-go server and its peers. [New] makes it; its
// methods put it on a transport. It is safe for concurrent use. The zero Gate
// serves nothing.
type Gate struct {
	server *server.MCPServer
	reg    *registry
	mode   Mode
	log    *slog.Logger

	code       int
	detail     flowerrors.Detail
	limits     policydecl.Limits
	labelBytes int

	hooks  hookSeams
	codes  hookCodes
	chains chains
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
// The error joins all mistakes; flowerrors.All lists them.
func New(s *server.MCPServer, cfg Config) (*Gate, error) {
	if s == nil {
		return nil, &flowerrors.ConfigError{Path: "server", Reason: flowerrors.ReasonMissing, Detail: "it is nil"}
	}
	g := newGate(s, &cfg)
	r := g.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate != nil {
		return nil, errGated
	}
	slot, err := hasMetaPropagator(s)
	if slot {
		err = &flowerrors.ConfigError{
			Path: "metaPropagator", Reason: flowerrors.ReasonConflict,
			Detail: "the server has a propagator of _meta, and the gate needs mcp-go's only slot for one",
			Hint:   "set it in Config.MetaPropagator instead of server.WithMetaPropagator",
		}
	}
	errs := append([]error{cfg.check(), err}, r.faults...)
	r.base = policydecl.Config{URI: cfg.URI, Default: cfg.Default, Matchers: maps.Clone(cfg.Matchers)}
	r.adopt(s)
	set, err := r.compile(true)
	errs = append(errs, err, r.checkDeclarations(s, set))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg.Mode == Enforce {
		if err := selfTest(); err != nil {
			return nil, err
		}
		if err := g.install(cfg.MetaPropagator); err != nil {
			return nil, err
		}
	}
	r.compiled.Store(set)
	r.gate = g
	return g, nil
}

// newGate fills in the defaults. The gate is not installed yet.
func newGate(s *server.MCPServer, cfg *Config) *Gate {
	g := &Gate{
		server: s, reg: registryOf(s), mode: cfg.Mode, log: cfg.Logger,
		code: cfg.Code, detail: cfg.Detail, limits: cfg.Limits, labelBytes: cfg.Limits.Bytes,
	}
	if g.log == nil {
		g.log = slog.Default()
	}
	if g.code == 0 {
		g.code = flowerrors.DefaultCode
	}
	if g.labelBytes == 0 {
		g.labelBytes = policydecl.MaxLabelBytes
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

// adopt takes over the policies that resources and prompts of s carry in their
// _meta without a helper's help, so that they govern completions and subscriptions
// too. The caller holds r.mu.
func (r *registry) adopt(s *server.MCPServer) {
	take := func(kind policydecl.TargetKind, name string, meta *mcp.Meta) {
		t := target{kind, name, true}
		if _, ok := r.byName.Load(t); ok {
			return
		}
		p, err := declared(meta)
		if err != nil || p.IsZero() {
			return // checkDeclarations reports the error
		}
		r.byName.Store(t, p)
		if kind == policydecl.Resource {
			r.order = append(r.order, t)
		}
	}
	resources := s.ListResources()
	for _, uri := range slices.Sorted(maps.Keys(resources)) {
		take(policydecl.Resource, uri, resources[uri].Resource.Meta)
	}
	for name, prompt := range s.ListPrompts() {
		take(policydecl.Prompt, name, prompt.Prompt.Meta)
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
	templates, err := templatesWithPolicy(s)
	errs = append(errs, err)
	for _, name := range templates {
		if r.declaredPolicy(policydecl.Template, name).IsZero() {
			errs = append(errs, &flowerrors.ConfigError{
				Path: targetPath(policydecl.Template, name), Reason: flowerrors.ReasonUnsupported,
				Detail: "its _meta holds a policy that the gate would not enforce", Hint: "register it with middleware.AddResourceTemplate",
			})
		}
	}
	return errors.Join(errs...)
}

// off reports that the gate lets everything pass.
func (g *Gate) off() bool { return g.mode == DangerouslyOff }

// logRefusal tells the operator about one refused request.
func (g *Gate) logRefusal(ctx context.Context, method mcp.MCPMethod, target string, class policydecl.Class, v *flowerrors.Violation) {
	if !g.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	rejected := make([]string, 0, len(v.Rejected))
	for i, r := range v.Rejected {
		if i == 8 {
			rejected = append(rejected, "and "+strconv.Itoa(len(v.Rejected)-i)+" more")
			break
		}
		rejected = append(rejected, strings.TrimSpace(r.Assurance+" "+r.Principal))
	}
	g.log.LogAttrs(ctx, slog.LevelInfo, "request refused by flow policy",
		slog.String("method", string(method)), slog.String("target", escaped(target)),
		slog.String("label", class.String()), slog.Any("rejected", rejected), slog.Any("acceptFrom", v.AcceptFrom))
}

// logInvalid tells the operator about a request that names something which cannot
// be judged.
func (g *Gate) logInvalid(ctx context.Context, method mcp.MCPMethod, target string, why error) {
	g.log.LogAttrs(ctx, slog.LevelInfo, "request refused: it cannot be judged",
		slog.String("method", string(method)), slog.String("target", escaped(target)), slog.String("problem", escaped(why.Error())))
}

// logFault tells the operator that the gate is not in order.
func (g *Gate) logFault(ctx context.Context, method mcp.MCPMethod, target string, why error) {
	g.log.LogAttrs(ctx, slog.LevelError, "flow gate is not in order; request refused",
		slog.String("method", string(method)), slog.String("target", escaped(target)), slog.String("fault", escaped(why.Error())))
}

// escaped makes text from a peer printable ASCII of bounded length (M3).
func escaped(s string) string {
	const most = 256
	cut := ""
	if len(s) > most {
		s, cut = s[:most], "..."
	}
	q := strconv.QuoteToASCII(s)
	return q[1:len(q)-1] + cut
}
