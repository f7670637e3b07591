package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/flowgate-mcp/flowgate/middleware"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Cases 18 to 29: the JSON-RPC envelope and the differences between JSON readers.

// L8: a member whose name two readers take differently reaches no handler.
func TestCaseB18MemberNamesByCase(t *testing.T) {
	f := bxNew(t)
	bxEras(t, func(t *testing.T, modern bool) {
		for _, params := range []string{
			`"name":"search","Name":"export"`, `"Name":"export","name":"search"`, `"NAME":"export"`, `"name":"search","name":"export"`,
			`"name":"search","\u004eame":"export"`, `"name":"search","arguments":{},"ARGUMENTS":{"a":1}`, `"name":"search","_Meta":{}`,
			`"name":"hexport","ta\u017fk":{}`, `"name":"search","tas\u212a":{}`, `"name":"search","task":{"ttl":1,"TTL":2}`,
		} {
			f.expect(t, bxMsg("1", "tools/call", params, bxV, modern), "DENY or REJECT", "")
		}
		for _, c := range []struct{ method, params string }{
			{"resources/read", `"uri":"notes://item/1","URI":"records://customers"`},
			{"resources/read", `"uri":"notes://item/1","uri":"records://customers"`},
			{"resources/subscribe", `"uri":"notes://item/1","Uri":"records://customers"`},
			{"prompts/get", `"name":"x","Name":"brief"`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"x","Name":"brief"},"argument":{"name":"a","value":""}`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"Ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"a","value":""}`},
		} {
			f.expect(t, bxMsg("1", c.method, c.params, bxV, modern), "DENY or REJECT", "")
		}
	})
	call := bxCall("export", bxV)
	for _, msg := range []string{
		strings.Replace(call, `"method":"tools/call"`, `"method":"ping","Method":"tools/call"`, 1),
		strings.Replace(call, `"method":"tools/call"`, `"Method":"tools/call","method":"ping"`, 1),
		strings.Replace(call, `"method":"tools/call"`, `"METHOD":"tools/call"`, 1),
		strings.Replace(call, `"params":`, `"params":{"name":"search"},"Params":`, 1),
		strings.Replace(call, `"params":`, `"params":{"name":"search"},"param\u017f":`, 1),
		strings.Replace(call, `"id":1`, `"id":null,"Id":1`, 1),
	} {
		f.expect(t, msg, "DENY or REJECT", "")
	}
	// The label itself: a trusted one and one that is not, in one request.
	for _, meta := range []string{
		`{"` + policydecl.LabelKey + `":` + bxX + `,"` + policydecl.LabelKey + `":` + bxU + `}`,
		`{"` + policydecl.LabelKey + `":` + bxU + `,"io.modelcontextprotocol/floworigin":` + bxX + `}`,
		`{"` + policydecl.LabelKey + `":{"contributors":[{"assurance":"unverified","Assurance":"user"}],"complete":true}}`,
		`{"` + policydecl.LabelKey + `":{"contributors":[` + bxUser + `],"Contributors":[],"complete":true}}`,
		`{"` + policydecl.LabelKey + `":{"contributors":[` + bxUser + `],"complete":false,"COMPLETE":true}}`,
	} {
		f.expect(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export","_meta":`+meta+`}}`, "DENY or REJECT", "")
	}
	// What is inside arguments is the tool's, whatever mcp-go accepts there.
	f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":{"a":1,"A":2,"a":3,"s":"\ud800"}`, bxU, false), "ALLOW", "tool export")
}

func TestCaseB19Batch(t *testing.T) {
	f := bxNew(t)
	control := bxServer(t, true)
	h := f.handler(t)
	plain := server.NewStreamableHTTPServer(control.srv, server.WithStateLess(true))
	for _, batch := range []string{"[" + bxCall("export", bxX) + "]", " \n[" + bxCall("export", bxU) + "," + bxCall("search", bxU) + "]", "[]", "[1]"} {
		got, want := bxPost(h, batch), bxPost(plain, batch)
		if got.status != want.status || got.body != want.body {
			t.Errorf("HTTP: got %d %q, mcp-go alone %d %q", got.status, got.body, want.status, want.body)
		}
		if a := bxParse(t, got.body); string(a.ID) != "null" || bxVerdict(t, got.body) != "REJECT" {
			t.Errorf("HTTP: got %q", got.body)
		}
		for _, line := range f.stdio(t, strings.ReplaceAll(batch, "\n", " ")+"\n") {
			if a := bxParse(t, line); string(a.ID) != "null" || bxVerdict(t, line) != "REJECT" {
				t.Errorf("stdio: got %q", line)
			}
		}
		if v := bxVerdict(t, f.direct(batch)); v != "REJECT" {
			t.Errorf("unwrapped: %q", v)
		}
	}
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}

