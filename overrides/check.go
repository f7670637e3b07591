package overrides

import (
	"context"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Check reports what is wrong with overrides that were built in Go, all at once (P6): the
// error joins a [*flowerrors.ConfigError] for each mistake, at most [MaxFaults], with a path
// such as tools["export"].acceptFrom[1]. Policies, URIs and patterns are judged as
// [policydecl.Compile] judges them, and what [Parse] accepts has no mistakes here.
//
// What depends on the server is judged where the overrides are applied: whether it knows
// a vendor token and has the target, and whether something loosens what its code says (M1).
func (o Overrides) Check() error { return join(o.check()) }

// check returns what Check joins.
func (o Overrides) check() []Fault {
	r := &report{}
	add := func(path string, e *flowerrors.ConfigError) {
		e.Path = path
		r.put(Fault{0, policydecl.Fault{ConfigError: e}})
	}
	for e := range flowerrors.All(o.compile()) {
		if !strings.HasPrefix(e.Path, "matchers[") { // see compile
			add(e.Path, e)
		}
	}
	if !o.Mode.Known() {
		add(memberMode, noMode(o.Mode))
	}
	for i := range o.Targets {
		t := o.Targets[i]
		path := t.path(i)
		if !t.Mode.Known() {
			add(path+"."+memberMode, noMode(t.Mode))
		}
		if t.Policy.IsZero() && t.Mode == policydecl.ModeUnset {
			add(path, saysNothing())
		}
		if t.Optional && !mayLack(t.Kind) {
			add(path+"."+memberOptional, notOptional())
		}
	}
	return r.done()
}

// path returns where mistakes of the target are, such as tools["export"]. One whose kind
// is none has only its number, which i is.
func (t Target) path(i int) string {
	if sectionOf(t.Kind.String()) == 0 {
		return "targets[" + strconv.Itoa(i) + "]"
	}
	return place.Keyed(t.Kind.String(), t.Name)
}

// placeholder stands in for the server's own URI where the overrides name none. Nobody can
// have it (RFC 2606).
const placeholder = "https://overrides.invalid/"

// compile asks policydecl about everything that a server without overrides would be told
// too. Every vendor token has a matcher here, because a server may know any; those whose
// prefix nobody can have are mistakes of the matchers as well, which are left out.
func (o Overrides) compile() error {
	cfg := policydecl.Config{URI: o.URI, Default: o.Default, Matchers: make(map[string]policydecl.Matcher)}
	if cfg.URI == "" {
		cfg.URI = placeholder
	}
	know := func(p policydecl.Policy) {
		for _, token := range p.Tokens() {
			if prefix, _, ok := strings.Cut(token, ":"); ok {
				cfg.Matchers[prefix] = never
			}
		}
	}
	know(o.Default)
	for _, t := range o.Targets {
		know(t.Policy)
		cfg.Targets = append(cfg.Targets, policydecl.Declaration{Kind: t.Kind, Name: t.Name, Policy: t.Policy})
	}
	_, err := policydecl.Compile(cfg)
	return err
}

// never is a matcher that is only counted.
func never(context.Context, string, policydecl.Contributor) (bool, error) { return false, nil }

// noMode is the mistake of a mode that is none of the constants.
func noMode(m policydecl.Mode) *flowerrors.ConfigError {
	return &flowerrors.ConfigError{
		Value: m.String(), Reason: flowerrors.ReasonUnknownToken, Detail: "no such mode", Hint: "use Enforce, DangerouslyReport or DangerouslyOff",
	}
}
