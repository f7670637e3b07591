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

// coming are the policies of the things that come and go, by their state; the first one
// is absence.
var coming = []policy{nil, byUser, bySelf}

// odd is a message that is not a request as it should be. HTTP gives no session for some.
type odd struct {
	name     string
	text     string // N is the number, I the id
	code     int    // of the error; 0 for no answer at all
	nobody   bool   // the answer has the id null
	recorded bool
	passes   bool // in mode report it runs
}

var odds = []odd{
	{name: "ambiguous", text: `{"jsonrpc":"2.0","id":I,"method":"ping","Method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{"soak/n":N}}}`,
		code: -32600, recorded: true, passes: true},
	{name: "two labels", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{"soak/n":N,"` +
		keyOrigin + `":{"contributors":[{"assurance":"user"}],"Contributors":[],"complete":true}}}}`, code: -32600, recorded: true, passes: true},
	{name: "not JSON", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search"`, code: -32700, nobody: true},
	{name: "batch", text: `[{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","_meta":{"soak/n":N}}}]`, code: -32700, nobody: true},
	{name: "without an id", text: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":{"soak/n":N}}}`},
	{name: "bad _meta", text: `{"jsonrpc":"2.0","id":I,"method":"tools/call","params":{"name":"search","arguments":{"n":N},"_meta":[N]}}`,
		code: -32600, recorded: true},
	{name: "long URI", text: `{"jsonrpc":"2.0","id":I,"method":"resources/read","params":{"uri":"file:///` + strings.Repeat("a", 9000) + `N","_meta":{"soak/n":N}}}`,
		code: -32602, recorded: true, passes: true},
	{name: "unknown method", text: `{"jsonrpc":"2.0","id":I,"method":"tools/delete","params":{"_meta":{"soak/n":N}}}`, code: -32601},
}

// query is one message on its way.
type query struct {
	n     uint64 // its number, which is nobody else's
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
		text = q.odd.text
	} else {
		meta := `"soak/n":N,"progressToken":N`
		if q.era == modern {
			meta += `,"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
		}
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

// fill puts the number and the id in the place of N and I, which stand after a sign that
// ends a name.
func fill(text string, q *query) string {
	n := strconv.FormatUint(q.n, 10)
	for _, sign := range []string{":", "/", "[", "a"} {
		text = strings.ReplaceAll(text, sign+"N", sign+n)
	}
	return strings.ReplaceAll(text, `"id":I`, `"id":`+q.id)
}
