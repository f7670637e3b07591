package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

const label = `"io.modelcontextprotocol/flowOrigin"`

func call(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
}

// accepted holds messages with one reading, and that reading. Every one of them is
// also read by the twin, so the expectations here are what neither may lose.
var accepted = []struct {
	name string
	msg  string
	want wire.Request
}{
	{"least", `{}`, wire.Request{Meta: true}},
	{"white space everywhere", " \t\r\n{ \"id\" : 7 , \"method\" : \"ping\" } \n", wire.Request{ID: []byte("7"), IDKind: wire.IDNumber, Method: "ping", Meta: true}},
	{"null id", `{"id":null,"method":"x"}`, wire.Request{Method: "x", Meta: true}},
	{"string id", `{"id":"a\u0062","method":"x"}`, wire.Request{ID: []byte(`"a\u0062"`), IDKind: wire.IDString, Method: "x", Meta: true}},
	{"negative id", `{"id":-0}`, wire.Request{ID: []byte("-0"), IDKind: wire.IDNumber, Meta: true}},
	{"huge id", `{"id":1e999}`, wire.Request{ID: []byte("1e999"), IDKind: wire.IDNumber, Meta: true}},
	{"id beyond 2^53", `{"id":9007199254740993}`, wire.Request{ID: []byte("9007199254740993"), IDKind: wire.IDNumber, Meta: true}},
	{"true id", `{"id":true}`, wire.Request{ID: []byte("true"), IDKind: wire.IDOther, Meta: true}},
	{"false id", `{"id":false}`, wire.Request{ID: []byte("false"), IDKind: wire.IDOther, Meta: true}},
	{"object id", `{"id":{"a":[1]}}`, wire.Request{ID: []byte(`{"a":[1]}`), IDKind: wire.IDOther, Meta: true}},
	{"array id", `{"id":[1]}`, wire.Request{ID: []byte(`[1]`), IDKind: wire.IDOther, Meta: true}},
	{"method is no string", `{"id":1,"method":7}`, wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Meta: true}},
	{"method with escapes", `{"method":"tools\/ca\u006cl"}`, wire.Request{Method: "tools/call", Meta: true}},
	{"method with every escape", `{"method":"\b\f\n\r\t\"\\\/\u00e9\ud83d\ude00é"}`, wire.Request{Method: "\b\f\n\r\t\"\\/é😀é", Meta: true}},
	{"name with escapes", `{"\u006dethod":"x"}`, wire.Request{Method: "x", Meta: true}},
	{"lone surrogates", `{"method":"\ud800\udc00\udc00\ud800x\ud800"}`, wire.Request{Method: "\U00010000\ufffd\ufffdx\ufffd", Meta: true}},
	{"high surrogate and another escape", `{"method":"\ud800\n\ud800\u0041"}`, wire.Request{Method: "\ufffd\n\ufffdA", Meta: true}},
	{"invalid UTF-8", "{\"method\":\"a\xff\xc3\"}", wire.Request{Method: "a\ufffd\ufffd", Meta: true}},
	{"result", `{"id":1,"result":{}}`, wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Meta: true}},
	{"null result", `{"id":1,"result":null,"error":{}}`, wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Meta: true}},
	{"params is no object", `{"params":[{"uri":"x","uri":"y"}]}`, wire.Request{Meta: true}},
	{"params is null", `{"params":null}`, wire.Request{Meta: true}},
	{"uri", `{"params":{"uri":"a\u003ab"}}`, wire.Request{URI: "a:b", Meta: true}},
	{"empty uri", `{"params":{"uri":""}}`, wire.Request{Meta: true}},
	{"name", `{"params":{"name":"a\u003ab\ud800"}}`, wire.Request{Name: "a:b\ufffd", Meta: true}},
	{"name is no string", `{"params":{"name":["x"]}}`, wire.Request{Meta: true}},
	{"uri is no string", `{"params":{"uri":["x"]}}`, wire.Request{Meta: true}},
	{"listen", `{"params":{"notifications":{"resourceSubscriptions":["a","b"],"toolsListChanged":true}}}`, wire.Request{Subscriptions: []string{"a", "b"}, Meta: true}},
	{"listen to nothing", `{"params":{"notifications":{"resourceSubscriptions":[]}}}`, wire.Request{Subscriptions: []string{}, Meta: true}},
	{"listen to null", `{"params":{"notifications":{"resourceSubscriptions":[null,"b"]}}}`, wire.Request{Subscriptions: []string{"", "b"}, Meta: true}},
	{"listen to something else", `{"params":{"notifications":{"resourceSubscriptions":[1,"b"]}}}`, wire.Request{Meta: true}},
	{"notifications is no object", `{"params":{"notifications":[],"ref":"x","task":7}}`, wire.Request{Meta: true}},
	{"meta null", `{"params":{"_meta":null}}`, wire.Request{Meta: true}},
	{"meta is no object", `{"params":{"_meta":[1]}}`, wire.Request{}},
	{"meta is a string", `{"params":{"_meta":"x"}}`, wire.Request{}},
	{"label", `{"params":{"_meta":{` + label + `: {"complete":true} }}}`, wire.Request{
		MetaObject: []byte(`{` + label + `: {"complete":true} }`), Label: []byte(`{"complete":true}`), Meta: true}},
	{"label null", `{"params":{"_meta":{` + label + `:null}}}`, wire.Request{MetaObject: []byte(`{` + label + `:null}`), Label: []byte(`null`), Meta: true}},
	{"label elsewhere", `{` + label + `:1,"params":{` + label + `:2,"arguments":{"_meta":{` + label + `:3}}}}`, wire.Request{Meta: true}},
	{"label's key with escapes", `{"params":{"_meta":{"io\u002emodelcontextprotocol\/flowOrigin":7}}}`, wire.Request{
		MetaObject: []byte(`{"io\u002emodelcontextprotocol\/flowOrigin":7}`), Label: []byte(`7`), Meta: true}},
	{"arguments are not judged", call(`{"arguments":{"a":1,"a":2,"A":{"\u212a":1,"k":2},"s":"\ud800"},"argument":{"name":1,"Name":2},"context":{"x":1,"X":1}}`),
		wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Method: "tools/call", Meta: true}},
	{"the same name in different objects", call(`{"name":"a","ref":{"name":"b","uri":"b"},"_meta":{"a":{"name":1},"b":{"name":1}}}`),
		wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Method: "tools/call", Name: "a", Meta: true, MetaObject: []byte(`{"a":{"name":1},"b":{"name":1}}`)}},
	{"empty meta", `{"params":{"_meta" : { } }}`, wire.Request{Meta: true, MetaObject: []byte(`{ }`)}},
	{"capabilities", `{"params":{"capabilities" : {"flow":{"origin":true}} ,"x":1}}`, wire.Request{Meta: true, Capabilities: []byte(`{"flow":{"origin":true}}`)}},
	{"capabilities are not judged", `{"params":{"c\u0061pabilities":{"a":1,"a":2,"A":3}}}`, wire.Request{Meta: true, Capabilities: []byte(`{"a":1,"a":2,"A":3}`)}},
	{"capabilities are no object", `{"params":{"capabilities":null}}`, wire.Request{Meta: true, Capabilities: []byte(`null`)}},
	{"capabilities elsewhere", `{"capabilities":1,"params":{"arguments":{"capabilities":2}}}`, wire.Request{Meta: true}},
	{"many members", call(`{` + manyNames(40) + `"name":"a"}`), wire.Request{ID: []byte("1"), IDKind: wire.IDNumber, Method: "tools/call", Name: "a", Meta: true}},
	{"names near a known one", `{"methods":1,"metho":2,"m\u00e9thod":3,"id ":4,"":5}`, wire.Request{Meta: true}},
}

