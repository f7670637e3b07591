package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/flowgate-mcp/flowgate/policydecl"
	"github.com/flowgate-mcp/flowgate/resourcematch"
)

// The oracle of FuzzDifferential: a strict reading of a message, by tokens, and the
// policies of the fixture written down a second time. It knows nothing of the gate.

// bxNode is a JSON value with its members in order.
type bxNode struct {
	kind    byte // '{', '[', 's', 'n', 'b', '0'
	text    string
	names   []string
	kids    []bxNode
	literal bool // true, for kind 'b'
}

var errBxStrict = errors.New("not strict")

// bxStrict reads exactly one value and refuses members that some reader could take
// for each other, except inside params.arguments, which no gate judges.
func bxStrict(msg []byte) (bxNode, error) {
	d := json.NewDecoder(bytes.NewReader(msg))
	d.UseNumber()
	n, err := bxValue(d, 0)
	if err != nil {
		return n, err
	}
	if strings.Trim(string(msg[d.InputOffset():]), " \t\r\n") != "" {
		return n, errBxStrict
	}
	return n, nil
}

func bxValue(d *json.Decoder, depth int) (bxNode, error) {
	tok, err := d.Token()
	if err != nil {
		return bxNode{}, err
	}
	switch v := tok.(type) {
	case string:
		return bxNode{kind: 's', text: v}, nil
	case json.Number:
		return bxNode{kind: 'n', text: v.String()}, nil
	case bool:
		return bxNode{kind: 'b', literal: v}, nil
	case nil:
		return bxNode{kind: '0'}, nil
	}
	n := bxNode{kind: byte(tok.(json.Delim))}
	if depth > 10_000 {
		return n, errBxStrict
	}
	for d.More() {
		if n.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return n, err
			}
			n.names = append(n.names, name.(string))
		}
		kid, err := bxValue(d, depth+1)
		if err != nil {
			return n, err
		}
		n.kids = append(n.kids, kid)
	}
	_, err = d.Token()
	return n, err
}

// member returns the one member of that name. An object in which it could be meant
// twice, or in another spelling, has none.
func (n bxNode) member(name string) (bxNode, bool) {
	found := -1
	for i, s := range n.names {
		if strings.EqualFold(s, name) {
			if found >= 0 || s != name {
				return bxNode{}, false
			}
			found = i
		}
	}
	if n.kind != '{' || found < 0 {
		return bxNode{}, false
	}
	return n.kids[found], true
}

// twice reports whether any two names of the object meet.
func (n bxNode) twice() bool {
	for i, a := range n.names {
		for _, b := range n.names[:i] {
			if strings.EqualFold(a, b) {
				return true
			}
		}
	}
	return false
}

func (n bxNode) twiceAnywhere() bool {
	return n.twice() || slices.ContainsFunc(n.kids, bxNode.twiceAnywhere)
}

// str returns a string member, "" when there is none.
func (n bxNode) str(name string) string {
	m, _ := n.member(name)
	if m.kind != 's' {
		return ""
	}
	return m.text
}

// bxContributor is what counts of a contributor.
type bxContributor struct{ assurance, principal string }

// bxLabelOf reads a label by rules L1 to L6, without budgets: a label over one is
// judged more strictly by the gate, which is never what this oracle objects to.
func bxLabelOf(l bxNode, ok bool) []bxContributor {
	unverified := bxContributor{assurance: "unverified"}
	list, has := l.member("contributors")
	if !ok || l.kind != '{' || !has || list.kind != '[' || len(list.kids) == 0 {
		return []bxContributor{unverified}
	}
	var out []bxContributor
	for _, c := range list.kids {
		b := bxContributor{c.str("assurance"), c.str("principal")}
		if !slices.Contains([]string{"user", "host", "verified", "tofu"}, b.assurance) {
			b.assurance = "unverified"
		}
		if canonical, err := resourcematch.Canonical(b.principal); err == nil {
			b.principal = canonical
		} else {
			b.principal = ""
		}
		out = append(out, b)
	}
	if complete, _ := l.member("complete"); !complete.literal {
		out = append(out, unverified)
	}
	return out
}

// bxAccepts is P7 for the tokens that the fixture uses.
func bxAccepts(label []bxContributor, tokens []string) bool {
	for _, c := range label {
		if !slices.Contains(tokens, c.assurance) && !(slices.Contains(tokens, "self") && c.principal == bxURI) {
			return false
		}
	}
	return true
}

var (
	bxDefault  = []string{"self", "user", "host", "verified"}
	bxSelfUser = []string{"self", "user"}
	bxOnlyUser = []string{"user"}
)

