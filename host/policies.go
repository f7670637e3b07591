package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Bounds on what a server can make a host keep.
const (
	// MaxDeclarations is how many declarations of one kind are kept. Of a server that
	// lists more, nothing of that kind is called.
	MaxDeclarations = 10_000
	// MaxName is how long the name of a declaration may be, in bytes. Of a server that
	// lists a longer one, nothing of that kind is called.
	MaxName = 8 << 10
	// MaxRemembered is how much is kept of one server, in bytes: names, policies, and some for
	// each of them. Nothing is called of a kind that takes more.
	MaxRemembered = 8 << 20
)

// target is what a policy governs.
type target struct {
	kind policydecl.TargetKind
	name string
}

// published is what a server has published.
type published struct {
	known   bool   // a hello was read
	met     bool   // or was read on an earlier connection
	hello   string // why the last one cannot be relied on
	def     stance
	targets map[target]*stance
	lists   map[policydecl.TargetKind]*list
	taken   map[string]claimed // tools whose names another server had first
	bytes   int                // what the targets take
	asked   map[[32]byte]bool  // questions that were put to the hook and not agreed to
	matcher *patterns          // of resources; nil when it has to be made anew
}

// list is what is known of the list of one kind.
type list struct {
	member, name string // of the list and of a declaration's name, in the protocol
	count        int
	whole        bool   // it was read to its end once
	stale        bool   // not read yet, or changed since
	unread       string // why it cannot be relied on

	// Of the reading under way:
	begun bool // with the first page
	bad   bool // and something in it cannot be read
}

func (p *published) init() {
	p.def = stance{rule: rule{open: true}}
	p.targets = make(map[target]*stance)
	p.taken = make(map[string]claimed)
	p.asked = make(map[[32]byte]bool)
	p.lists = map[policydecl.TargetKind]*list{
		policydecl.Tool:     {member: "tools", name: "name", stale: true},
		policydecl.Prompt:   {member: "prompts", name: "name", stale: true},
		policydecl.Resource: {member: "resources", name: "uri", stale: true},
		policydecl.Template: {member: "resourceTemplates", name: "uriTemplate", stale: true},
	}
}

// Hello reads what a server says of itself, as it came: the result of initialize or
// server/discover. Of what is in it only the announcement of flow policy counts, in either
// form (D2). The error says what cannot be read; such a server's policies are
// not known, and nothing is sent to it. ctx is that of Config.Approve.
func (c *Connection) Hello(ctx context.Context, result []byte) error {
	if !c.made() {
		return errNoConnection
	}
	obj, err := decode(result)
	var announced rule
	var fault string
	if err == nil {
		announced, fault = announcement(obj)
	}
	c.mu.Lock()
	p := &c.policies
	if err == nil && announced.weight()+p.def.rule.weight() > MaxRemembered {
		err = errTooMuch
	}
	if err != nil {
		p.hello = "what it says of itself cannot be read: " + err.Error()
		c.mu.Unlock()
		return fmt.Errorf("the server's hello: %w", err)
	}
	p.hello, p.def.fault = "", fault
	var question *Approval
	c.recallDefault()
	if p.known || p.met {
		was := p.def.inForce()
		announced.gap = was.open || was.gap
		question = c.offer(&p.def, announced, target{})
	} else {
		p.def.rule = announced
	}
	p.known = true
	c.remember(target{}, &p.def, false)
	c.mu.Unlock()
	c.ask(ctx, question)
	return nil
}

// Page reads one answer to a request that lists declarations, as it came. first says that
// the request had no cursor; the pages of a list are read in order, and one without a
// nextCursor is the last. The error says what cannot be read; until the list is
// read again from its start to its end, nothing of that kind is sent, because its policies
// are not known.
//
// What was listed once is remembered: a server cannot loosen the policy of a declaration
// by taking it back for a while.
//
// ctx is that of Config.Approve.
func (c *Connection) Page(ctx context.Context, kind policydecl.TargetKind, result []byte, first bool) error {
	if !c.made() {
		return errNoConnection
	}
	l := c.policies.lists[kind] // the map never changes
	if l == nil {
		return fmt.Errorf("nothing of kind %v is listed", kind)
	}
	obj, err := decode(result)
	if err == nil {
		err = errors.Join(spelt(obj, l.member), spelt(obj, "nextCursor"))
	}
	entries, ok := obj[l.member].([]any)
	if value, there := obj[l.member]; err == nil && !ok && (value != nil || !there) { // Go writes an empty list as null
		err = errors.New("it has no array " + l.member)
	}
	c.mu.Lock()
	if first {
		l.begun, l.bad = true, false
	}
	var questions []*Approval
	for i, e := range entries {
		if err != nil {
			break
		}
		var asked []*Approval
		if asked, err = c.listed(kind, l, e); err != nil {
			err = fmt.Errorf("%s[%d]: %w", l.member, i, err)
		}
		questions = append(questions, asked...)
	}
	if err != nil {
		l.bad, l.stale, l.unread = true, true, "its "+l.member+" cannot be read: "+err.Error()
	}
	if next, _ := obj["nextCursor"].(string); next == "" && l.begun && !l.bad {
		l.unread = ""
		c.readWhole(kind)
	}
	c.policies.matcher = nil
	c.mu.Unlock()
	c.ask(ctx, questions...)
	if err != nil {
		return fmt.Errorf("the server's list: %w", err)
	}
	return nil
}

