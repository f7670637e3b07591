package soak_test

import (
	"strconv"
	"strings"
)

// The two protocol eras.
const (
	legacy = "2025-11-25" // initialize, and a session over HTTP
	modern = "2026-07-28" // stateless
)

// manner is what a client does with a request besides waiting for the answer.
type manner uint8

const (
	plainly   manner = iota
	cancels          // with notifications/cancelled, when the handler has reported progress
	leaves           // by closing the connection then; over stdio it cancels
	subscribe        // leaves when the subscription is acknowledged
)

// route is one way to reach a handler, or a side effect, or none.
type route struct {
	name   string
	method string
	params string // members of params without _meta; N stands for the request's number
	called string // what the modern era repeats in Mcp-Name
	code   []declared
	also   []string // targets that overrides may name besides
	runs   []string // what the server does for an accepted request
	echoes bool     // the result says whose it is
	only   string   // the era that knows the method, "" for both
	manner manner
	comes  string // the kind of thing that comes and goes
}

func tool(name string, accept policy) route {
	return route{
		name: name, method: "tools/call", params: `"name":"` + name + `","arguments":{"n":N}`, called: name,
		code: []declared{{"tools " + name, accept}}, runs: []string{name}, echoes: true,
	}
}

func asTask(name string, accept policy) route {
	r := tool(name, accept)
	r.name += " as a task"
	r.params += `,"task":{"ttl":1000}`
	r.echoes = false // the first answer says that there is a task
	r.runs = []string{name, "task:created"}
	return r
}

func read(uri, runs string, also []string, code ...declared) route {
	return route{
		name: "read " + uri, method: "resources/read", params: `"uri":"` + uri + `"`, called: uri,
		code: code, also: also, runs: []string{runs}, echoes: true,
	}
}

func complete(ref, runs string, code ...declared) route {
	return route{
		name: "complete " + ref, method: "completion/complete", params: `"ref":{` + ref + `},"argument":{"name":"id","value":"a"}`,
		code: code, runs: []string{runs}, echoes: true,
	}
}

func (r route) in(m manner) route {
	r.manner = m
	r.name += map[manner]string{cancels: ", cancelled", leaves: ", left"}[m]
	return r
}

var (
	customers = declared{"resources records://customers", bySelfUser}
	item      = declared{"templates notes://item/{id}", nil}
	file      = declared{"templates file:///{+path}", nil}
	secret    = declared{"prefixes file:///secret/", byUser}
	brief     = declared{"prompts brief", byUser}

	// gated are the routes of section 5. The seldom ones come last.
	gated = []route{
		tool("search", nil), tool("export", bySelfUser), tool("hexport", bySelfUser), tool("ticks", nil),
		tool("hold", nil).in(cancels), tool("hold", nil).in(leaves),
		read("records://customers", "customers", nil, customers),
		read("notes://item/N", "item", nil, item),
		read("file:///public/N", "file", []string{"prefixes file:///public/"}, file),
		read("file:///secret/N", "file", nil, file, secret),
		read("file:///secret/..%2Fsecret/N", "file", nil, file, secret),
		{name: "subscribe", method: "resources/subscribe", params: `"uri":"records://customers"`, code: []declared{customers},
			runs: []string{"hook:subscribe"}, only: legacy},
		{name: "listen", method: "subscriptions/listen",
			params: `"notifications":{"resourceSubscriptions":["notes://item/1","records://customers"]}`,
			code:   []declared{item, customers}, runs: []string{"hook:listen"}, only: modern, manner: subscribe},
		{name: "prompt", method: "prompts/get", params: `"name":"brief"`, called: "brief", code: []declared{brief}, runs: []string{"brief"}, echoes: true},
		complete(`"type":"ref/prompt","name":"brief"`, "complete prompt", brief),
		complete(`"type":"ref/resource","uri":"notes://item/{id}"`, "complete resource", item),
		complete(`"type":"ref/resource","uri":"records://customers"`, "complete resource", customers),
		{name: "coming tool", method: "tools/call", params: `"name":"come","arguments":{"n":N}`, called: "come", echoes: true, comes: "tool"},
		{name: "coming resource", method: "resources/read", params: `"uri":"come://r"`, called: "come://r", echoes: true, comes: "resource"},
		asTask("hexport", bySelfUser), asTask("texport", bySelfUser),
	}

	// open are requests that pass untouched.
	open = []route{
		{name: "tools list", method: "tools/list"}, {name: "resources list", method: "resources/list"},
		{name: "templates list", method: "resources/templates/list"}, {name: "prompts list", method: "prompts/list"},
		{name: "ping", method: "ping", only: legacy}, {name: "discover", method: "server/discover", only: modern},
		{name: "unsubscribe", method: "resources/unsubscribe", params: `"uri":"records://customers"`, only: legacy},
	}
)