// bxOracle returns why run may not have come from msg, or "".
func bxOracle(msg []byte, run bxRun) string {
	n, err := bxStrict(msg)
	if err != nil {
		return "it is no JSON text: " + err.Error()
	}
	params, _ := n.member("params")
	meta, _ := params.member("_meta")
	for _, part := range []bxNode{n, params, meta} {
		if part.twice() {
			return "it has two readings"
		}
	}
	for _, name := range []string{"ref", "task", "notifications"} {
		if p, _ := params.member(name); p.twice() {
			return "params." + name + " has two readings"
		}
	}
	if meta.twiceAnywhere() {
		return "_meta has two readings"
	}
	if id, ok := n.member("id"); !ok || id.kind != 's' && id.kind != 'n' {
		return "it has no id"
	}
	label := bxLabelOf(meta.member(policydecl.LabelKey))
	kind, rest, _ := strings.Cut(run.what, " ")
	var tokens [][]string
	switch kind {
	case "tool":
		tokens = append(tokens, map[string][]string{"search": bxDefault, "export": bxSelfUser, "hexport": bxSelfUser, "texport": bxSelfUser}[rest])
		if n.str("method") != "tools/call" || params.str("name") != rest {
			return "it names another tool"
		}
	case "prompt":
		tokens = append(tokens, bxOnlyUser)
		if n.str("method") != "prompts/get" || params.str("name") != rest {
			return "it names another prompt"
		}
	case "resource":
		handler, uri, _ := strings.Cut(rest, " ")
		if n.str("method") != "resources/read" || params.str("uri") != uri {
			return "it names another resource"
		}
		tokens = append(tokens, map[string][]string{"static": bxSelfUser, "export": bxOnlyUser, "item": bxDefault, "file": bxDefault}[handler])
		if strings.HasPrefix(uri, "file:///secret/") {
			tokens = append(tokens, bxOnlyUser)
		}
		if strings.HasPrefix(uri, "notes://item/") && strings.Contains(strings.ToLower(uri), "..%2fexport") {
			tokens = append(tokens, bxOnlyUser)
		}
	case "completion":
		what, name, _ := strings.Cut(rest, " ")
		ref, _ := params.member("ref")
		if n.str("method") != "completion/complete" || ref.str("type") != "ref/"+what || ref.str("name")+ref.str("uri") != name && ref.str(map[string]string{"prompt": "name", "resource": "uri"}[what]) != name {
			return "it refers to something else"
		}
		switch {
		case rest == "prompt brief", rest == "resource notes://export{?data}":
			tokens = append(tokens, bxOnlyUser)
		case rest == "resource records://customers":
			tokens = append(tokens, bxSelfUser)
		default:
			tokens = append(tokens, bxDefault)
		}
	}
	for _, t := range tokens {
		if !bxAccepts(label, t) {
			return fmt.Sprintf("the label %v is not accepted by %v", label, t)
		}
	}
	return ""
}

