package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// bxQuick fails the test when f takes a noticeable part of the grace that requests
// without an answer are given at the end of a stdio connection: then an answer or
// its record was lost.
func bxQuick(t *testing.T, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v: something waited for an answer that never came", d)
	}
}

// Lines for which mcp-go's answer carries an id other than the one a strict reader
// sees, or none, must not disturb the requests around them.
func TestBadInputOddAnswers(t *testing.T) {
	odd := map[string]string{
		"version is a number":            `{"jsonrpc":7,"id":1,"method":"tools/call","params":{"name":"search"}}`,
		"version is a number, ping":      `{"jsonrpc":7,"id":1,"method":"ping"}`,
		"version is null":                `{"jsonrpc":null,"id":1,"method":"ping"}`,
		"old version":                    `{"jsonrpc":"1.0","id":1,"method":"tools/call"}`,
		"two ids":                        `{"jsonrpc":"2.0","method":"ping","id":1,"ID":2}`,
		"two ids, the last null":         `{"jsonrpc":"2.0","method":"ping","id":1,"ID":null}`,
		"two ids, the last as mcp-go's":  `{"jsonrpc":"2.0","method":"ping","ID":1,"id":2}`,
		"two methods":                    `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`,
		"two methods, the second none":   `{"jsonrpc":"2.0","id":1,"method":"ping","Method":""}`,
		"two versions":                   `{"jsonrpc":"2.0","id":1,"method":"ping","JSONRPC":7}`,
		"two results, the last null":     `{"jsonrpc":"2.0","id":1,"method":"ping","result":1,"Result":null}`,
		"two results, the last not null": `{"jsonrpc":"2.0","id":1,"method":"ping","result":null,"Result":1}`,
		"a result too":                   `{"jsonrpc":"2.0","id":1,"method":"ping","result":1}`,
		"an error too":                   `{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":"x"}}`,
		"id out of range":                `{"jsonrpc":"2.0","id":1e999,"method":"tools/call"}`,
		"id out of range inside":         `{"jsonrpc":"2.0","id":[1e999],"method":"ping"}`,
		"method is a number":             `{"jsonrpc":"2.0","id":1,"method":7}`,
		"method is missing":              `{"jsonrpc":"2.0","id":1}`,
		"params ends early":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`,
		"two values":                     `{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"raw control character":          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\x01\"}",
		"number that is none":            `{"jsonrpc":"2.0","id":01,"method":"ping"}`,
		"bare word":                      `{"jsonrpc":"2.0","id":1,"method":"ping","params":nope}`,
		"blank":                          ``,
		"blank with CR":                  "\r",
		"batch":                          `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"byte order mark":                "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	}
	for name, line := range odd {
		t.Run(name, func(t *testing.T) {
			bxQuick(t, func() {
				f := bxNew(t)
				control := bxServer(t, true)
				wantOdd := bxAlone(control, line)
				// One accepted and one refused call beside each odd line; then, when
				// all is quiet, a refused and an accepted one with the odd line's id.
				c := f.dial(t)
				for i := range 3 {
					c.send(line)
					c.send(bxMsg(fmt.Sprint(100+i), "tools/call", `"name":"export"`, bxX, false))
					c.send(bxMsg(fmt.Sprint(200+i), "tools/call", `"name":"export"`, bxU, false))
				}
				n := 6
				if wantOdd != "" {
					n += 3
				}
				got := c.receive(n)
				c.send(bxCall("export", bxX))
				last := c.receive(1)
				c.send(bxCall("export", bxU))
				last = append(last, c.receive(1)...)
				got = append(got, c.end()...)
				if a, b := bxVerdict(t, last[0]), bxVerdict(t, last[1]); a != "DENY" || b != "ALLOW" {
					t.Errorf("later calls with the odd line's id were answered %q", last)
				}
				answers := map[string]string{}
				var rest []string
				for _, l := range got {
					a := bxParse(t, l)
					if len(a.ID) == 3 {
						if answers[string(a.ID)] != "" {
							t.Errorf("two answers with id %s", a.ID)
						}
						answers[string(a.ID)] = bxVerdict(t, l)
						continue
					}
					rest = append(rest, l)
				}
				for i := range 3 {
					if v := answers[fmt.Sprint(100+i)]; v != "DENY" {
						t.Errorf("the refused call %d was answered %q: %q", 100+i, v, got)
					}
					if v := answers[fmt.Sprint(200+i)]; v != "ALLOW" {
						t.Errorf("the accepted call %d was answered %q: %q", 200+i, v, got)
					}
				}
				switch {
				case wantOdd == "":
					if len(rest) != 0 {
						t.Errorf("mcp-go alone says nothing to the odd line, but it got %q", rest)
					}
				case len(rest) != 3:
					t.Errorf("three odd lines got %q", rest)
				case strings.HasPrefix(name, "two ") && name != "two values":
					for _, l := range rest {
						if v := bxVerdict(t, l); v != "REJECT" {
							t.Errorf("the ambiguous line was answered %q: %s", v, l)
						}
					}
				default:
					for _, l := range rest {
						if l != wantOdd {
							t.Errorf("the odd line got %q, mcp-go alone says %q", l, wantOdd)
						}
					}
				}
				if runs := f.took(); len(runs) != 4 {
					t.Errorf("ran %v", runs)
				}
			})
		})
	}
}

// bxAlone returns what mcp-go alone answers to one line on stdio, "" for nothing: the
// transport itself answers what is no JSON.
func bxAlone(f *bxFix, line string) string {
	if !json.Valid([]byte(line)) {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	}
	return f.direct(line)
}

// bxCounts counts answers by verdict, by id.
func bxCounts(t *testing.T, lines []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lines {
		a := bxParse(t, l)
		if _, ok := out[string(a.ID)]; ok && string(a.ID) != "null" {
			t.Errorf("two answers with id %.40s: %.300s", a.ID, l)
		}
		out[string(a.ID)] = bxVerdict(t, l)
	}
	return out
}

func TestBadInputFiveMiB(t *testing.T) {
	f := bxNew(t)
	big := strings.Repeat("x", 5<<20)
	// Lines around a long one keep their answers.
	c := f.dial(t)
	c.send(bxCall("export", bxU))
	c.send(bxMsg("2", "tools/call", `"name":"search","arguments":{"a":"`+big+`"}`, bxV, false))
	c.send(bxMsg("3", "tools/call", `"name":"export","arguments":"`+big+`"`, bxX, false))
	c.send(bxMsg("4", "tools/call", `"name":"export"`, bxX, false))
	got := bxCounts(t, append(c.receive(4), c.end()...))
	if !maps.Equal(got, map[string]string{"1": "ALLOW", "2": "ALLOW", "3": "DENY", "4": "DENY"}) {
		t.Errorf("stdio: got %v", got)
	}
	if runs := f.took(); len(runs) != 2 {
		t.Errorf("stdio: ran %d handlers", len(runs))
	}
	if v := bxVerdict(t, bxPost(f.handler(t), bxMsg("1", "tools/call", `"name":"export","arguments":"`+big+`"`, bxX, false)).body); v != "DENY" {
		t.Errorf("HTTP: %q", v)
	}
	// Smaller ones on every way, with all there is to read in them.
	big = strings.Repeat("x", 256<<10)
	for _, args := range []string{
		`{"a":"` + strings.Repeat(`\"\\`, 64<<10) + `"}`, `{"a":"` + strings.Repeat(`\u00e9é`, 32<<10) + `"}`, "{" + strings.Repeat(`"m":[1,{"m":2}],`, 16<<10) + `"m":0}`,
	} {
		f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":`+args, bxU, false), "ALLOW", "tool export")
		f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":`+args, bxX, false), "DENY", "")
	}
	f.expect(t, bxMsg("1", "tools/call", `"name":"`+big+`"`, bxU, false), "REJECT", "")
	f.expect(t, bxMsg("1", "tools/call", `"name":"export"`, `{"contributors":[`+bxUser+`],"complete":true,"x":"`+big+`"}`, false), "DENY", "")
	f.expect(t, bxMsg("1", "tools/call", `"name":"export"`, `{"contributors":[`+strings.Repeat(bxUser+",", 4000)+bxUser+`],"complete":true}`, false), "DENY", "")
	f.expect(t, bxMsg("1", "resources/subscribe", `"uri":"records://`+big+`"`, bxU, false), "DENY or REJECT", "")
	f.expect(t, bxMsg("1", big, "", bxU, false), "REJECT", "")
}