const seldom = 2 // routes at the end of gated

// The two transports.
const (
	overHTTP  = "HTTP"
	overStdio = "stdio"
)

// coming are the policies of the things that come and go, by their state; the first one
// is absence.
var coming = []policy{nil, byUser, bySelf}

// odd is a message that is not a request as it should be. HTTP gives no session for some.
type odd struct {
	name     string
	method   string // what the modern era repeats in headers, and the name with it
	called   string
	text     string // N is the number, I the id, M the members of _meta
	code     int    // of the error; 0 for no answer at all
	early    int    // if set, the error of mcp-go over HTTP in the modern era, before the gate
	nobody   bool   // the answer has the id null
	recorded bool
	passes   bool // where the gate stops nothing it runs
}

// longURI is longer than a URI may be (R4).
var longURI = "file:///" + strings.Repeat("a", 9000) + "N"

var odds = []odd{
	{name: "ambiguous", method: "tools/call", called: "search", text: `{"jsonrpc":"2.0","id":I,"method":"ping","Method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{M}}}`,
		code: -32600, recorded: true, passes: true},
	{name: "two labels", method: "tools/call", called: "search", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{M,"` +
		keyOrigin + `":{"contributors":[{"assurance":"user"}],"Contributors":[],"complete":true}}}}`, code: -32600, recorded: true, passes: true},
	{name: "not JSON", method: "tools/call", called: "search", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","_meta":{M}`, code: -32700, nobody: true},
	{name: "batch", method: "tools/call", called: "search", text: `[{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","_meta":{M}}}]`, code: -32700, nobody: true},
	{name: "without an id", method: "tools/call", called: "search", text: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{M}}}`},
	{name: "bad _meta", method: "tools/call", called: "search", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":[N]}}`,
		code: -32600, early: -32602, recorded: true},
	{name: "long URI", method: "resources/read", called: longURI, text: `{"jsonrpc":"2.0","id":I,"method":"resources/read","params":{"uri":"` + longURI + `","_meta":{M}}}`,
		code: -32602, recorded: true, passes: true},
	{name: "unknown method", method: "tools/delete", text: `{"jsonrpc":"2.0","id":I,"method":"tools/delete","params":{"_meta":{M}}}`, code: -32601},
}

// early reports whether mcp-go turns the odd message away before the gate sees it.
func (q *query) early() bool { return q.odd.early != 0 && q.era == modern && q.over == overHTTP }

// query is one message on its way.
type query struct {
	n     uint64 // its number, which is nobody else's
	over  string // overHTTP or overStdio
	id    string // JSON text of the id
	era   string
	route *route
	label *label
	odd   *odd
	from  moment // when it was sent
}

// idOf is the id of the request with a number: a number or a string.
func idOf(n uint64) string {
	if n%3 == 0 {
		return `"s-` + strconv.FormatUint(n, 10) + `"`
	}
	return strconv.FormatUint(n, 10)
}

// numberOf is the inverse of idOf, for JSON texts and for what a decoder makes of them.
func numberOf(id string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(strings.Trim(id, `"`), "s-"), 10, 64)
	return n
}

// body is the whole message on one line.
func (q *query) body() string {
	text := ""
	if q.odd != nil {
		text = strings.Replace(q.odd.text, "{M", "{"+q.meta(), 1)
	} else {
		meta := q.meta() + `,"progressToken":N`
		if q.label != nil && q.label.text != "" {
			meta += `,"` + keyOrigin + `":` + q.label.text
		}
		params := q.route.params
		if params != "" {
			params += ","
		}
		text = `{"jsonrpc":"2.0","id":I,"method":"` + q.route.method + `","params":{` + params + `"_meta":{` + meta + `}}}`
	}
	return fill(text, q)
}

// meta is what _meta says of a request in its era.
func (q *query) meta() string {
	if q.era != modern {
		return `"soak/n":N`
	}
	return `"soak/n":N,"io.modelcontextprotocol/protocolVersion":"` + modern +
		`","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
}

// cell is a kind of thing that has to happen, as TestSoak wants to see all of them.
func (q *query) cell(o outcome) string {
	return q.name() + " in " + q.era + " over " + q.over + ": " + string(o)
}

// method is the method of the message, and called the name in it.
func (q *query) method() (method, called string) {
	if q.odd != nil {
		return q.odd.method, q.odd.called
	}
	return q.route.method, q.route.called
}

// fill puts the number and the id in the place of N and I, which stand after a sign that
// ends a name.
func fill(text string, q *query) string {
	n := strconv.FormatUint(q.n, 10)
	for _, sign := range []string{":", "/", "[", "a"} {
		text = strings.ReplaceAll(text, sign+"N", sign+n)
	}
	return strings.ReplaceAll(text, `"id":I`, `"id":`+q.id)
}