// bxSeeds are the messages of the cases, and spellings around them.
func bxSeeds() []string {
	var seeds []string
	for _, label := range []string{bxU, bxV, bxX, "", "null", `{"contributors":[]}`, `{"contributors":[` + bxUser + `],"complete":1}`, bxFrom(bxURI, "tofu"), bxFrom("HTTPS://Records.example:443/mcp", "tofu")} {
		for _, modern := range []bool{false, true} {
			seeds = append(seeds, bxMsg("1", "tools/call", `"name":"search","arguments":{"a":1,"A":[2]}`, label, modern), bxMsg(`"\u0061"`, "resources/read", `"uri":"notes://item/..%2Fexport"`, label, modern),
				bxMsg("1", "resources/read", `"uri":"file:///secret/a"`, label, modern), bxMsg("1", "resources/read", `"uri":"file:///x/../secret/a"`, label, modern), bxMsg("1", "tools/call", `"name":"hexport","task":{}`, label, modern))
			for _, c := range bxGated {
				seeds = append(seeds, bxMsg("-1.5", c.method, c.params, label, modern))
			}
		}
	}
	call := bxCall("export", bxV)
	for _, edit := range [][2]string{
		{`"name":"export"`, `"name":"search","Name":"export"`}, {`"name":"export"`, `"name":"search","name":"export"`}, {`"method":"tools/call"`, `"method":"ping","Method":"tools/call"`},
		{`"params":`, `"param\u017f":`}, {`"params":{`, `"params":{"ta\u017fk":{},`}, {`"id":1`, `"id":null`}, {`"id":1`, `"id":1,"ID":2`}, {`"id":1`, `"id":true`}, {`"id":1`, `"id":{}`}, {`{"jsonrpc"`, `[{"jsonrpc"`},
		{`"_meta"`, `"_Meta"`}, {`"complete":true`, `"complete":true,"Complete":false`}, {`"verified"`, `"user\ud800"`}, {`flowOrigin`, `floworigin`}, {`"2.0"`, `7`}, {`}}}`, `}}} {}`},
	} {
		seeds = append(seeds, strings.Replace(call, edit[0], edit[1], 1), strings.Replace(bxCall("export", bxU), edit[0], edit[1], 1))
	}
	return append(seeds, `{}`, `null`, `[]`, ``, "\ufeff{}", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`)
}

// bxEra is what a lenient reader makes of a message: enough to set the headers that
// mcp-go wants, and to know a stream.
type bxEra struct {
	Method string
	Params json.RawMessage
}

// context returns a context that has ended for a stream that would not end by itself.
func (m bxEra) context() context.Context {
	if m.Method != "subscriptions/listen" {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// bxFuzzPost sends the message over HTTP.
func bxFuzzPost(h http.Handler, msg []byte, m bxEra) string {
	r := httptest.NewRequest(http.MethodPost, "http://records.example/mcp", bytes.NewReader(msg)).WithContext(m.context())
	r.Header.Set("Content-Type", "application/json")
	if bytes.Contains(msg, []byte("2026-07-28")) {
		r.Header.Set(mcp.HeaderProtocolVersion, "2026-07-28")
		r.Header[mcp.HeaderMethod] = []string{m.Method}
		if name, ok := mcp.ExtractHeaderName(mcp.MCPMethod(m.Method), m.Params); ok {
			r.Header[mcp.HeaderName] = []string{name}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

// Whatever bytes arrive, a handler runs or a task is made only for a message that a
// strict reader reads as a request for that handler with a label that its policy
// accepts. Over HTTP a result of a gated request belongs to something that ran.
func FuzzDifferential(f *testing.F) {
	for _, s := range bxSeeds() {
		f.Add([]byte(s))
	}
	fix := bxNew(f)
	h := fix.handler(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		var m bxEra
		_ = json.Unmarshal(msg, &m)
		ways := map[string]func() string{
			"HTTP": func() string { return bxFuzzPost(h, msg, m) },
			"HandleMessage": func() string {
				b, _ := json.Marshal(fix.srv.HandleMessage(m.context(), msg))
				return string(b)
			},
		}
		for way, send := range ways {
			fix.took()
			answer := send()
			ran := 0
			for _, run := range fix.took() {
				if run.what == "tool hexport" || run.what == "tool texport" {
					continue // perhaps a task of an earlier message; judged by the answer below
				}
				ran++
				if why := bxOracle(msg, run); why != "" {
					t.Fatalf("%s: %q ran, but %s: %q", way, run.what, why, msg)
				}
			}
			if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":`) || !strings.Contains(answer, `"result":`) || bxParse(t, answer).Result == nil {
				continue
			}
			switch m.Method {
			case "tools/call":
				var p struct{ Name string }
				_ = json.Unmarshal(m.Params, &p)
				if why := bxOracle(msg, bxRun{what: "tool " + p.Name}); why != "" {
					t.Fatalf("%s: a result, but %s: %s for %q", way, why, answer, msg)
				}
			case "resources/read", "prompts/get", "completion/complete":
				if ran == 0 {
					t.Fatalf("%s: a result, but nothing ran: %s for %q", way, answer, msg)
				}
			}
		}
	})
}

// Whenever mcp-go's regular expression of a template takes a URI, the matcher
// reports the template: otherwise a handler could be reached past its policy.
func FuzzTemplateSuperset(f *testing.F) {
	templates := []string{"file:///{+path}", "notes://item/{id}", "notes://export{?data}", "x://{a}/{b}", "x://{a,b}", "x://a{?b,c}", "x://{+a,b}/c", "x://{a:3}", "x://{a*}", "docs://caf%C3%A9/{id}", "docs://café/{id}", "X://H/{id}", "x://h/{id}{?q*}", "x://{id}#f", "{+all}", "x:{a}b{c}"}
	uris := []string{"file:///a/b?c#d", "notes://item/1", "notes://item/..%2Fexport", "notes://export", "notes://export?data=1", "x://1/2", "x://1,2", "x://a?b=1&c=2", "x://a?c=2", "x://1/2,3/c", "x://abc", "x://a,b,c", "docs://caf%C3%A9/1", "docs://café/1", "X://H/1", "x://h/1?q=1&q=2", "x://%", "x:b", "notes://item/", "notes://item/%ff", "notes://item/\xff", "file:///", "file:///%2e%2e/;x//y\\z"}
	for _, tmpl := range templates {
		for _, uri := range uris {
			f.Add(tmpl, uri)
		}
	}
	f.Fuzz(func(t *testing.T, tmpl, uri string) {
		m, err := resourcematch.Compile([]resourcematch.Entry{{Kind: resourcematch.Template, Pattern: tmpl}})
		if err != nil {
			return // refused at registration
		}
		if _, err := uritemplate.New(tmpl); err != nil {
			return // mcp-go cannot hold it
		}
		re := mcp.NewResourceTemplate(tmpl, "x").URITemplate.Regexp()
		if !re.MatchString(uri) {
			return
		}
		got, _, err := m.Match(nil, uri)
		if err == nil && !slices.Equal(got, []int{0}) {
			t.Errorf("mcp-go gives %q to the template %q, the matcher reports %v", uri, tmpl, got)
		}
	})
}