// bxGated is one request per gated route that a strict policy refuses from bxV.
var bxGated = []struct{ method, params string }{
	{"tools/call", `"name":"export","arguments":{}`},
	{"tools/call", `"name":"hexport"`},
	{"tools/call", `"name":"hexport","task":{}`},
	{"tools/call", `"name":"texport","task":{"ttl":1000}`},
	{"resources/read", `"uri":"records://customers"`},
	{"resources/read", `"uri":"notes://export?data=1"`},
	{"resources/read", `"uri":"file:///secret/a"`},
	{"resources/subscribe", `"uri":"records://customers"`},
	{"subscriptions/listen", `"notifications":{"resourceSubscriptions":["notes://item/1","records://customers"]}`},
	{"prompts/get", `"name":"brief"`},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"brief"},"argument":{"name":"a","value":""}`},
	{"completion/complete", `"ref":{"type":"ref/resource","uri":"records://customers"},"argument":{"name":"a","value":""}`},
	{"completion/complete", `"ref":{"type":"ref/resource","uri":"notes://export{?data}"},"argument":{"name":"data","value":""}`},
}

// bxModernOnly and bxLegacyOnly: methods that one era does not have.
func bxHas(method string, modern bool) bool {
	return method != "subscriptions/listen" && !modern || method != "resources/subscribe" && modern
}

// G4: one error object, wherever the request came in.
func TestCaseB20OneErrorObject(t *testing.T) {
	f := bxNew(t)
	h := f.handler(t)
	in := f.gate.InProcess()
	if err := in.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	bxEras(t, func(t *testing.T, modern bool) {
		for _, c := range bxGated {
			if !bxHas(c.method, modern) {
				continue
			}
			msg := bxMsg(`"a\u0062"`, c.method, c.params, bxV, modern)
			overHTTP := bxPost(h, msg)
			a := bxParse(t, overHTTP.body)
			if overHTTP.status != http.StatusOK || bxVerdict(t, overHTTP.body) != "DENY" || string(a.ID) != `"a\u0062"` {
				t.Errorf("%s %s: HTTP %d %s", c.method, c.params, overHTTP.status, overHTTP.body)
				continue
			}
			lines := f.stdio(t, msg+"\n")
			if len(lines) != 1 {
				t.Errorf("%s: stdio: %q", c.method, lines)
				continue
			}
			b := bxParse(t, lines[0])
			if !bytes.Equal(a.Error, b.Error) || string(b.ID) != `"a\u0062"` {
				t.Errorf("%s %s: over HTTP %s, on stdio %s (id %s)", c.method, c.params, a.Error, b.Error, b.ID)
			}
			var m struct{ Params json.RawMessage }
			if err := json.Unmarshal([]byte(msg), &m); err != nil {
				t.Fatal(err)
			}
			resp, err := in.SendRequest(context.Background(), transport.JSONRPCRequest{
				JSONRPC: "2.0", ID: mcp.NewRequestId("ab"), Method: c.method, Params: m.Params})
			if err != nil || resp.Error == nil {
				t.Errorf("%s: in process: %+v %v", c.method, resp, err)
				continue
			}
			// Decoded, because that is how the transport hands it over.
			inside, _ := json.Marshal(resp.Error)
			if !bxSameJSON(a.Error, inside) {
				t.Errorf("%s: over HTTP %s, in process %s", c.method, a.Error, inside)
			}
		}
	})
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}

func bxSameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func bxNoRequest(t *testing.T, edit func(msg string) string) {
	f := bxNew(t)
	h := f.handler(t)
	bxEras(t, func(t *testing.T, modern bool) {
		for _, c := range bxGated {
			msg := edit(bxMsg("1", c.method, c.params, bxX, modern))
			if got := bxPost(h, msg); got.status != http.StatusAccepted || got.body != "" {
				t.Errorf("HTTP: %d %q for %s", got.status, got.body, msg)
			}
			if lines := f.stdio(t, msg+"\n"); len(lines) != 0 {
				t.Errorf("stdio: %q for %s", lines, msg)
			}
			if got := f.direct(msg); got != "" {
				t.Errorf("unwrapped: %q for %s", got, msg)
			}
		}
	})
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}

func TestCaseB21NoID(t *testing.T) {
	bxNoRequest(t, func(msg string) string { return strings.Replace(msg, `"id":1,`, ``, 1) })
}

func TestCaseB22NullID(t *testing.T) {
	bxNoRequest(t, func(msg string) string { return strings.Replace(msg, `"id":1,`, `"id":null,`, 1) })
}

// X1: odd ids come back as they were sent.
func TestCaseB23OddIDs(t *testing.T) {
	f := bxNew(t)
	h := f.handler(t)
	for _, id := range []string{
		`1e308`, `-0`, `0`, `-1`, `1.50`, `9007199254740993`, `123456789012345678901234567890`, `1E+2`, `""`, `"a\/b\u0041\ud800"`, `"` + strings.Repeat("i", 1<<20) + `"`, `" "`,
	} {
		for label, want := range map[string]string{bxX: "DENY", bxU: "ALLOW"} {
			msg := strings.Replace(bxCall("export", label), `"id":1`, `"id":`+id, 1)
			got := bxPost(h, msg)
			if v := bxVerdict(t, got.body); v != want {
				t.Errorf("HTTP, id %.40s: %q", id, v)
			}
			lines := f.stdio(t, msg+"\n")
			if len(lines) != 1 || bxVerdict(t, lines[0]) != want {
				t.Errorf("stdio, id %.40s: %.300q", id, lines)
				continue
			}
			if want == "DENY" { // X1: digit for digit
				for _, answer := range []string{got.body, lines[0]} {
					if a := bxParse(t, answer); string(a.ID) != id {
						t.Errorf("the id %.40s came back as %.40s", id, a.ID)
					}
				}
			}
		}
	}
	f.took()
	for _, id := range []string{`1e999`, `[1e999]`, `true`, `false`, `{}`, `[]`, `[1]`, `{"a":{"b":null}}`} {
		f.expect(t, strings.Replace(bxCall("export", bxU), `"id":1`, `"id":`+id, 1), "REJECT", "")
		// Not gated, so mcp-go's business.
		ping := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
		if got, want := f.direct(ping), bxServer(t, true).direct(ping); got != want {
			t.Errorf("ping with id %s: %s, mcp-go alone %s", id, got, want)
		}
		if lines := f.stdio(t, ping+"\n"); len(lines) != 1 || lines[0] != f.direct(ping) {
			t.Errorf("ping with id %s on stdio: %q", id, lines)
		}
	}
}

func TestCaseB24ReadLimit(t *testing.T) {
	f := bxNew(t)
	h := http.MaxBytesHandler(f.handler(t), 64<<10)
	for _, size := range []int{63 << 10, 65 << 10} {
		msg := bxMsg("1", "tools/call", `"name":"search","arguments":{"a":"`+strings.Repeat("x", size)+`"}`, bxU, false)
		got := bxPost(h, msg)
		runs := f.took()
		if size < 64<<10 {
			if bxVerdict(t, got.body) != "ALLOW" || len(runs) != 1 {
				t.Errorf("%d bytes: %d %s", size, got.status, got.body)
			}
		} else if v := bxVerdict(t, got.body); v != "REJECT" || len(runs) != 0 {
			t.Errorf("%d bytes: %d %s, ran %v", size, got.status, got.body, runs)
		}
	}
}

func bxGzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestCaseB25Gzip(t *testing.T) {
	f := bxNew(t)
	h := f.handler(t)
	for _, label := range []string{bxX, bxU} {
		got := bxPost(h, bxGzip(bxCall("export", label)), "Content-Encoding", "gzip")
		if v := bxVerdict(t, got.body); v != "REJECT" || got.status != http.StatusBadRequest {
			t.Errorf("gzip body: %d %s", got.status, got.body)
		}
	}
	// A decompressing middleware inside of which the handler stands is fine: the
	// gate judges what mcp-go reads. One between the gate and mcp-go cannot exist,
	// because the handler makes mcp-go's itself.
	outside := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(z)
		h.ServeHTTP(w, r)
	})
	for label, want := range map[string]string{bxX: "DENY", bxU: "ALLOW"} {
		if v := bxVerdict(t, bxPost(outside, bxGzip(bxCall("export", label))).body); v != want {
			t.Errorf("decompressed outside: %q, want %q", v, want)
		}
	}
	if runs := f.took(); len(runs) != 1 {
		t.Errorf("ran %v", runs)
	}
}

func TestCaseB26Nesting(t *testing.T) {
	f := bxNew(t)
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, n := range []int{9_000, 20_000, 5_000_000} {
		for _, deep := range []string{arrays(n), objects(n)} {
			want, ran := "REJECT", ""
			if n < 10_000 { // encoding/json stops at 10,000
				want, ran = "ALLOW", "tool export"
			}
			f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":`+deep, bxU, false), want, ran)
			f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":{}`, deep, false), "DENY or REJECT", "")
			f.expect(t, bxMsg("1", "tools/call", `"name":"export","arguments":{}`, `{"contributors":[{"assurance":"user","x":`+deep+`}],"complete":true}`, false), "DENY or REJECT", "")
			f.expect(t, bxMsg("1", "resources/subscribe", `"uri":"records://customers"`, deep, false), "DENY or REJECT", "")
			f.expect(t, `{"jsonrpc":"2.0","id":`+deep+`,"method":"tools/call","params":{"name":"export"}}`, "REJECT", "")
		}
	}
	f.expect(t, bxCall("export", bxU), "ALLOW", "tool export")
}