// manyNames returns n members of different names.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"m` + strings.Repeat("x", i) + `":0,`)
	}
	return b.String()
}

func TestReadRequest(t *testing.T) {
	for _, c := range accepted {
		t.Run(c.name, func(t *testing.T) {
			got, err := wire.ReadRequest([]byte(c.msg))
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			slow, ambiguous, err := slowRead([]byte(c.msg))
			if err != nil || ambiguous || !reflect.DeepEqual(slow, c.want) {
				t.Errorf("the twin disagrees: %+v, ambiguous %v, %v", slow, ambiguous, err)
			}
		})
	}
}

// refused holds messages with two readings, where the fault is and whose.
var refused = []struct{ name, msg, where, member string }{
	{"method twice", `{"method":"ping","method":"tools/call"}`, "the message", "method"},
	{"method in capitals", `{"METHOD":"x"}`, "the message", "METHOD"},
	{"method twice by case", `{"method":"ping","Method":"tools/call"}`, "the message", "Method"},
	{"id by case", `{"Id":1}`, "the message", "Id"},
	{"params by an escape", `{"params":{},"\u0050arams":{}}`, "the message", "Params"},
	{"long s", `{"param\u017f":{}}`, "the message", "paramſ"},
	{"long s, raw", `{"paramſ":{}}`, "the message", "paramſ"},
	{"result in capitals", `{"RESULT":1}`, "the message", "RESULT"},
	{"unknown names twice", `{"x":1,"x":2}`, "the message", "x"},
	{"unknown names by case", `{"x":1,"X":2}`, "the message", "X"},
	{"unknown names by Kelvin", `{"k":1,"\u212a":2}`, "the message", "\u212a"},
	{"unknown names by Kelvin, raw", "{\"K\":1,\"\u212a\":2}", "the message", "\u212a"},
	{"the same text by an escape", `{"x":1,"\u0078":2}`, "the message", "x"},
	{"lone surrogates that decode alike", `{"a\ud800":1,"a\ud801":2}`, "the message", "a\ufffd"},
	{"a surrogate and the replacement", `{"a\ud800":1,"a\ufffd":2}`, "the message", "a\ufffd"},
	{"invalid UTF-8 that decodes alike", "{\"a\xff\":1,\"a\xfe\":2}", "the message", "a\ufffd"},
	{"name by case", call(`{"name":"search","Name":"export"}`), "params", "Name"},
	{"tasK by Kelvin", call(`{"tas\u212a":{}}`), "params", "tas\u212a"},
	{"_meta by case", call(`{"_META":{}}`), "params", "_META"},
	{"a new name of mcp-go's", call(`{"INPUTRESPONSES":{}}`), "params", "INPUTRESPONSES"},
	{"ref twice inside", call(`{"ref":{"type":"ref/prompt","type":"ref/resource"}}`), "params.ref", "type"},
	{"ref by case inside", call(`{"ref":{"type":"ref/prompt","NAME":"x"}}`), "params.ref", "NAME"},
	{"task by case inside", call(`{"task":{"TTL":1}}`), "params.task", "TTL"},
	{"task twice inside", call(`{"task":{"x":{},"x":[]}}`), "params.task", "x"},
	{"notifications by long s", call(`{"notifications":{"re\u017fourceSubscriptions":["x"]}}`), "params.notifications", "reſourceSubscriptions"},
	{"label twice", call(`{"_meta":{` + label + `:1,` + label + `:2}}`), "params._meta", "io.modelcontextprotocol/flowOrigin"},
	{"label by case", call(`{"_meta":{"io.modelcontextprotocol/FLOWORIGIN":1}}`), "params._meta", "io.modelcontextprotocol/FLOWORIGIN"},
	{"meta's own values", call(`{"_meta":{"x":[{"a":1,"A":1}]}}`), "params._meta", "A"},
	{"contributors twice", call(`{"_meta":{` + label + `:{"contributors":[],"contributors":[]}}}`), "the label", "contributors"},
	{"assurance by long s", call(`{"_meta":{` + label + `:{"contributors":[{"a\u017fsurance":"user"}]}}}`), "the label", "aſsurance"},
	{"complete deep in the label", call(`{"_meta":{` + label + `:[[{"Complete":1}]]}}`), "the label", "Complete"},
	{"after many members", call(`{` + manyNames(40) + `"mX":1}`), "params", "mX"},
	{"among many members by Kelvin", call(`{` + manyNames(40) + `"k":1,"\u212a":1}`), "params", "\u212a"},
	{"a long name", call(`{"` + strings.Repeat("é", 200) + `":1,"` + strings.Repeat("é", 200) + `":1}`), "params", strings.Repeat("é", 200)},
}