// listed takes over one entry of a list. c.mu is held.
func (c *Connection) listed(kind policydecl.TargetKind, l *list, entry any) ([]*Approval, error) {
	declaration, _ := entry.(map[string]any)
	if err := spelt(declaration, l.name); err != nil {
		return nil, err
	}
	name, _ := declaration[l.name].(string)
	if name == "" {
		return nil, nil // no request can be about it
	}
	if len(name) > MaxName {
		return nil, errors.New("its " + l.name + " is longer than " + strconv.Itoa(MaxName) + " bytes")
	}
	question, err := c.declared(target{kind, name}, l, declaration)
	if err != nil || kind != policydecl.Tool {
		return []*Approval{question}, err
	}
	return []*Approval{question, c.claim(name)}, nil
}

// declared takes over the policy of one declaration. c.mu is held.
func (c *Connection) declared(t target, l *list, declaration map[string]any) (*Approval, error) {
	p := &c.policies
	offered, fault := ownPolicy(declaration)
	own := !offered.byDefault || offered.unread
	s, whole := p.targets[t], l.whole
	if p.bytes-s.weighed()+t.weight()+offered.weight() > MaxRemembered {
		return nil, errTooMuch
	}
	if s == nil {
		if l.count >= MaxDeclarations {
			return nil, fmt.Errorf("there are more than %d", MaxDeclarations)
		}
		known, ok, before := c.recall(t)
		switch whole = whole || before; {
		case ok:
			s = &stance{rule: known.rule, own: known.own}
		case whole && (t.kind == policydecl.Resource || t.kind == policydecl.Template):
			// It can match URIs of which the host has read before that the default governs them.
			s = &stance{rule: rule{byDefault: true}}
		default:
			s = &stance{rule: offered}
		}
		p.keep(t, s)
	}
	s.fault, s.own = fault, s.own || own
	question := c.offer(s, offered, t)
	p.weigh(t, s)
	c.remember(t, s, false)
	return question, nil
}

// keep takes in a target that was not known.
func (p *published) keep(t target, s *stance) {
	p.targets[t] = s
	p.lists[t.kind].count++
	p.weigh(t, s)
}

var errTooMuch = fmt.Errorf("its policies take more than %d bytes", MaxRemembered)

// What is remembered is weighed by the texts that a server has chosen, and by something for
// each of them.
const overhead = 64

func (t target) weight() int { return 4*overhead + len(t.name) }

func (r rule) weight() (n int) {
	for _, p := range r.policies {
		for _, token := range p.Tokens() {
			n += overhead + len(token)
		}
	}
	return n
}

// weighed returns what a target was weighed at, nothing for one that is not known yet.
func (s *stance) weighed() int {
	if s == nil {
		return 0
	}
	return s.bytes
}

// weigh weighs a target anew.
func (p *published) weigh(t target, s *stance) {
	p.bytes -= s.bytes
	s.bytes = t.weight() + s.rule.weight()
	if s.offered != nil {
		s.bytes += s.offered.weight()
	}
	p.bytes += s.bytes
}

// Stale notes that the server has announced a change of its lists: those of the kind
// have to be read again before anything of it is called. [Connection.NeedsList] tells an
// adapter so; what was read of them before holds until then.
func (c *Connection) Stale(kind policydecl.TargetKind) { c.freshness(kind, false) }

// Fresh notes that all pages of a kind have been read since the last change, or that there
// is no list of that kind. A page that could not be read stays unread.
func (c *Connection) Fresh(kind policydecl.TargetKind) { c.freshness(kind, true) }

func (c *Connection) freshness(kind policydecl.TargetKind, fresh bool) {
	if !c.made() || c.policies.lists[kind] == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.policies.lists[kind]
	if l.stale = !fresh; fresh {
		c.readWhole(kind)
	}
}