func TestBadInputHTTPBodies(t *testing.T) {
	f, control := bxNew(t), bxServer(t, true)
	h, plain := f.handler(t), server.NewStreamableHTTPServer(control.srv, server.WithStateLess(true))
	x, u := bxCall("export", bxX), bxCall("export", bxU)
	for name, body := range map[string]string{
		"empty": "", "spaces": " \n ", "two values": u + x, "two lines": u + "\n" + u, "half": u[:len(u)/2], "gzip": bxGzip(u), "byte order mark": "\ufeff" + u,
		"trailing comma": strings.TrimSuffix(u, "}") + ",}", "NUL after": u + "\x00", "UTF-16": "{\x00}\x00", "invalid UTF-8 outside of strings": "\xff" + u, "comment": "/**/" + u, "single quotes": `{'a':1}`,
	} {
		got, want := bxPost(h, body), bxPost(plain, body)
		if got.status != want.status || got.body != want.body || got.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("%s: %d %q, mcp-go alone %d %q", name, got.status, got.body, want.status, want.body)
		}
	}
	for _, ct := range []string{"", "text/plain", "application/json; charset=utf-8", "application/json-rpc"} {
		got, want := bxPost(h, u, "Content-Type", ct), bxPost(plain, u, "Content-Type", ct)
		if got.status != want.status || got.body != want.body {
			t.Errorf("Content-Type %q: %d %q, mcp-go alone %d %q", ct, got.status, got.body, want.status, want.body)
		}
	}
	runs := f.took()
	for _, r := range runs {
		if r.what != "tool export" {
			t.Errorf("ran %v", runs)
		}
	}
	if len(runs) != 1 {
		t.Errorf("ran %v, want the one call with a good body and content type", runs)
	}
	// Invalid UTF-8 inside arguments is mcp-go's business and passes as it is.
	args := "{\"a\":\"\xff\xc3\"}"
	bxPost(h, bxMsg("1", "tools/call", `"name":"export","arguments":`+args, bxU, false))
	if runs := f.took(); len(runs) != 1 || runs[0].args != args {
		t.Errorf("the handler got %q, want %q", runs, args)
	}
}