// L8: a name that has two readings is told, with where it is.
func TestReadRequestAmbiguous(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			_, err := wire.ReadRequest([]byte(c.msg))
			var a *wire.AmbiguousError
			if !errors.As(err, &a) {
				t.Fatalf("got %v, want an AmbiguousError", err)
			}
			if a.Where != c.where || a.Name != c.member {
				t.Errorf("blames %q of %q, want %q of %q", a.Name, a.Where, c.member, c.where)
			}
			for _, r := range a.Error() {
				if r < ' ' || r > '~' {
					t.Errorf("the error %q is not printable ASCII", a.Error())
				}
			}
			if len(a.Error()) > 600 {
				t.Errorf("the error has %d bytes", len(a.Error()))
			}
			if _, ambiguous, err := slowRead([]byte(c.msg)); err != nil || !ambiguous {
				t.Errorf("the twin disagrees: ambiguous %v, %v", ambiguous, err)
			}
		})
	}
}

// garbage is text that no decoder accepts. The door never sees it, but stdio reads
// a line before mcp-go has looked at it.
var garbage = []string{
	"", " ", "{", "}", "[", "[]", "null", `""`, "0", "nope", "{}{}", "{} x", "[{}]", `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`,
	`{a:1}`, `{"a`, `{"a\"`, `{"method":"x`, `{"method":`, `{"id":`, `{"id":"`, `{"id":[`, `{"params":{`, `{"params":{"uri"`, `{"params":{"uri":"x`,
	`{"params":{"ref":{`, `{"params":{"ref":{"type"`, `{"params":{"task":{"ttl":`, `{"params":{"notifications":{"resourceSubscriptions":[`,
	`{"params":{"notifications":{"x":[`, `{"params":{"_meta":`, `{"params":{"_meta":{`, `{"params":{"_meta":{"x":`, `{"params":{"_meta":{"x":[`,
	`{"params":{"_meta":{"x":[1`, `{"params":{"_meta":{"x":[1 2]`, `{"params":{"_meta":{` + label + `:{`, `{"a":1 "b":2}`, `{"a":[1}`, `{"a":{"b":"c}`, `{"params":{"_meta":{"x":` + nested(3)[:3], `{"params":{"_meta":{"x":[,`, `{"params":{"_meta":{"x":[1,`, `{"params":{"_meta":{"x":[]`, `{"a":,}`, `{"a":1:2}`,
}

