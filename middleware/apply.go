package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Apply puts overrides in force while the gate serves, in place of those that were in
// force: whole or not at all. A request that is on its way is judged by what was in force
// when it came in. The log says what has changed, with the digest before and after; what
// changes nothing is not logged.
//
// The error joins all mistakes (P6); flowerrors.All lists them. Among them is whatever
// loosens what the code declares, unless the overrides say DangerouslyLoosen (M1), and a
// tool or prompt that the server does not have. Applying what [Gate.Overrides] returns
// changes nothing.
func (g *Gate) Apply(o overrides.Overrides) error {
	if !g.made() {
		return errZeroGate
	}
	before, after, err := g.swap(o.Clone())
	if err != nil {
		return fmt.Errorf("flowgate: %w", err)
	}
	if before.digest != after.digest {
		g.announce("flow overrides have changed", after, slog.String("old", before.digest), slog.String("new", after.digest),
			slog.String("oldUri", before.set.URI()))
	}
	return nil
}

// announce logs what is in force, loudly if that lets through what a gate would refuse.
func (g *Gate) announce(msg string, st *state, more ...slog.Attr) {
	level := slog.LevelInfo
	loose := st.loose()
	if len(loose) > 0 {
		level = slog.LevelWarn
	}
	attrs := append(more, slog.String("overrides", st.over.Digest()), slog.String("uri", st.set.URI()), slog.String("mode", st.server.String()), slog.Bool("enforces", st.enforces()))
	if len(loose) > 0 {
		attrs = append(attrs, slog.Any("loose", loose))
	}
	g.recorder.say(context.Background(), level, msg, attrs...)
}

// maxLoose is how many things one log line lists.
const maxLoose = 16

// loose lists what is looser than a gate that enforces everything its code declares.
func (st *state) loose() []string {
	var list []string
	add := func(what string) {
		if len(list) < maxLoose {
			list = append(list, what)
		} else {
			list[maxLoose-1] = "and more"
		}
	}
	if st.over.DangerouslyLoosen {
		add("dangerouslyLoosen")
	}
	for _, what := range st.loosened {
		add(what)
	}
	if st.undeclared {
		add("dangerouslyReportUndeclared")
	}
	if st.server != Enforce {
		add("mode=" + st.server.String())
	}
	for _, k := range slices.SortedFunc(maps.Keys(st.modes), compareKeys) {
		if m := st.modes[k]; m != Enforce {
			add(targetPath(k.kind, k.name) + ".mode=" + m.String())
		}
	}
	return list
}

func (g *Gate) swap(o overrides.Overrides) (before, after *state, err error) {
	r := g.reg
	r.mu.Lock()
	base := r.base
	base.Targets = r.targets(true)
	r.mu.Unlock()
	// Without the lock: a file may name thousands of targets. What is declared meanwhile
	// has to accept besides, whatever the check says.
	set, err := g.compileCode(base, o)
	var loosened []string
	if err == nil {
		loosened, err = g.checkOverrides(set, o)
	}
	if err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if after, err = r.compile(o); err != nil {
		return nil, nil, err
	}
	if r.resumable && after.publishes() {
		return nil, nil, &flowerrors.ConfigError{
			Path: "mode", Value: after.server.String(), Reason: flowerrors.ReasonUnsupported,
			Detail: "the server has a transport with resumable streams, which the gate covers only while it is off",
			Hint:   "restart the server without WithEventStore",
		}
	}
	before = r.now.Load()
	after.applied, after.declarations, after.loosened = before.applied+1, before.declarations, loosened
	r.now.Store(after)
	return before, after, nil
}

// compileCode compiles what the code declares. Where the code leaves the server's URI to
// the operator, o has to name it.
func (g *Gate) compileCode(base policydecl.Config, o overrides.Overrides) (*policydecl.Set, error) {
	if base.URI == "" {
		base.URI = o.URI
	}
	return policydecl.Compile(base)
}

// Overrides returns a copy of the overrides in force.
func (g *Gate) Overrides() overrides.Overrides {
	if !g.made() {
		return overrides.Overrides{}
	}
	return g.now().over.Clone()
}

// Settings returns a short text that is the same for two gates with the same URI, default,
// modes and overrides. Every decision record has it.
func (g *Gate) Settings() string {
	if !g.made() {
		return ""
	}
	return g.now().digest
}

// Flush waits until every sink has the records of the requests that have been judged, and
// delivers what sampling holds back. Call it when the server shuts down. The error is
// that of ctx, for the sinks that have not finished.
func (g *Gate) Flush(ctx context.Context) error {
	if !g.made() {
		return errZeroGate
	}
	return g.recorder.flush(ctx)
}

