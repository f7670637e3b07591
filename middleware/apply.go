package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

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
		g.warnIdle(after)
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
	attrs := more
	if !st.over.IsZero() {
		attrs = append(attrs, slog.String("overrides", st.over.Digest()))
	}
	attrs = append(attrs, slog.String("uri", st.set.URI()), slog.String("mode", st.server.String()), slog.Bool("enforces", st.enforces()))
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