func TestReadRequestGarbage(t *testing.T) {
	for _, g := range garbage {
		if r, err := wire.ReadRequest([]byte(g)); err == nil {
			t.Errorf("%q was read as %+v", g, r)
		} else if a := (*wire.AmbiguousError)(nil); errors.As(err, &a) {
			t.Errorf("%q is called ambiguous: %v", g, err)
		}
	}
}

// Broken escapes never reach the door either; reading them must still end.
func TestReadRequestBrokenEscapes(t *testing.T) {
	for _, g := range []string{`{"\u12":1}`, `{"\uzzzz":1}`, `{"method":"\u"}`, `{"method":"\ud800\u"}`, `{"method":"\q"}`, `{"method":"\ud800\ude"}`} {
		r, err := wire.ReadRequest([]byte(g))
		if err != nil {
			t.Errorf("%q: %v", g, err)
		}
		if strings.Contains(r.Method, "\\") {
			t.Errorf("%q: the method still holds a backslash: %q", g, r.Method)
		}
	}
}

// nested returns text nested n levels, well formed.
func nested(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }

func TestReadRequestDepth(t *testing.T) {
	for _, n := range []int{9_000, 20_000, 5_000_000} {
		// Arguments are skipped, not walked.
		if _, err := wire.ReadRequest([]byte(call(`{"arguments":` + nested(n) + `}`))); err != nil {
			t.Errorf("arguments nested %d levels: %v", n, err)
		}
		// What is walked is bounded where encoding/json is.
		for _, where := range []string{`{"_meta":{"x":`, `{"_meta":{` + label + `:`} {
			_, err := wire.ReadRequest([]byte(call(where + nested(n) + `}}`)))
			if (err != nil) != (n > 10_000) {
				t.Errorf("%s nested %d levels: %v", where, n, err)
			}
			_, err = wire.ReadRequest([]byte(call(where + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat(`}`, n) + `}}`)))
			if (err != nil) != (n > 10_000) {
				t.Errorf("%s objects nested %d levels: %v", where, n, err)
			}
		}
	}
}