// checkOverrides reports the mistakes in overrides, every one up to overrides.MaxFaults, and
// the tokens beyond what the code accepts where they say that these are meant. code is what
// the code declares.
func (g *Gate) checkOverrides(code *policydecl.Set, o overrides.Overrides) (loosened []string, err error) {
	r := g.reg
	errs := []error{o.Check()}
	faults := 0
	matchers := func(path string, p policydecl.Policy) {
		if p.Err() == nil { // else o.Check has said so
			errs = append(errs, flowerrors.Under(path, code.Check(p)))
		}
	}
	matchers("default", o.Default)
	add := func(e *flowerrors.ConfigError) {
		if faults++; faults <= overrides.MaxFaults {
			errs = append(errs, e)
		}
	}
	loosens := func(path, value, detail string) {
		switch {
		case o.DangerouslyLoosen:
			if len(loosened) <= maxLoose && strings.Contains(path, "acceptFrom") {
				loosened = append(loosened, path+"="+value)
			}
		default:
			add(&flowerrors.ConfigError{
				Path: path, Value: value, Reason: flowerrors.ReasonLoosens,
				Detail: detail, Hint: "tighten it, or set dangerouslyLoosen to say that this is meant",
			})
		}
	}
	if o.Mode != ModeUnset && o.Mode.LooserThan(r.mode) {
		loosens("mode", o.Mode.String(), "the code says "+r.mode.String())
	}
	if o.DangerouslyReportUndeclared && !r.undeclared {
		loosens("dangerouslyReportUndeclared", "true", "the code refuses what such peers send")
	}
	for _, token := range o.Default.Beyond(code.Default()) {
		loosens(tokenPath("default", o.Default, token), token, "the code does not accept it there")
	}
	for _, t := range o.Targets {
		path := targetPath(t.Kind, t.Name)
		if checkTarget(t.Kind, t.Name) != nil {
			continue // o.Check has said so
		}
		if faults > overrides.MaxFaults {
			break // whatever else there is, the file is refused
		}
		if !t.Optional && !g.has(key{t.Kind, t.Name}) {
			e := g.unknownTarget(key{t.Kind, t.Name})
			e.Path = path
			e.Hint += ", or set optional if it comes later"
			add(e)
		}
		if t.Policy.Err() != nil {
			continue // o.Check has said so
		}
		matchers(path, t.Policy)
		for _, token := range beyondAny(t.Policy, g.declaredFor(code, t)) {
			loosens(tokenPath(path, t.Policy, token), token, "the code does not accept it there")
		}
		mode, own := r.modes[key{t.Kind, t.Name}]
		if !own {
			mode = r.mode
		}
		if t.Mode != ModeUnset && t.Mode.LooserThan(mode) {
			loosens(path+".mode", t.Mode.String(), "the code says "+mode.String())
		}
	}
	if faults > overrides.MaxFaults {
		errs = append(errs, &flowerrors.ConfigError{
			Reason: flowerrors.ReasonLimit, Limit: overrides.MaxFaults, Detail: "there are more mistakes than are listed", Hint: "mend these first",
		})
	}
	return loosened, errors.Join(errs...)
}

// beyondAny returns the tokens of p that some of the policies do not list, each once and in
// the order of p.
func beyondAny(p policydecl.Policy, policies []policydecl.Policy) []string {
	return slices.DeleteFunc(p.Tokens(), func(token string) bool {
		return !slices.ContainsFunc(policies, func(q policydecl.Policy) bool { return slices.Contains(p.Beyond(q), token) })
	})
}

// tokenPath is where a token stands in a policy.
func tokenPath(path string, p policydecl.Policy, token string) string {
	for i, have := range p.Tokens() {
		if have == token {
			return path + ".acceptFrom[" + strconv.Itoa(i) + "]"
		}
	}
	return path
}

// declaredFor returns the policies that the code gives a target of the overrides. What
// comes later, or belongs to a session, has to accept besides, whatever these say.
func (g *Gate) declaredFor(code *policydecl.Set, t overrides.Target) []policydecl.Policy {
	if t.Policy.IsZero() {
		return nil
	}
	var list []policydecl.Policy
	var err error
	switch t.Kind {
	case policydecl.Tool, policydecl.Prompt:
		p := g.declaredByName(t.Kind, t.Name)
		if p.IsZero() {
			p = code.Default()
		}
		return []policydecl.Policy{p}
	case policydecl.Template:
		list, err = code.ResourceTemplate(nil, t.Name)
	default:
		list, err = code.Resource(nil, t.Name)
	}
	if err != nil {
		return nil // o.Check has said so
	}
	return list
}

// declaredByName returns the policy of a tool or prompt as registered, or an absent one.
func (g *Gate) declaredByName(kind policydecl.TargetKind, name string) policydecl.Policy {
	if kind == policydecl.Prompt {
		if p, err := g.promptPolicyByName(name); err == nil && !p.IsZero() {
			return p
		}
	} else if tool := g.server.GetTool(name); tool != nil {
		if p, err := declared(tool.Tool.Meta); err == nil && !p.IsZero() {
			return p
		}
	}
	for o := byGovern; o <= taskHelper; o++ {
		if p := g.reg.lookup(target{kind, name, o}); !p.IsZero() {
			return p
		}
	}
	return policydecl.Policy{}
}
