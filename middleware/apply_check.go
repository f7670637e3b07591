package middleware

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// checkOverrides reports the mistakes in overrides, every one up to overrides.MaxFaults, and
// the tokens beyond what the code accepts where they say that these are meant. code is what
// the code declares.
func (g *Gate) checkOverrides(code *policydecl.Set, o overrides.Overrides) (loosened []string, err error) {
	c := checker{gate: g, code: code, loosen: o.DangerouslyLoosen, errs: []error{o.Check()}}
	r := g.reg
	c.matchers("default", o.Default)
	if o.Mode != ModeUnset && o.Mode.LooserThan(r.mode) {
		c.loosens("mode", o.Mode.String(), "the code says "+r.mode.String())
	}
	if o.DangerouslyReportUndeclared && !r.undeclared {
		c.loosens("dangerouslyReportUndeclared", "true", "the code refuses what such peers send")
	}
	c.beyond("default", o.Default, code.Default())
	for _, t := range o.Targets {
		if c.faults > overrides.MaxFaults {
			c.errs = append(c.errs, &flowerrors.ConfigError{
				Reason: flowerrors.ReasonLimit, Limit: overrides.MaxFaults, Detail: "there are more mistakes than are listed", Hint: "mend these first",
			})
			break
		}
		if checkTarget(t.Kind, t.Name) == nil { // else o.Check has said so
			c.target(t)
		}
	}
	return c.loosened, errors.Join(c.errs...)
}

// checker is the state of one checkOverrides.
type checker struct {
	gate     *Gate
	code     *policydecl.Set
	loosen   bool
	errs     []error
	faults   int // of those that the gate finds itself
	loosened []string
}

// target checks what the overrides say of one target.
func (c *checker) target(t overrides.Target) {
	k, path := key{t.Kind, t.Name}, targetPath(t.Kind, t.Name)
	if !t.Optional && !c.gate.has(k) {
		e := c.gate.unknownTarget(k)
		e.Path = path
		e.Hint += ", or set optional if it comes later"
		c.add(e)
	}
	c.matchers(path, t.Policy)
	c.beyond(path, t.Policy, c.gate.declaredFor(c.code, t)...)
	mode, own := c.gate.reg.modes[k]
	if !own {
		mode = c.gate.reg.mode
	}
	if t.Mode != ModeUnset && t.Mode.LooserThan(mode) {
		c.loosens(path+".mode", t.Mode.String(), "the code says "+mode.String())
	}
}

// matchers reports vendor tokens that no matcher of the code decides.
func (c *checker) matchers(path string, p policydecl.Policy) {
	if p.Err() == nil { // else o.Check has said so
		c.errs = append(c.errs, flowerrors.Under(path, c.code.Check(p)))
	}
}

// beyond reports the tokens of p that some of the code's policies do not list.
func (c *checker) beyond(path string, p policydecl.Policy, code ...policydecl.Policy) {
	if p.Err() != nil {
		return // o.Check has said so
	}
	for _, token := range beyondAny(p, code) {
		c.loosens(tokenPath(path, p, token), token, "the code does not accept it there")
	}
}

// loosens reports what lets through more than the code does, or notes it where that is meant.
func (c *checker) loosens(path, value, detail string) {
	if !c.loosen {
		c.add(&flowerrors.ConfigError{
			Path: path, Value: value, Reason: flowerrors.ReasonLoosens,
			Detail: detail, Hint: "tighten it, or set dangerouslyLoosen to say that this is meant",
		})
	} else if len(c.loosened) <= maxLoose && strings.Contains(path, "acceptFrom") {
		c.loosened = append(c.loosened, path+"="+value)
	}
}

func (c *checker) add(e *flowerrors.ConfigError) {
	if c.faults++; c.faults <= overrides.MaxFaults {
		c.errs = append(c.errs, e)
	}
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
