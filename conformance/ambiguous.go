package conformance

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// member is one member of an object, as JSON.
type member struct{ name, value string }

// write writes members as a JSON object.
func write(members []member) string {
	var parts []string
	for _, m := range members {
		parts = append(parts, m.name+":"+m.value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// message is a request of which every member can be written twice.
type message struct {
	id             string
	envelope       []member // beside jsonrpc, id, method and params
	params, meta   []member // beside what they must have
	label          string
	paramsBefore   []member
	envelopeBefore []member
	as             map[string]string // other names for members that it must have
	inside         map[string]string // other values for members of params, as JSON
}

// name returns the name of a member, as JSON.
func (m *message) name(of string) string {
	if as, ok := m.as[of]; ok {
		return quote(as)
	}
	return quote(of)
}

// members writes a map as members, in order, but for what the message has otherwise.
func (m *message) members(of map[string]any) []member {
	var list []member
	for _, name := range slices.Sorted(maps.Keys(of)) {
		value, _ := json.Marshal(of[name]) // made here
		if inside, ok := m.inside[name]; ok {
			value = []byte(inside)
		}
		list = append(list, member{m.name(name), string(value)})
	}
	return list
}

// body writes a request of a subject.
func (s *session) body(sub *subject, m *message) []byte {
	all := s.conn.Params(sub.params)
	own, _ := all["_meta"].(map[string]any)
	meta := m.members(own)
	if m.label != "" {
		meta = append(meta, member{m.name(policydecl.LabelKey), m.label})
	}
	params := slices.Clone(m.paramsBefore)
	rest := maps.Clone(all)
	delete(rest, "_meta")
	params = append(params, m.members(rest)...)
	params = append(params, member{m.name("_meta"), write(append(meta, m.meta...))})
	envelope := append(slices.Clone(m.envelopeBefore), member{`"jsonrpc"`, `"2.0"`}, member{`"id"`, m.id},
		member{m.name("method"), quote(sub.method)}, member{m.name("params"), write(append(params, m.params...))})
	return []byte(write(append(envelope, m.envelope...)))
}

// nextID returns an id that was not used before.
func (s *session) nextID() string {
	s.ids++
	return quote("flowgate-" + strconv.Itoa(s.ids))
}

// post sends a request in words of its own.
func (s *session) post(sub *subject, m *message) *reply {
	if m.id == "" {
		m.id = s.nextID()
	}
	body := s.body(sub, m)
	got, err := s.conn.AskRaw(s.ctx, peer.Raw{
		Method: sub.method, ID: m.id, Body: body, Params: sub.params, Header: sub.headers(sub.params),
	})
	r := s.read(string(body), got, err)
	s.notice(sub, r)
	return r
}

// ambiguity is one way to make a message that can be read in two ways.
type ambiguity struct {
	about string
	message
	harmless bool // the other request does nothing
}

// ambiguities writes a subject's request in ways that two readers take for different
// requests. The policy refuses all of them, however they are read.
func (s *session) ambiguities(sub *subject) []ambiguity {
	label := labelOf(true, sub.stranger())
	twice := strings.TrimSuffix(label, "}")
	params := write(append((&message{}).members(sub.params), member{`"_meta"`, write([]member{{quote(policydecl.LabelKey), label}})}))
	key, value := "name", ""
	for _, name := range []string{"name", "uri", "ref"} {
		if v, ok := sub.params[name]; ok {
			text, _ := json.Marshal(v)
			key, value = name, string(text)
		}
	}
	upper := title(key)
	meta := write([]member{{quote(policydecl.LabelKey), label}})
	list := []ambiguity{
		{"method twice", message{label: label, envelope: []member{{`"method"`, quote(sub.method)}}}, false},
		{"method in another case", message{label: label, envelope: []member{{`"Method"`, quote(sub.method)}}}, false},
		{"method in another case, first", message{label: label, envelopeBefore: []member{{`"Method"`, `"ping"`}}}, true},
		{"params twice", message{label: label, envelope: []member{{`"params"`, params}}}, false},
		{"params with a long s", message{label: label, envelope: []member{{`"param\u017f"`, params}}}, false},
		{"id in another case", message{id: "12", label: label, envelope: []member{{`"ID"`, "12"}}}, false},
		{key + " twice", message{label: label, params: []member{{quote(key), value}}}, false},
		{key + " in another case", message{label: label, params: []member{{quote(upper), value}}}, false},
		{"_meta twice", message{label: label, params: []member{{`"_meta"`, meta}}}, false},
		{"_meta in another case", message{label: label, paramsBefore: []member{{`"_META"`, meta}}}, false},
		{"the label twice", message{label: label, meta: []member{{quote(policydecl.LabelKey), label}}}, false},
		{"the label in another case", message{label: label, meta: []member{{quote(strings.ToLower(policydecl.LabelKey)), label}}}, false},
		{"contributors twice", message{label: twice + `,"contributors":[]}`}, false},
		{"contributors in another case", message{label: twice + `,"Contributors":[]}`}, false},
		{"contributors with a long s", message{label: twice + `,"contributor\u017f":[]}`}, false},
		{"complete twice", message{label: twice + `,"complete":true}`}, false},
		{"an id that is true", message{id: "true", label: label}, false},
		{"an id that is an array", message{id: "[1]", label: label}, false},
		{"an id that is an object", message{id: "{}", label: label}, false},
		{"contributors in another case alone", message{label: strings.Replace(label, "contributors", "Contributors", 1)}, false},
		{"complete in another case alone", message{label: strings.Replace(label, "complete", "Complete", 1)}, false},
	}
	for _, name := range []string{"method", "params", key, "_meta", policydecl.LabelKey} {
		as := map[string]string{name: title(name)}
		list = append(list, ambiguity{name + " in another case alone", message{label: label, as: as}, false})
	}
	return list
}

// title writes the first letter of a name in upper case, behind underscores.
func title(name string) string {
	rest := strings.TrimLeft(name, "_")
	return name[:len(name)-len(rest)] + strings.ToUpper(rest[:1]) + rest[1:]
}

// nested are the objects of params that can be read in two ways as well, by route.
var nested = map[string][2]string{
	routeCompletion: {"ref", "type"}, routeTasks: {"task", "ttl"}, routeListen: {"notifications", "resourceSubscriptions"},
}

// within writes a subject's request in such ways inside an object of params.
func (s *session) within(sub *subject) []ambiguity {
	where, ok := nested[sub.route]
	if !ok {
		return nil
	}
	object, name := maps.Clone(sub.params[where[0]].(map[string]any)), where[1]
	if object[name] == nil {
		object[name] = 60_000 // the time to live of a task
	}
	plain := (&message{}).members(object)
	value, _ := json.Marshal(object[name]) // made here
	inside := func(members []member) message {
		return message{label: labelOf(true, sub.stranger()), inside: map[string]string{where[0]: write(members)}}
	}
	more := func(name string) []member { return append(slices.Clone(plain), member{quote(name), string(value)}) }
	about := name + " of " + where[0]
	return []ambiguity{
		{about + " twice", inside(more(name)), false},
		{about + " in another case", inside(more(title(name))), false},
		{about + " in another case alone", inside((&message{as: map[string]string{name: title(name)}}).members(object)), false},
	}
}

// l8 wants each of them to be refused as an invalid request: whoever finds that the policy
// refuses it has read it in one way, where others read it in another.
func (c *checker) l8() {
	sub := c.subject()
	if sub == nil {
		return
	}
	c.invalids(sub, c.ambiguities(sub))
	c.nullID(sub)
	for _, route := range []string{routeCompletion, routeTasks, routeListen} {
		if inner := c.subjects[route]; inner != nil && inner.isRefused() {
			c.invalids(inner, c.within(inner))
		}
	}
}

// invalids wants each of a subject's requests to be refused as an invalid one.
func (c *checker) invalids(sub *subject, list []ambiguity) {
	for _, k := range list {
		if c.askable(sub) == nil || c.lost != nil {
			return
		}
		ran, judged := sub.ran, c.judged
		r := c.post(sub, &k.message)
		if k.harmless {
			sub.ran, c.judged = ran, judged
		}
		if c.lost != nil {
			return
		}
		_, flow, _ := flowerrors.ReadViolation(r.raw)
		switch {
		case r.silent, r.Ran(), r.Late, r.Began != "", r.misdirected():
			c.fail(k.about, r.sent, r.got())
		case r.Outcome == judge.Refused, flow:
			c.fail(k.about, r.sent, "a refusal by the policy, and not as an invalid request: "+r.got())
		case !r.invalid():
			c.leave("%s: the server answered with something else than an invalid request, which proves nothing: %s", k.about, r.got())
			continue
		}
		c.Requests++
	}
}

// nullID sends a request whose id is null. A server may take it for a notification, to which
// there is no answer, but answers it with nothing else than that it is invalid.
func (c *checker) nullID(sub *subject) {
	if c.askable(sub) == nil || c.lost != nil {
		return
	}
	m := &message{id: "null", label: labelOf(true, sub.stranger())}
	raw := peer.Raw{Method: sub.method, ID: m.id, Body: c.body(sub, m), Params: sub.params, Header: sub.headers(sub.params)}
	sent := string(raw.Body)
	if c.stdio { // where nothing ends the silence, so a ping follows
		raw.ID = c.nextID()
		raw.Body = append(raw.Body, "\n"+`{"jsonrpc":"2.0","id":`+raw.ID+`,"method":"ping"}`...)
	}
	got, err := c.conn.AskRaw(c.ctx, raw)
	if c.stdio && err == nil {
		got.Again, got.Late = 0, nil // is the ping's
		if got.Err == nil {
			got.Result = got.Unnamed
		}
	}
	r := c.read(sent, got, err)
	silent := r.Outcome == judge.HTTPError && (r.Status == http.StatusAccepted || r.Status == http.StatusNoContent) || c.stdio && r.Ran() && r.raw == nil
	_, flow, _ := flowerrors.ReadViolation(r.raw)
	switch {
	case c.lost != nil:
		return
	case silent, r.invalid() && !flow:
	case r.Ran(), r.Late, r.Began != "", r.silent, r.Outcome == judge.Refused, flow:
		sub.ran = sub.ran || r.Ran() && !flow
		c.fail("an id that is null", r.sent, r.got())
	default:
		c.leave("an id that is null: the server answered with something else than an invalid request, which proves nothing: %s", r.got())
		return
	}
	c.Requests++
}

// invalid reports whether a request was refused as invalid.
func (r *reply) invalid() bool {
	switch r.Outcome {
	case judge.HTTPError:
		return r.Status == http.StatusBadRequest
	case judge.RPCError:
		return r.Status == http.StatusBadRequest || r.Code == -32600 || r.Code == -32602 || r.Code == -32700
	}
	return false
}