// Reading is linear, also in text full of escapes, backslashes or members. Going
// from 64 KiB to 1 MiB may cost 16 times as much; 100 leaves room for a busy
// machine and none for quadratic work, which would cost 256 times as much.
func TestReadRequestLinear(t *testing.T) {
	texts := map[string]func(n int) string{
		"escaped quotes":     func(n int) string { return call(`{"arguments":"` + strings.Repeat(`\"`, n/2) + `"}`) },
		"backslashes":        func(n int) string { return call(`{"arguments":"` + strings.Repeat(`\\`, n/2) + `"}`) },
		"unicode escapes":    func(n int) string { return call(`{"_meta":{"x":"` + strings.Repeat(`\u0041`, n/6) + `"}}`) },
		"strings":            func(n int) string { return call(`{"arguments":[` + strings.Repeat(`"",`, n/3) + `0]}`) },
		"escaped uri":        func(n int) string { return call(`{"uri":"` + strings.Repeat(`\/`, n/2) + `"}`) },
		"different members":  func(n int) string { return call(`{"_meta":{` + numberedNames(n/12) + `"z":0}}`) },
		"spaces":             func(n int) string { return strings.Repeat(" ", n) + call(`{}`) },
		"brackets":           func(n int) string { return call(`{"arguments":` + nested(n/2) + `}`) },
		"elements of _meta":  func(n int) string { return call(`{"_meta":{"x":[` + strings.Repeat(`0,`, n/2) + `0]}}`) },
		"unterminated quote": func(n int) string { return `{"a":"` + strings.Repeat(`\"`, n/2) },
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			small, large := []byte(text(64<<10)), []byte(text(1<<20))
			a, b := best(func() { _, _ = wire.ReadRequest(small) }), best(func() { _, _ = wire.ReadRequest(large) })
			if b > 100*max(a, 50*time.Microsecond) {
				t.Errorf("%d bytes take %v, %d bytes take %v", len(small), a, len(large), b)
			}
		})
	}
}

// numberedNames returns n members of different names and bounded length.
func numberedNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"`)
		for range 6 {
			b.WriteByte(byte('a' + i%26))
			i /= 26
		}
		b.WriteString(`":0,`)
	}
	return b.String()
}

// best returns the shortest of many runs, which other work on the machine disturbs least.
func best(f func()) time.Duration {
	least := time.Duration(1<<63 - 1)
	for range 15 {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least
}

func TestReadRequestFiveMiB(t *testing.T) {
	text := strings.Repeat(`é\u00e9"\\`, 1)
	for len(text) < 5<<20 {
		text += text
	}
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": text, "params": map[string]any{"uri": text, "arguments": text}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := wire.ReadRequest(msg)
	if err != nil || r.Method != text || r.URI != text {
		t.Errorf("read a method of %d and a uri of %d bytes, want %d: %v", len(r.Method), len(r.URI), len(text), err)
	}
}

// A message without escapes is read without a copy of anything but its method and
// uri.
func TestReadRequestAllocations(t *testing.T) {
	msg := []byte(call(`{"name":"export","arguments":{"a":"\n"},"_meta":{` + label + `:{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true},"progressToken":1}}`))
	got := testing.AllocsPerRun(100, func() { _, _ = wire.ReadRequest(msg) })
	if got > 12 {
		t.Errorf("%v allocations", got)
	}
	if !bytes.HasPrefix(msg, []byte("{")) {
		t.Error("the message was changed")
	}
}

// TestUnambiguous: a value has one reading if no two names in one object can be taken
// for each other (L8).
func TestUnambiguous(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `null`: true, ` [1,"x",{"a":{"b":1},"b":[{}]}] `: true, `{"a":{"x":1},"b":{"x":1,"X2":1}}`: true,
		`{"a":1,"a":1}`: false, `{"a":1,"A":1}`: false, `{"x":[{"k":1,"\u212a":1}]}`: false, `{"a":1,"\u0061":1}`: false,
		`[{"a":{"b":1,"b":1}}]`: false, `{"a":1e999}`: false,
		``: false, `{`: false, `{}{}`: false, `{} x`: false,
	} {
		if got := wire.Unambiguous([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if got := slowUnambiguous([]byte(text)); got != want {
			t.Errorf("%s: the twin says %v, want %v", text, got, want)
		}
	}
}
