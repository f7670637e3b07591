package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// fake is a recipient of its own making, which keeps the rules but for what broken says.
type fake struct {
	broken string
	write  bool // the first tool does not say that it only reads

	mu   sync.Mutex
	runs map[string]int  // how often each thing was reached
	dead map[string]bool // the eras in which nothing is answered any more
}

func (f *fake) is(broken string) bool { return f.broken == broken }

func (f *fake) start(t *testing.T) string {
	t.Helper()
	f.runs = map[string]int{}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

const (
	fakeURI  = "https://fake.example/mcp"
	partner  = "https://partner.example/mcp"
	vendor   = "com.example.tier:gold"
	stateful = "2025-11-25"
	modern   = "2026-07-28"
)

// The policies, as they are published; "" is the default.
var fakePolicies = map[string]string{
	"tool look": `{"acceptFrom":["user","` + partner + `"]}`, "tool closed": `{"acceptFrom":[]}`, "tool bare": "",
	"tool named": `{"acceptFrom":["self","urn:example:partner","publisher:https://publisher.example/mcp"]}`,
	"tool gold":  `{"acceptFrom":["user","` + vendor + `"]}`,
	"tool job":   `{"acceptFrom":["user"]}`, "resource notes://item/top": `{"acceptFrom":["host"]}`, "resource notes://a": `{"acceptFrom":["user"]}`,
	"template notes://item/{id}": `{"acceptFrom":["user"]}`, "prompt ask": `{"acceptFrom":["user"]}`,
}

var fakeSet = func() *policydecl.Set {
	set, err := policydecl.Compile(policydecl.Config{URI: fakeURI})
	if err != nil {
		panic(err)
	}
	return set
}()

// policy returns the policy of a target as it is enforced.
func (f *fake) policy(target string) policydecl.Policy {
	text := fakePolicies[target]
	switch {
	case text == "":
		return policydecl.Default()
	case f.is("lists User and means user") && target == "tool gold":
		text = `{"acceptFrom":["host","user"]}`
	case f.is("enforces another policy") && target == "tool look":
		text = `{"acceptFrom":["user"]}`
	}
	p, err := policydecl.ParsePolicy([]byte(text))
	if err != nil {
		panic(err)
	}
	if f.is("an empty list is the default") && len(p.Tokens()) == 0 {
		return policydecl.Default()
	}
	return p
}

// call is a request as the fake reads it.
type call struct {
	id, method string
	params     rawjson.Object
	label      rawjson.Object
	raw        []byte // the label
	era        string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c, problem := f.read(body)
	c.era = stateful
	if r.Header.Get("Mcp-Protocol-Version") == modern || c.method == "server/discover" {
		c.era = modern
	}
	if f.is("dies of a bad label") && f.dies(&c) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case c.id == "null" && f.is("takes null for a notification"), c.id == "" && problem == "":
		w.WriteHeader(http.StatusAccepted)
		return
	case problem != "":
		f.answer(w, "null", `"error":{"code":-32600,"message":"`+problem+`"}`)
		return
	}
	f.serve(w, &c)
}

// dies reports whether a request meets nobody, as a label killed the server.
func (f *fake) dies(c *call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead == nil {
		f.dead = map[string]bool{}
	}
	f.dead[c.era] = f.dead[c.era] || strings.Contains(string(c.label.Get("contributors")), ",null]")
	return f.dead[c.era]
}

// known are the members that mean something, by object.
var known = map[string][]string{
	"": {"jsonrpc", "id", "method", "params"}, "params": {"name", "uri", "_meta", "arguments", "task", "ref"},
	"_meta": {policydecl.LabelKey}, "label": {"contributors", "complete"},
	"ref": {"type", "name", "uri"}, "task": {"ttl"}, "notifications": {"resourceSubscriptions"},
}

// read takes a message apart, and reports what makes it ambiguous.
func (f *fake) read(body []byte) (c call, problem string) {
	var envelope, meta rawjson.Object
	open := func(where string, raw []byte) rawjson.Object {
		obj, err := rawjson.ReadObject(raw)
		if err == nil && problem == "" {
			problem = f.ambiguous(where, obj)
		}
		return obj
	}
	envelope = open("", body)
	c.params = open("params", envelope.Get("params"))
	meta = open("_meta", c.params.Get("_meta"))
	c.raw = meta.Get(policydecl.LabelKey)
	c.label = open("label", c.raw)
	for _, where := range []string{"ref", "task", "notifications"} {
		if !f.is("looks at the top of params alone") {
			open(where, c.params.Get(where))
		}
	}
	c.id = string(envelope.Get("id"))
	c.method, _ = envelope.Text("method")
	null := f.is("takes null for an id") || f.is("answers null")
	if k := envelope.Get("id").Kind(); c.id != "" && k != '"' && k != '0' && !(k == 'n' && null) {
		problem = "the id is neither a string nor a number"
	}
	return c, problem
}