func TestBadInputStdioLines(t *testing.T) {
	f := bxNew(t)
	u := func(id int) string { return bxMsg(fmt.Sprint(id), "tools/call", `"name":"export"`, bxU, false) }
	x := func(id int) string { return bxMsg(fmt.Sprint(id), "tools/call", `"name":"export"`, bxX, false) }
	for name, c := range map[string]struct {
		input string
		want  map[string]string
	}{
		"no line end at the end":        {u(1) + "\n" + x(2), map[string]string{"1": "ALLOW", "2": "DENY"}},
		"accepted without a line end":   {x(1) + "\n" + u(2), map[string]string{"1": "DENY", "2": "ALLOW"}},
		"CRLF":                          {u(1) + "\r\n" + x(2) + "\r\n", map[string]string{"1": "ALLOW", "2": "DENY"}},
		"CRLF without LF at the end":    {u(1) + "\r\n" + x(2) + "\r", map[string]string{"1": "ALLOW", "2": "DENY"}},
		"blank lines":                   {"\n\n" + u(1) + "\n\n" + x(2) + "\n", map[string]string{"null": "REJECT", "1": "ALLOW", "2": "DENY"}},
		"spaces around":                 {"  " + u(1) + "  \n\t" + x(2) + " \n", map[string]string{"1": "ALLOW", "2": "DENY"}},
		"half a line at the end":        {u(1) + "\n" + x(2)[:40], map[string]string{"1": "ALLOW", "null": "REJECT"}},
		"only spaces at the end":        {u(1) + "\n   ", map[string]string{"1": "ALLOW"}},
		"nothing":                       {"", map[string]string{}},
		"gzip":                          {bxGzip(u(1)) + "\n" + x(2) + "\n", nil},
		"two values on a line":          {u(1) + x(2) + "\n" + u(3) + "\n", map[string]string{"null": "REJECT", "3": "ALLOW"}},
		"invalid UTF-8":                 {strings.Replace(u(1), `"export"`, "\"export\",\"arguments\":{\"a\":\"\xff\"}", 1) + "\n" + x(2) + "\n", map[string]string{"1": "ALLOW", "2": "DENY"}},
		"a notification and an answer":  {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":9,"result":{}}` + "\n" + u(1) + "\n", map[string]string{"1": "ALLOW"}},
		"the registry's notification":   {`{"jsonrpc":"2.0","method":"notifications/flowgate/registry"}` + "\n" + u(1) + "\n", map[string]string{"1": "ALLOW"}},
		"a request for it":              {`{"jsonrpc":"2.0","id":5,"method":"notifications/flowgate/registry"}` + "\n" + u(1) + "\n", map[string]string{"5": "REJECT", "1": "ALLOW"}},
		"ids of one value in two forms": {strings.Replace(x(1), `"id":1`, `"id":1.0`, 1) + "\n" + strings.Replace(x(1), `"id":1`, `"id":"1"`, 1) + "\n", map[string]string{"1.0": "DENY", `"1"`: "DENY"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.took()
			var lines []string
			bxQuick(t, func() { lines = f.stdio(t, c.input) })
			got := bxCounts(t, lines)
			if c.want == nil { // gzip may hold line ends
				if got["2"] != "DENY" || got["1"] != "" {
					t.Errorf("got %v", got)
				}
				return
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v: %q", got, c.want, lines)
			}
			ran := 0
			for _, v := range c.want {
				if v == "ALLOW" {
					ran++
				}
			}
			if runs := f.took(); len(runs) != ran {
				t.Errorf("ran %v", runs)
			}
		})
	}
}

// The end of the input right after a burst loses no answer, for more calls than
// mcp-go's queue holds, whatever comes in what order.
func TestBadInputEndAfterBurst(t *testing.T) {
	f := bxNew(t)
	var in strings.Builder
	want := map[string]string{}
	for i := range 300 {
		id := fmt.Sprint(i)
		switch i % 5 {
		case 0:
			in.WriteString(bxMsg(id, "tools/call", `"name":"export"`, bxU, false) + "\n")
			want[id] = "ALLOW"
		case 1:
			in.WriteString(bxMsg(id, "tools/call", `"name":"export"`, bxX, false) + "\n")
			want[id] = "DENY"
		case 2:
			in.WriteString(bxMsg(id, "resources/read", `"uri":"notes://item/1"`, bxV, false) + "\n")
			want[id] = "ALLOW"
		case 3:
			in.WriteString(bxMsg(id, "resources/subscribe", `"uri":"records://customers"`, bxV, false) + "\n")
			want[id] = "DENY"
		case 4:
			in.WriteString(bxMsg(id, "ping", ``, ``, false) + "\n")
			want[id] = "ALLOW"
		}
	}
	var lines []string
	bxQuick(t, func() { lines = f.stdio(t, in.String()) })
	if got := bxCounts(t, lines); !maps.Equal(got, want) || len(lines) != len(want) {
		t.Errorf("%d answers to %d requests", len(lines), len(want))
	}
	if runs := f.took(); len(runs) != 120 {
		t.Errorf("%d handlers ran, want 120", len(runs))
	}
}

// Two requests in flight whose ids mcp-go decodes alike: each gets an answer under its own
// id, and the refused one gets no result. Nothing says which answer is whose, so the other
// one may get none either.
func TestBadInputIDsThatMeet(t *testing.T) {
	for range 30 {
		f := bxNew(t)
		c := f.dial(t)
		c.write(strings.Join([]string{
			bxMsg("9007199254740992", "tools/call", `"name":"export"`, bxU, false),
			bxMsg("9007199254740993", "tools/call", `"name":"search"`, bxX, false),
			bxMsg("7", "ping", ``, ``, false), "",
		}, "\n"))
		got := c.receive(3)
		got = append(got, c.end()...)
		if len(got) != 3 {
			t.Fatalf("%d answers: %q", len(got), got)
		}
		ids := map[string]string{}
		for _, l := range got {
			ids[string(bxParse(t, l).ID)] = bxVerdict(t, l)
		}
		if len(ids) != 3 || ids["7"] != "ALLOW" || ids["9007199254740993"] != "DENY" {
			t.Errorf("answers: %q", got)
		}
		if runs := f.took(); len(runs) != 1 {
			t.Errorf("ran %v", runs)
		}
	}
}

// The same id twice in flight, which JSON-RPC forbids: both get an answer, and one that is
// not the result says why.
func TestBadInputOneIDTwice(t *testing.T) {
	for range 30 {
		f := bxNew(t)
		c := f.dial(t)
		c.write(bxMsg("1", "ping", ``, ``, false) + "\n" + bxMsg("1", "tools/call", `"name":"export"`, bxU, false) + "\n")
		got := c.receive(2)
		got = append(got, c.end()...)
		for _, l := range got {
			if v := bxVerdict(t, l); v != "ALLOW" && !strings.Contains(l, "Invalid Request: its id is that of another request in flight") {
				t.Errorf("an accepted request got %s", l)
			}
		}
		if len(got) != 2 {
			t.Errorf("%d answers: %q", len(got), got)
		}
	}
}

// A handler that panics does not stop the connection, and its request is answered.
func TestBadInputPanickingHandler(t *testing.T) {
	f := bxServer(t, false)
	boom := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") }
	if err := middleware.AddTool(f.srv, mcp.NewTool("boom"), policydecl.AcceptFrom("user"), boom); err != nil {
		t.Fatal(err)
	}
	g, err := middleware.New(f.srv, bxConfig())
	if err != nil {
		t.Fatal(err)
	}
	f.gate = g
	var lines []string
	bxQuick(t, func() {
		lines = f.stdio(t, bxMsg("1", "tools/call", `"name":"boom"`, bxU, false)+"\n"+bxMsg("2", "tools/call", `"name":"boom"`, bxX, false)+"\n"+bxMsg("3", "tools/call", `"name":"export"`, bxU, false)+"\n")
	})
	if got := bxCounts(t, lines); !maps.Equal(got, map[string]string{"1": "REJECT", "2": "DENY", "3": "ALLOW"}) {
		t.Errorf("got %v", got)
	}
}

// A stream that the gate has let through does not hold up the end of the input, and
// one that it refuses is answered before it.
func TestBadInputStreamsAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		params, label, want string
	}{
		"nothing listed":  {`"notifications":{"toolsListChanged":true}`, bxX, ""},
		"empty list":      {`"notifications":{"resourceSubscriptions":[]}`, bxX, ""},
		"no filter":       {``, bxX, ""},
		"accepted":        {`"notifications":{"resourceSubscriptions":["records://customers"]}`, bxU, ""},
		"refused":         {`"notifications":{"resourceSubscriptions":["notes://item/1","records://customers"]}`, bxV, "DENY"},
		"cannot be read":  {`"notifications":{"resourceSubscriptions":[7]}`, bxU, "REJECT"},
		"refused by both": {`"notifications":{"resourceSubscriptions":["records://` + strings.Repeat("x", 9000) + `"]}`, bxV, "REJECT"},
	} {
		t.Run(name, func(t *testing.T) {
			f := bxNew(t)
			var lines []string
			bxQuick(t, func() {
				lines = f.stdio(t, bxMsg("1", "subscriptions/listen", c.params, c.label, true)+"\n"+bxMsg("2", "tools/call", `"name":"export"`, bxU, false)+"\n")
			})
			got := map[string]string{}
			for _, l := range lines {
				if strings.Contains(l, `"method":"notifications/`) {
					continue
				}
				a := bxParse(t, l)
				got[string(a.ID)] = bxVerdict(t, l)
			}
			if c.want == "" {
				delete(got, "1") // mcp-go may close the stream with a result
			}
			if got["2"] != "ALLOW" || got["1"] != c.want {
				t.Errorf("got %v: %.300q", got, lines)
			}
		})
	}
}
