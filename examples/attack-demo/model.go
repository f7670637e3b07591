package main

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// model stands in for a language model, and is the only thing here that is simulated. It
// reads what it is given and does whatever a text tells it to, whoever has written that: a
// model cannot tell data from instructions.
type model struct {
	told    []string          // everything that it was given, in order
	answers map[string]string // what each call has returned
	todo    []order
}

// order is one thing that a text tells the model to do.
type order struct {
	verb   string // CALL, TASK, READ or SUBSCRIBE
	server string
	target string // a tool or a URI
	args   map[string]any
}

var (
	orderLine   = regexp.MustCompile(`(?m)^\s*(CALL|TASK|READ|SUBSCRIBE) (\w+) (\S+)(?: (\{.*\}))?\s*$`)
	placeholder = regexp.MustCompile(`\{(\w+)\}`)
)

// hear gives the model a text.
func (m *model) hear(text string) {
	m.told = append(m.told, text)
	for _, found := range orderLine.FindAllStringSubmatch(text, -1) {
		o := order{verb: found[1], server: found[2], target: found[3]}
		if found[4] != "" && json.Unmarshal([]byte(found[4]), &o.args) != nil {
			continue // no instruction after all
		}
		m.todo = append(m.todo, o)
	}
}

// answer gives the model what a call has returned.
func (m *model) answer(o order, text string) {
	if m.answers == nil {
		m.answers = make(map[string]string)
	}
	m.answers[o.target] = text
	m.hear(text)
}

// next returns what the model does next. What needs an answer that it did not get it
// cannot do.
func (m *model) next() (order, bool) {
	for len(m.todo) > 0 {
		o := m.todo[0]
		m.todo = m.todo[1:]
		if o, ok := m.fill(o); ok {
			return o, true
		}
	}
	return order{}, false
}

// fill puts earlier answers in the place of their names.
func (m *model) fill(o order) (order, bool) {
	complete := true
	in := func(text string, escape func(string) string) string {
		return placeholder.ReplaceAllStringFunc(text, func(name string) string {
			answer, ok := m.answers[strings.Trim(name, "{}")]
			complete = complete && ok
			return escape(answer)
		})
	}
	asIs := func(s string) string { return s }
	filled := order{verb: o.verb, server: o.server, target: in(o.target, percent), args: make(map[string]any)}
	for key, value := range o.args {
		if text, ok := value.(string); ok {
			value = in(text, asIs)
		}
		filled.args[key] = value
	}
	return filled, complete
}

// percent encodes a text for a URI. A template of RFC 6570 knows no plus for a space.
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
