package policydecl

import (
	"maps"
	"slices"
	"unicode/utf8"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/place"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// Compile checks cfg and makes a [Set] of it. If there is any mistake (P6) the
// Set is nil and the error joins all of them, each a [flowerrors.ConfigError] with a path
// such as tools["export"].acceptFrom[1], in a fixed order.
//
// A vendor token whose prefix has no matcher is a mistake here, although it is well
// formed: on this server it can never match.
//
// Compile keeps nothing of cfg that its caller could change.
func Compile(cfg Config) (*Set, error) {
	c := compiler{set: &Set{config: cfg.clone()}}
	s, cfg := c.set, c.set.config
	s.matchers = cfg.Matchers
	s.uri = c.ownURI(cfg.URI)
	s.def = cfg.Default
	if s.def.IsZero() {
		s.def = Default()
	}
	c.faults.addAll("default", s.Check(s.def))
	c.vendor(cfg)
	c.targets(cfg.Targets)
	if len(c.faults) > 0 {
		return nil, c.faults.join()
	}
	return s, nil
}

// compiler is the state of one Compile.
type compiler struct {
	set     *Set
	faults  faultList
	entries []resourcematch.Entry // parallel to set.policies
}

// ownURI checks the recipient's URI (P2) and returns its canonical form.
func (c *compiler) ownURI(uri string) string {
	const path = "uri"
	if uri == "" {
		c.faults.add(&flowerrors.ConfigError{
			Path: path, Reason: flowerrors.ReasonMissing,
			Detail: `the server's own URI is what "self" stands for`, Hint: "set the URI that clients connect to",
		})
		return ""
	}
	canonical, fault := principalURI(uri)
	if fault == nil && (canonical == PrincipalUser || canonical == PrincipalHost) {
		fault = &flowerrors.ConfigError{
			Value: uri, Reason: flowerrors.ReasonReserved,
			Detail: `"self" would mean the user or the host`, Hint: "set the URI that clients connect to",
		}
	}
	if fault != nil {
		fault.Path = path
		c.faults.add(fault)
	}
	return canonical
}

// vendor checks the matchers and their budget (P3).
func (c *compiler) vendor(cfg Config) {
	for _, prefix := range slices.Sorted(maps.Keys(cfg.Matchers)) {
		path := place.Keyed("matchers", prefix)
		if !validVendorPrefix(prefix) {
			c.faults.add(&flowerrors.ConfigError{
				Path: path, Value: prefix, Reason: flowerrors.ReasonNeverMatches,
				Detail: "no vendor token has this prefix", Hint: `use a reverse-DNS name such as "com.example.tier"`,
			})
		}
		if cfg.Matchers[prefix] == nil {
			c.faults.add(&flowerrors.ConfigError{
				Path: path, Reason: flowerrors.ReasonMissing, Detail: "the matcher is nil", Hint: "remove the entry or give it a function",
			})
		}
	}
	c.set.budget = cfg.MatcherBudget
	if cfg.MatcherBudget == 0 {
		c.set.budget = DefaultMatcherBudget
	}
	if cfg.MatcherBudget < 0 {
		c.faults.add(&flowerrors.ConfigError{
			Path: "matcherBudget", Value: cfg.MatcherBudget.String(), Reason: flowerrors.ReasonLimit,
			Detail: "no matcher could ever answer in time", Hint: "leave it zero for the default",
		})
	}
}

// targets compiles the declarations.
func (c *compiler) targets(targets []Declaration) {
	type target struct {
		kind TargetKind
		name string
	}
	seen := make(map[target]struct{}, len(targets))
	s := c.set
	s.tools, s.prompts = make(map[string]Policy), make(map[string]Policy)
	for i, d := range targets {
		path := d.path(i)
		c.faults.addAll(path, s.Check(d.Policy))
		if fault := d.check(); fault != nil {
			fault.Path = path
			c.faults.add(fault)
			continue
		}
		key := target{d.Kind, d.Name}
		if _, twice := seen[key]; twice {
			c.faults.add(&flowerrors.ConfigError{
				Path: path, Value: d.Name, Reason: flowerrors.ReasonDuplicate,
				Detail: "the target is declared twice", Hint: "remove one of the two declarations",
			})
			continue
		}
		seen[key] = struct{}{}
		switch d.Kind {
		case Tool:
			s.tools[d.Name] = d.Policy
		case Prompt:
			s.prompts[d.Name] = d.Policy
		case Resource:
			c.pattern(resourcematch.Exact, i, d)
		case Template:
			c.pattern(resourcematch.Template, i, d)
		case Prefix:
			c.pattern(resourcematch.Prefix, i, d)
		}
	}
	c.patterns()
}

// check reports a target that no request could name. The fault has no path.
func (d Declaration) check() *flowerrors.ConfigError {
	switch {
	case !d.Kind.known():
		return &flowerrors.ConfigError{
			Value: d.Kind.String(), Reason: flowerrors.ReasonType,
			Detail: "not a kind of target", Hint: "use Tool, Prompt, Resource, Template or Prefix",
		}
	case d.Name == "":
		return &flowerrors.ConfigError{Reason: flowerrors.ReasonMissing, Detail: "the target has no name", Hint: "set Name"}
	case !utf8.ValidString(d.Name):
		return &flowerrors.ConfigError{
			Value: d.Name, Reason: flowerrors.ReasonNeverMatches,
			Detail: "not UTF-8, so no JSON request can name it", Hint: "correct the name",
		}
	}
	return nil
}

// pattern queues the i-th declaration for the resource matcher.
func (c *compiler) pattern(kind resourcematch.Kind, i int, d Declaration) {
	p := d.Policy
	if p.IsZero() {
		p = c.set.def // P4
	}
	c.entries = append(c.entries, resourcematch.Entry{Kind: kind, Pattern: d.Name, Path: d.path(i)})
	c.set.policies = append(c.set.policies, p)
	c.set.declared = append(c.set.declared, i)
}

// patterns compiles the resource matcher.
func (c *compiler) patterns() {
	m, err := resourcematch.Compile(c.entries)
	c.faults.addAll("", err)
	c.set.patterns = m
}
