package host

import (
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// patterns finds the declarations that govern a URI (R2). It is a picture of the stances
// of resources and templates at one time.
type patterns struct {
	matcher *resourcematch.Matcher
	stances [][]*stance // by index of matcher; several can have one pattern

	// loose are the stances whose pattern cannot be read. Nobody can tell which URIs they
	// govern, so they govern all.
	loose []*stance
}

// compilePatterns makes the picture. c.mu is held.
func (c *Connection) compilePatterns() *patterns {
	if c.policies.matcher != nil {
		return c.policies.matcher
	}
	var entries []resourcematch.Entry
	var stances []*stance
	for t, s := range c.policies.targets {
		kind := resourcematch.Exact
		switch {
		case t.kind == policydecl.Template:
			kind = resourcematch.Template
		case t.kind != policydecl.Resource:
			continue
		}
		if !s.own {
			continue // P5: it replaces no policy
		}
		entries = append(entries, resourcematch.Entry{Kind: kind, Pattern: t.name})
		stances = append(stances, s)
	}
	c.policies.matcher = newPatterns(entries, stances)
	return c.policies.matcher
}

// newPatterns compiles what can be compiled.
func newPatterns(entries []resourcematch.Entry, stances []*stance) *patterns {
	p := &patterns{}
	m, err := resourcematch.Compile(entries)
	twins, bad := faulty(err)
	var kept []resourcematch.Entry
	for i, e := range entries {
		switch {
		case bad[i]:
			p.loose = append(p.loose, stances[i])
		case !twins[i]:
			kept, p.stances = append(kept, e), append(p.stances, []*stance{stances[i]})
		}
	}
	if err != nil {
		m, err = resourcematch.Compile(kept)
	}
	if err != nil {
		return &patterns{loose: stances}
	}
	p.matcher = m
	for i := range twins {
		p.join(kept, entries[i], stances[i])
	}
	return p
}

// faulty returns which entries say the same as an earlier one, and which cannot be read.
func faulty(err error) (twins, bad map[int]bool) {
	twins, bad = make(map[int]bool), make(map[int]bool)
	for fault := range flowerrors.All(err) {
		i, err := strconv.Atoi(strings.Trim(fault.Path, "[]"))
		switch {
		case err != nil: // then compiling the others fails too
		case fault.Reason == flowerrors.ReasonDuplicate:
			twins[i] = true
		default:
			bad[i] = true
		}
	}
	return twins, bad
}

// join adds a stance to all those whose pattern matches its own, among them the one that
// says the same. If there is none after all, it governs everything.
func (p *patterns) join(kept []resourcematch.Entry, e resourcematch.Entry, s *stance) {
	find := p.matcher.Match
	if e.Kind == resourcematch.Template {
		find = p.matcher.MatchTemplate
	}
	found, _, err := find(nil, e.Pattern)
	joined := false
	for _, i := range found {
		if err == nil && kept[i].Kind == e.Kind {
			p.stances[i], joined = append(p.stances[i], s), true
		}
	}
	if !joined {
		p.loose = append(p.loose, s)
	}
}

// governing returns the stances for a resource, and whether the server's default counts
// as well (R4). text is a URI or, in a completion, the text of a template. c.mu is held.
func (c *Connection) governing(text string, template bool) (stances []*stance, bare bool, err error) {
	p := c.compilePatterns()
	var found []int
	if template {
		found, bare, err = p.matcher.MatchTemplate(nil, text)
	} else {
		found, bare, err = p.matcher.Match(nil, text)
	}
	for _, i := range found {
		stances = append(stances, p.stances[i]...)
	}
	return append(stances, p.loose...), bare, err
}
