package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

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
		g.recorder.say(context.Background(), slog.LevelInfo, "flow overrides have changed",
			slog.String("old", before.digest), slog.String("new", after.digest),
			slog.String("mode", after.server.String()), slog.Bool("enforces", after.enforces()))
	}
	return nil
}

func (g *Gate) swap(o overrides.Overrides) (before, after *state, err error) {
	r := g.reg
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.now.Load()
	base := r.base
	base.Targets = r.targets(true)
	set, err := policydecl.Compile(base)
	if err == nil {
		err = g.checkOverrides(set, o)
	}
	if err == nil {
		after, err = r.compile(o)
	}
	if err == nil && r.resumable && after.publishes() {
		err = errResumable
	}
	if err != nil {
		return nil, nil, err
	}
	r.now.Store(after)
	return before, after, nil
}

// Overrides returns a copy of the overrides in force.
func (g *Gate) Overrides() overrides.Overrides {
	if !g.made() {
		return overrides.Overrides{}
	}
	return g.now().over.Clone()
}

// Digest returns a short text that is the same for two gates with the same URI, default,
// modes and overrides. Every decision record has it, as Settings.
func (g *Gate) Digest() string {
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

// checkOverrides reports every mistake in overrides. code is what the code declares. The
// caller holds g.reg.mu.
func (g *Gate) checkOverrides(code *policydecl.Set, o overrides.Overrides) error {
	r := g.reg
	errs := []error{o.Check()}
	matchers := func(path string, p policydecl.Policy) {
		if p.Err() == nil { // else o.Check has said so
			errs = append(errs, flowerrors.Under(path, code.Check(p)))
		}
	}
	matchers("default", o.Default)
	loosens := func(path, value, detail string) {
		if !o.DangerouslyLoosen {
			errs = append(errs, &flowerrors.ConfigError{
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
		if !t.Optional && !g.has(key{t.Kind, t.Name}) {
			e := g.unknownTarget(key{t.Kind, t.Name})
			e.Path = path
			e.Hint += ", or set optional if it comes later"
			errs = append(errs, e)
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
	return errors.Join(errs...)
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