func TestCaseB27Numbers(t *testing.T) {
	f := bxNew(t)
	h := f.handler(t)
	const args = `{"id":9007199254740993,"n":1.0, "e":1E+2 ,"s":"\u00e9\/\ud800"}`
	bxEras(t, func(t *testing.T, modern bool) {
		msg := bxMsg("1", "tools/call", `"name":"export","arguments":`+args, bxU, modern)
		for name, send := range map[string]func() string{
			"HTTP":  func() string { return bxPost(h, msg).body },
			"stdio": func() string { return strings.Join(f.stdio(t, msg+"\n"), "\n") },
		} {
			f.took()
			body := send()
			if runs := f.took(); len(runs) != 1 || runs[0].args != args {
				t.Errorf("%s: the handler got %v: %s", name, runs, body)
			}
		}
		big := bxMsg("1", "tools/call", `"name":"export","arguments":{"n":1e400}`, bxU, modern)
		got := bxPost(h, big)
		plain := server.NewStreamableHTTPServer(bxServer(t, true).srv, server.WithStateLess(true))
		if want := bxPost(plain, big); got.status != want.status || got.body != want.body {
			t.Errorf("1e400: %d %s, mcp-go alone %d %s", got.status, got.body, want.status, want.body)
		}
	})
}

func TestCaseB28BadText(t *testing.T) {
	f := bxNew(t)
	if err := middleware.AddTool(f.srv, mcp.NewTool("trusting"), policydecl.AcceptFrom("self", "https://partner.example/\ufffd"), f.tool("trusting")); err == nil {
		t.Error("a token that is no URI was registered")
	}
	principals := []string{`"https://records.example/mcp\ud800"`, "\"https://records.example/mcp\xff\"", `"https://records.example/mcp\ufffd"`, `"https://records.example/mc\u0070\u0000"`}
	for _, p := range principals {
		for _, assurance := range []string{"unverified", "tofu"} {
			f.expect(t, bxCall("export", `{"contributors":[{"principal":`+p+`,"assurance":"`+assurance+`"}],"complete":true}`), "DENY or REJECT", "")
		}
	}
	for _, a := range []string{`"user\ufffd"`, `"user\ud800"`, "\"user\xff\"", `"user\u0000"`, `"USER"`, `" user"`, `["user"]`, `{}`, `true`} {
		f.expect(t, bxCall("export", `{"contributors":[{"principal":"https://fetch.example/mcp","assurance":`+a+`}],"complete":true}`), "DENY or REJECT", "")
	}
	// The name that runs is the name that is judged: mcp-go decodes it once.
	for _, name := range []string{`export\ud800`, `export\ufffd`, "export\xff"} {
		f.expect(t, bxCall(name, bxU), "REJECT", "")
	}
}

