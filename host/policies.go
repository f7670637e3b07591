package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
)

// target is what a policy governs.
type target struct {
	kind policydecl.TargetKind
	name string
}

// published is what a server has published.
type published struct {
	known   bool   // a hello was read
	hello   string // why the last one cannot be relied on
	def     stance
	targets map[target]*stance
	lists   map[policydecl.TargetKind]*list
	taken   map[string]claimed // tools whose names another server had first
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
	p.lists = map[policydecl.TargetKind]*list{
		policydecl.Tool:     {member: "tools", name: "name", stale: true},
		policydecl.Prompt:   {member: "prompts", name: "name", stale: true},
		policydecl.Resource: {member: "resources", name: "uri", stale: true},
		policydecl.Template: {member: "resourceTemplates", name: "uriTemplate", stale: true},
	}
}

// decode reads a text from a server: one JSON object without duplicate names.
func decode(raw []byte) (map[string]any, error) {
	if !jsontext.Value(raw).IsValid() {
		return nil, errors.New("it is no JSON, or names a member twice")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	return obj, nil
}

// spelt reports a member that a typed client takes for name, because it ignores letter
// case, and this package does not. The application would be shown something else (L8).
func spelt(obj map[string]any, name string) error {
	for have := range obj {
		if have != name && strings.EqualFold(have, name) {
			return errors.New("it has " + name + " in another letter case")
		}
	}
	return nil
}

// Hello reads what a server says of itself, as it came: the result of initialize or
// server/discover. Of what is in it only the announcement of flow policy counts, in either
// form (D2). The error says what cannot be read; such a server's policies are
// not known, and nothing is sent to it.
func (c *Connection) Hello(result []byte) error {
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
	if err != nil {
		p.hello = "what it says of itself cannot be read: " + err.Error()
		c.mu.Unlock()
		return fmt.Errorf("the server's hello: %w", err)
	}
	p.hello, p.def.fault = "", fault
	var question *Approval
	if p.known {
		was := p.def.inForce()
		announced.gap = was.open || was.gap
		question = c.offer(&p.def, announced, target{})
	} else {
		p.known, p.def.rule = true, announced
	}
	c.mu.Unlock()
	c.ask(question)
	return nil
}

// announcement reads the capability in both forms. Where they differ, both must accept. What
// cannot be read announces the draft's default policy: somebody meant something by it.
func announcement(hello map[string]any) (rule, string) {
	r := rule{open: true}
	var fault string
	add := func(policy policydecl.Policy, what string) {
		r.open = false
		r.policies = append(r.policies, policy)
		if what != "" {
			fault = what
		}
	}
	object := func(of map[string]any, name string) map[string]any {
		obj, ok := of[name].(map[string]any)
		if !ok && of[name] != nil {
			add(policydecl.Default(), name+" is no object")
		}
		return obj
	}
	form := func(of map[string]any, name string) {
		flow := object(of, name)
		switch flow["policy"] {
		case nil, false:
		case true:
			policy, err := policydecl.ReadPublished(flow["default"], policydecl.Policy{})
			if err != nil {
				add(policy, err.Error())
			} else {
				add(policy, "")
			}
		default:
			add(policydecl.Default(), name+".policy is neither true nor false")
		}
	}
	capabilities := object(hello, "capabilities")
	form(capabilities, policydecl.CapabilityMember)
	form(object(capabilities, "extensions"), policydecl.ExtensionKey)
	return r, fault
}

// Page reads one answer to a request that lists declarations, as it came. first says that
// the request had no cursor; the pages of a list are read in order, and one without a
// nextCursor is the last. The error says what cannot be read; until the list is
// read again from its start to its end, nothing of that kind is sent, because its policies
// are not known.
//
// What was listed once is remembered: a server cannot loosen the policy of a declaration
// by taking it back for a while.
func (c *Connection) Page(kind policydecl.TargetKind, result []byte, first bool) error {
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
		l.whole, l.unread = true, ""
	}
	c.policies.matcher = nil
	c.mu.Unlock()
	c.ask(questions...)
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
	s := p.targets[t]
	if s != nil {
		s.fault, s.own = fault, s.own || own
		return c.offer(s, offered, t), nil
	}
	if l.count >= MaxDeclarations {
		return nil, fmt.Errorf("there are more than %d", MaxDeclarations)
	}
	l.count++
	s = &stance{rule: offered, fault: fault, own: own}
	p.targets[t] = s
	if l.whole && (t.kind == policydecl.Resource || t.kind == policydecl.Template) {
		// It can match URIs of which the host has read before that the default governs them.
		s.rule = rule{byDefault: true}
		return c.offer(s, offered, t), nil
	}
	return nil, nil
}

// ownPolicy reads the policy of a declaration, beside its other members and under _meta
// (D1). If there are two and they differ, both must accept. Without any, and instead of
// what cannot be read, it is the server's default (P4, P6).
func ownPolicy(declaration map[string]any) (r rule, fault string) {
	r.open = true
	meta, _ := declaration["_meta"].(map[string]any)
	for _, v := range []any{declaration[policydecl.PolicyMember], meta[policydecl.PolicyKey]} {
		if v == nil {
			continue
		}
		// A default that is known by its handle says whether it was needed.
		policy, err := policydecl.ReadPublished(v, standIn)
		if err != nil {
			fault = err.Error()
		}
		stated := rule{policies: []policydecl.Policy{policy}}
		if policy == standIn {
			stated = rule{byDefault: true, unread: true}
		}
		r = r.and(stated)
	}
	if r.open {
		return rule{byDefault: true}, ""
	}
	return r, fault
}

var standIn = policydecl.AcceptFrom()

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
	l.stale, l.whole = !fresh, l.whole || fresh
}