func (f *fake) ambiguous(where string, obj rawjson.Object) string {
	for i, m := range obj {
		for _, other := range obj[:i] {
			if m.Name == other.Name && !f.is("takes the last of two members") {
				return "a member is there twice"
			}
		}
		for _, k := range known[where] {
			if f.is("folds the case of a member alone") && strings.EqualFold(m.Name, k) && !obj.Has(k) {
				obj[i].Name = k
			} else if m.Name != k && strings.EqualFold(m.Name, k) && !f.is("folds the case of members") {
				return "a member is in another case"
			}
		}
	}
	return ""
}

func (f *fake) answer(w http.ResponseWriter, id, rest string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, rest)
}

// serve answers a request that can be read.
func (f *fake) serve(w http.ResponseWriter, c *call) {
	if text := f.listing(c); text != "" {
		f.answer(w, c.id, `"result":`+text)
		return
	}
	target, own := f.target(c)
	if own != "" && f.is("lets the user in anywhere") && strings.Contains(string(c.raw), `"assurance":"user"`) {
		f.answer(w, c.id, `"result":{}`)
		return
	}
	if own != "" {
		data := ""
		if f.is("puts the key into other errors") {
			data = `,"data":{"` + flowerrors.ViolationKey + `":{"rejected":[],"acceptFrom":[]}}`
		}
		f.answer(w, c.id, `"error":{"code":-32602,"message":"`+own+`"`+data+`}`)
		return
	}
	switch {
	case f.is("answers what is gated with HTTP status 403"):
		http.Error(w, "no", http.StatusForbidden)
		return
	case f.is("answers what is gated with HTTP status 500"):
		http.Error(w, "no", http.StatusInternalServerError)
		return
	case f.is("answers what is gated with an internal error"):
		f.answer(w, c.id, `"error":{"code":-32603,"message":"internal error"}`)
		return
	}
	answer := `"result":{"content":[{"type":"text","text":"ran` + f.odd() + `"}]}`
	if f.is("keeps answers") && f.kept(c, target) {
		f.answer(w, c.id, answer)
		return
	}
	if v := f.verdict(c, target); v != nil {
		f.refuse(w, c, v)
		return
	}
	f.mu.Lock()
	f.runs[c.era+" "+c.method+" "+target]++
	f.mu.Unlock()
	if f.is("ignores labels and ids") && c.id == "0" {
		c.id = "null"
	}
	f.answer(w, c.id, answer)
}

// kept reports whether there was an answer to the same request before.
func (f *fake) kept(c *call, target string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[c.era+" "+c.method+" "+target] > 0
}

// target finds what a request is for, or the server's own error.
func (f *fake) target(c *call) (target, own string) {
	name, _ := c.params.Text("name")
	uri, _ := c.params.Text("uri")
	switch {
	case c.method == "tools/call":
		target = "tool " + name
	case c.method == "prompts/get":
		target = "prompt " + name
	case c.method == "completion/complete":
		ref := c.params.Object("ref")
		if name, ok := ref.Text("name"); ok {
			target = "prompt " + name
		} else {
			uri, _ := ref.Text("uri")
			target = "template " + uri
		}
	case c.method == "subscriptions/listen" && c.era == modern:
		list, _, _ := rawjson.ReadArray(c.params.Object("notifications").Get("resourceSubscriptions"), 9)
		if len(list) == 0 {
			return "", "there is nothing to listen to"
		}
		uri, _ := rawjson.Text(list[0])
		return f.resource(uri), ""
	case c.method == "resources/read", c.method == "resources/subscribe" && c.era == stateful:
		target = f.resource(uri)
	default:
		return "", "there is no such method"
	}
	if _, ok := fakePolicies[target]; !ok {
		return "", "there is no such thing"
	}
	return target, ""
}

// resource finds the resource or template of a URI, by the query's being ignored.
func (f *fake) resource(uri string) string {
	if f.is("decodes before it looks") {
		uri, _ = url.PathUnescape(uri)
	}
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	if strings.HasPrefix(uri, "notes://item/") && uri != "notes://item/top" {
		return "template notes://item/{id}"
	}
	return "resource " + uri
}