func TestCaseB28OneReadingOnEveryRoute(t *testing.T) {
	// G4: a label that one route accepts is accepted by the others too.
	f := bxNew(t)
	for _, l := range []string{
		`{"contributors":[{"principal":"https://partner.example/\ud800","assurance":"verified"}],"complete":true}`,
		"{\"contributors\":[{\"principal\":\"https://partner.example/\xff\",\"assurance\":\"verified\"}],\"complete\":true}",
		`{"contributors":[{"principal":"https://partner.example/\u0000","assurance":"verified"}],"complete":true}`,
		`{"contributors":[{"assurance":"verified"}],"complete":true,"note":"\ud800"}`,
		`{"contributors":[{"assurance":"verified"}],"complete":true,"n":1e5}`,
		`{"contributors":[{"assurance":"verified"}],"complete":true,"note":"` + strings.Repeat(`\u0041`, 1500) + `"}`,
		`{"contributors":[{"assurance":"verified"}` + strings.Repeat(" ", 64<<10) + `],"complete":true}`,
		`{"contributors":[{"assurance":"verified","x":` + strings.Repeat("[", 5) + strings.Repeat("]", 5) + `}],"complete":true}`,
		`{"contributors":[{"assurance":"verified","x":` + strings.Repeat("[", 6) + strings.Repeat("]", 6) + `}],"complete":true}`,
	} {
		for name, send := range f.ways(t) {
			read := bxVerdict(t, send(bxMsg("1", "resources/read", `"uri":"notes://item/1"`, l, false)))
			subscribe := bxVerdict(t, send(bxMsg("1", "resources/subscribe", `"uri":"notes://item/1"`, l, false)))
			if (read == "ALLOW") != (subscribe == "ALLOW") {
				t.Errorf("%s: a read is %q and a subscription to the same URI %q with label %.200q", name, read, subscribe, l)
			}
		}
		f.took()
	}
}

