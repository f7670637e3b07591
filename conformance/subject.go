package conformance

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The routes: the requests that are gated (section 5).
const (
	routeTools      = "tools"
	routeTasks      = "tasks"
	routeResources  = "resources"
	routeTemplates  = "templates"
	routePrompts    = "prompts"
	routeCompletion = "completion"
	routeSubscribe  = "subscribe"
	routeListen     = "listen"
)

// subject is something that can be asked for, and whose policy refuses somebody.
type subject struct {
	route  string
	method string
	params map[string]any // without _meta
	entry  *inspect.Entry
	judge.Aim

	refusing []policydecl.Assurance // the states in which a stranger is refused
	accepted policydecl.Contributor // one that the policy accepts, if ok
	ok       bool
	mayRun   bool // a request that is accepted may be sent
	ran      bool // it got through although it must not
	plain    *reply
}

// stranger is a contributor that the policy refuses.
func (s *subject) stranger() policydecl.Contributor {
	return policydecl.NewContributor(s.Marker, s.refusing[0], "")
}

// unverified reports whether the policy refuses what nothing is known of.
func (s *subject) unverified() bool { return !s.Accepts(policydecl.Label{}) }

// headers are those in which the stateless era wants some arguments again.
func (s *subject) headers(params map[string]any) http.Header {
	if s.method != "tools/call" {
		return nil
	}
	return judge.ParamHeaders(s.entry.Raw, params)
}

// choose finds the subject of every route.
func (s *session) choose() {
	s.subjects = map[string]*subject{}
	for _, e := range s.entries(policydecl.Tool) {
		if support := judge.TaskSupport(e.Raw); support == "optional" || support == "required" {
			s.offer(routeTasks, "tools/call", e, map[string]any{"name": e.Name, "arguments": s.arguments(e), "task": map[string]any{}})
		}
		if !judge.NeedsTask(e.Raw) {
			s.offer(routeTools, "tools/call", e, map[string]any{"name": e.Name, "arguments": s.arguments(e)})
		}
	}
	for _, e := range s.entries(policydecl.Resource) {
		s.offer(routeResources, "resources/read", e, map[string]any{"uri": e.Name})
	}
	for _, e := range s.entries(policydecl.Template) {
		if uri := expand(e.Name, sample); uri != "" {
			s.offer(routeTemplates, "resources/read", e, map[string]any{"uri": uri})
		}
		s.completion(e, map[string]any{"type": "ref/resource", "uri": e.Name}, argumentOfTemplate(e.Name))
	}
	for _, e := range s.entries(policydecl.Prompt) {
		s.offer(routePrompts, "prompts/get", e, map[string]any{"name": e.Name, "arguments": map[string]any{}})
		s.completion(e, map[string]any{"type": "ref/prompt", "name": e.Name}, argumentOfPrompt(e.Raw))
	}
	for _, from := range []string{routeTemplates, routeResources} { // the second wins
		if sub := s.subjects[from]; sub != nil && s.offers("resources", "subscribe") {
			s.offer(routeSubscribe, "resources/subscribe", sub.entry, sub.params)
			s.offer(routeListen, "subscriptions/listen", sub.entry, map[string]any{
				"notifications": map[string]any{"resourceSubscriptions": []string{sub.params["uri"].(string)}},
			})
		}
	}
}

func (s *session) completion(e *inspect.Entry, ref map[string]any, argument string) {
	if s.offers("completions", "") {
		s.offer(routeCompletion, "completion/complete", e, map[string]any{
			"ref": ref, "argument": map[string]any{"name": argument, "value": ""},
		})
	}
}

// offer makes something the subject of a route if it is better than the one there is.
func (s *session) offer(route, method string, e *inspect.Entry, params map[string]any) {
	sub := s.subject(route, method, e, params)
	if sub == nil {
		return
	}
	if before := s.subjects[route]; before == nil || before.score() < sub.score() {
		s.subjects[route] = sub
	}
}

// subject returns something to ask for, or nil if no request is sure to be refused.
func (s *session) subject(route, method string, e *inspect.Entry, params map[string]any) *subject {
	info := &s.inspected.Server
	sub := s.make(route, method, e, params)
	enforces := info.Enforces || !info.Announced && e.Source == inspect.FromOwn
	if !enforces || len(judge.VendorTokens(s.set, e.Policy)) > 0 || len(sub.refusing) == 0 {
		return nil
	}
	return sub
}

// make returns something to ask for, although it may be that no request is refused: who is
// accepted by a token that needs a matcher is not known.
func (s *session) make(route, method string, e *inspect.Entry, params map[string]any) *subject {
	sub := &subject{
		route: route, method: method, params: params, entry: e,
		Aim: judge.Aim{Policy: e.Policy, Set: s.set, Self: s.opts.Self, Marker: s.marker},
	}
	sub.refusing = sub.Refused()
	sub.accepted, sub.ok = sub.Acceptable()
	sub.mayRun = route == routeTools && s.mayRun(e)
	return sub
}

// score says how much can be tried on a subject.
func (s *subject) score() int {
	n := 0
	for _, yes := range []bool{s.mayRun, s.entry.Source == inspect.FromOwn, s.ok, s.unverified()} {
		n *= 2
		if yes {
			n++
		}
	}
	return n
}

// main is what the rules are tried on that do not depend on the kind of request.
func (s *session) main() *subject {
	for _, route := range []string{routeTools, routeResources, routePrompts, routeTemplates, routeCompletion} {
		if sub := s.subjects[route]; sub != nil && sub.unverified() {
			return sub
		}
	}
	for _, route := range []string{routeTools, routeResources, routePrompts, routeTemplates, routeCompletion} {
		if sub := s.subjects[route]; sub != nil {
			return sub
		}
	}
	return nil
}

// mayRun reports whether a tool may run for real: because the caller says so, or because
// the tool says that it only reads, and needs no arguments.
func (s *session) mayRun(e *inspect.Entry) bool {
	if _, ok := s.opts.Run[e.Name]; ok {
		return true
	}
	var tool struct {
		Annotations struct {
			ReadOnly bool `json:"readOnlyHint"`
		} `json:"annotations"`
		InputSchema struct {
			Required []string `json:"required"`
		} `json:"inputSchema"`
	}
	return json.Unmarshal(e.Raw, &tool) == nil && tool.Annotations.ReadOnly && len(tool.InputSchema.Required) == 0
}

func (s *session) arguments(e *inspect.Entry) json.RawMessage {
	if args, ok := s.opts.Run[e.Name]; ok {
		return args
	}
	return json.RawMessage("{}")
}

// sample stands for every variable of a template.
const sample = "flowgate"

// expand returns the URI of a template in which every variable has a value, or "" if it
// cannot be read.
func expand(template, value string) string {
	t, err := uritemplate.New(template)
	if err != nil {
		return ""
	}
	values := uritemplate.Values{}
	for _, name := range t.Varnames() {
		values[name] = uritemplate.String(value)
	}
	uri, err := t.Expand(values)
	if err != nil {
		return ""
	}
	return uri
}

func argumentOfTemplate(template string) string {
	if t, err := uritemplate.New(template); err == nil && len(t.Varnames()) > 0 {
		return t.Varnames()[0]
	}
	return sample
}

func argumentOfPrompt(raw []byte) string {
	obj, _ := rawjson.ReadObject(raw)
	list, _, _ := rawjson.ReadArray(obj.Get("arguments"), 1)
	if len(list) == 1 {
		if argument, err := rawjson.ReadObject(list[0]); err == nil {
			if name, ok := argument.Text("name"); ok {
				return name
			}
		}
	}
	return sample
}

func containsAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
