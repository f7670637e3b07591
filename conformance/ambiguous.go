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

// object writes members as a JSON object.
func object(members []member) string {
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
}

// body writes a request of a subject.
func (s *session) body(sub *subject, m *message) []byte {
	all := s.conn.Params(sub.params)
	own, _ := all["_meta"].(map[string]any)
	meta := members(own)
	if m.label != "" {
		meta = append(meta, member{quote(policydecl.LabelKey), m.label})
	}
	params := slices.Clone(m.paramsBefore)
	rest := maps.Clone(all)
	delete(rest, "_meta")
	params = append(params, members(rest)...)
	params = append(params, member{`"_meta"`, object(append(meta, m.meta...))})
	envelope := append(slices.Clone(m.envelopeBefore), member{`"jsonrpc"`, `"2.0"`}, member{`"id"`, m.id},
		member{`"method"`, quote(sub.method)}, member{`"params"`, object(append(params, m.params...))})
	return []byte(object(append(envelope, m.envelope...)))
}

// members writes a map as members, in order.
func members(m map[string]any) []member {
	var list []member
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value, _ := json.Marshal(m[name]) // made here
		list = append(list, member{quote(name), string(value)})
	}
	return list
}

// post sends a request in words of its own.
func (s *session) post(sub *subject, m *message) *reply {
	if m.id == "" {
		s.ids++
		m.id = quote("flowgate-" + strconv.Itoa(s.ids))
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
	params := object(append(members(sub.params), member{`"_meta"`, object([]member{{quote(policydecl.LabelKey), label}})}))
	key, value := "name", ""
	for _, name := range []string{"name", "uri", "ref"} {
		if v, ok := sub.params[name]; ok {
			text, _ := json.Marshal(v)
			key, value = name, string(text)
		}
	}
	upper := strings.ToUpper(key[:1]) + key[1:]
	meta := object([]member{{quote(policydecl.LabelKey), label}})
	return []ambiguity{
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
	}
}

// l8 wants each of them to be refused as an invalid request: whoever finds that the policy
// refuses it has read it in one way, where others read it in another.
func (c *checker) l8() {
	sub := c.subject()
	if sub == nil {
		return
	}
	for _, k := range c.ambiguities(sub) {
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