func TestCaseB29EmptyStructures(t *testing.T) {
	f := bxNew(t)
	control := bxServer(t, true)
	h := f.handler(t)
	plain := server.NewStreamableHTTPServer(control.srv, server.WithStateLess(true))
	for _, msg := range []string{
		`{}`, `null`, `""`, `0`, `true`, ``, ` `, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"method":null}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"method":"nope"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read"}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":null}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe"}`, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":7}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"nope"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete"}`, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/none"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x":1e999}}}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"_meta":[]}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/flowgate/registry"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}`,
	} {
		got, want := bxPost(h, msg), bxPost(plain, msg)
		same := got.status == want.status && got.body == want.body
		if !same && (strings.Contains(want.body, `"result"`) || got.status != http.StatusOK && got.status != want.status || bxVerdict(t, got.body) == "ALLOW") {
			t.Errorf("HTTP: %d %s, mcp-go alone %d %s; sent %s", got.status, got.body, want.status, want.body, msg)
		}
		if strings.TrimSpace(msg) != "" {
			if got, want := f.stdio(t, msg+"\n"), bxAlone(control, msg); len(got) > 1 || len(got) == 0 != (want == "") {
				t.Errorf("stdio: %q, mcp-go alone %q; sent %s", got, want, msg)
			}
		}
		got2 := f.direct(msg)
		if bxVerdict(t, got2) == "ALLOW" && got2 != control.direct(msg) {
			t.Errorf("unwrapped: %s; sent %s", got2, msg)
		}
	}
	if runs := f.took(); len(runs) != 0 {
		t.Errorf("ran %v", runs)
	}
}
