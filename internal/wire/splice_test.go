package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

func declarations(msg string) string {
	return string(wire.SpliceDeclarations([]byte(msg), "k/p", "p", "result", "tools"))
}

func capability(msg string) string {
	return string(wire.SpliceCapability([]byte(msg), "flow", "x/flow", []byte(`{"v":1}`), "result", "capabilities"))
}

// D1 and D3: a policy is added beside the other members, and nothing else changes by a byte.
func TestSpliceDeclarations(t *testing.T) {
	for _, c := range []struct{ msg, want string }{
		{`{"result":{"tools":[{"_meta":{"k/p":{"a":[]}}}]}}`, `{"result":{"tools":[{"_meta":{"k/p":{"a":[]}},"p":{"a":[]}}]}}`},
		{`{"result":{"tools":[{"_meta":{"z":1,"k/p":7,"y":2},"name":"a"},{"name":"b"},{"_meta":{"k/p":8}}],"nextCursor":"<\u003c"}}`,
			`{"result":{"tools":[{"_meta":{"z":1,"k/p":7,"y":2},"name":"a","p":7},{"name":"b"},{"_meta":{"k/p":8},"p":8}],"nextCursor":"<\u003c"}}`},
		{" { \"result\" : { \"tools\" : [ { \"_meta\" : { \"k/p\" : [1E9 , 1.0] } } ] } } \n",
			" { \"result\" : { \"tools\" : [ { \"_meta\" : { \"k/p\" : [1E9 , 1.0] } ,\"p\":[1E9 , 1.0]} ] } } \n"},
		// The member is there already.
		{`{"result":{"tools":[{"_meta":{"k/p":7},"p":8}]}}`, ""},
		// The key elsewhere is not a policy.
		{`{"result":{"tools":[{"_meta":{"in":{"k/p":7}},"inputSchema":{"k/p":7}}],"_meta":{"k/p":7}}}`, ""},
		{`{"result":{"other":[{"_meta":{"k/p":7}}]}}`, ""},
		{`{"result":{"tools":{"_meta":{"k/p":7}}}}`, ""},
		{`{"result":{"tools":[[{"_meta":{"k/p":7}}],null,"k/p",{"_meta":["k/p"]}]}}`, ""},
		{`{"result":{"tools":[]}}`, ""},
		{`{"result":[{"tools":"k/p"}]}`, ""},
		{`{"error":{"code":1,"message":"k/p"}}`, ""},
		// What is no JSON stays.
		{`{"result":{"tools":[{"_meta":{"k/p":7}}`, ""},
		{`{"result":{"tools":[{"_meta":{"k/p":7`, ""},
		{`{"result":{"tools":[{"_meta":{"k/p"`, ""},
		{``, ""},
	} {
		want := c.want
		if want == "" {
			want = c.msg
		}
		if got := declarations(c.msg); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.msg, got, want)
		}
	}
}

// D2 and D3: so it is with the capability.
func TestSpliceCapability(t *testing.T) {
	for _, c := range []struct{ msg, want string }{
		{`{"result":{"capabilities":{}}}`, `{"result":{"capabilities":{"flow":{"v":1},"extensions":{"x/flow":{"v":1}}}}}`},
		{`{"result":{"capabilities":{"tools":{}},"z":1.0}}`, `{"result":{"capabilities":{"tools":{},"flow":{"v":1},"extensions":{"x/flow":{"v":1}}},"z":1.0}}`},
		{`{"result":{"capabilities":{"extensions":{},"tools":{}}}}`, `{"result":{"capabilities":{"extensions":{"x/flow":{"v":1}},"tools":{},"flow":{"v":1}}}}`},
		{`{"result":{"capabilities":{"extensions":{"io.x/ui":{}}}}}`, `{"result":{"capabilities":{"extensions":{"io.x/ui":{},"x/flow":{"v":1}},"flow":{"v":1}}}}`},
		// Somebody's own announcement stays.
		{`{"result":{"capabilities":{"flow":{},"extensions":{"x/flow":{}}}}}`, ""},
		{`{"result":{"capabilities":{"flow":{},"extensions":null}}}`, ""},
		{`{"result":{"capabilities":[]}}`, ""},
		{`{"result":{}}`, ""},
		{`{"error":{"code":1}}`, ""},
		{`{"result":{"capabilities":{"extensions":{"a"`, ""},
		{``, ""},
	} {
		want := c.want
		if want == "" {
			want = c.msg
		}
		if got := capability(c.msg); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.msg, got, want)
		}
	}
}

// slowSplice is the twin of SpliceDeclarations: it decodes every element to see what
// has to be added, and finds the places with a decoder's offsets.
func slowSplice(msg []byte) []byte {
	var whole struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(msg, &whole) != nil {
		return msg
	}
	var out []byte
	from := 0
	d := json.NewDecoder(bytes.NewReader(msg))
	for _, name := range []string{"result", "tools"} {
		if tok, _ := d.Token(); tok != json.Delim('{') {
			return msg
		}
		for {
			tok, err := d.Token()
			if err != nil || tok == json.Delim('}') {
				return msg
			}
			if tok == name {
				break
			}
			_ = d.Decode(new(json.RawMessage))
		}
	}
	if tok, _ := d.Token(); tok != json.Delim('[') {
		return msg
	}
	for d.More() {
		var element json.RawMessage
		if d.Decode(&element) != nil {
			return msg
		}
		var members map[string]json.RawMessage
		var meta map[string]json.RawMessage
		_ = json.Unmarshal(element, &members)
		_ = json.Unmarshal(members["_meta"], &meta)
		if meta["k/p"] == nil || members["p"] != nil {
			continue
		}
		brace := int(d.InputOffset()) - 1
		out = append(append(append(out, msg[from:brace]...), `,"p":`...), meta["k/p"]...)
		from = brace
	}
	return append(out, msg[from:]...)
}

// plainNames reports that every object has each name once, and plain, as in what
// mcp-go writes.
func plainNames(n node) bool {
	for i, name := range n.names {
		if slices.ContainsFunc(n.names[:i], func(o string) bool { return strings.EqualFold(o, name) }) {
			return false
		}
		if slices.ContainsFunc([]string{"result", "tools", "_meta", "k/p", "p"}, func(o string) bool { return o != name && strings.EqualFold(o, name) }) {
			return false
		}
	}
	return !slices.ContainsFunc(n.kids, func(k node) bool { return !plainNames(k) })
}

func FuzzSplice(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{"tools":[{"_meta":{"k/p":{"a":[1.0,"\u003c"]}},"name":"a"},{"name":"b","p":1},{}],"nextCursor":"x"}}`,
		` {"result" : {"x":[],"tools":[ {"_meta" : {"q":{},"k/p" : null} } , 7, "k/p"] } }`,
		`{"result":{"capabilities":{"extensions":{"a":{}}}}}`,
		`{"result":{"tools":[{"_meta":{"k/p":7}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		before := bytes.Clone(msg)
		got, withCapability := declarations(string(msg)), capability(string(msg))
		if !bytes.Equal(msg, before) {
			t.Fatal("the message was changed")
		}
		if !json.Valid(msg) {
			return
		}
		if !json.Valid([]byte(got)) || !json.Valid([]byte(withCapability)) {
			t.Fatalf("%q became\n%q and\n%q", msg, got, withCapability)
		}
		// What is inserted is known text, so taking it out gives the message (D3).
		if strings.Count(string(msg), `x/flow`) == 0 {
			back := withCapability
			for _, in := range []string{`,"extensions":{"x/flow":{"v":1}}`, `"flow":{"v":1}`, `"x/flow":{"v":1}`} {
				if i := strings.LastIndex(back, in); i >= 0 && withCapability != string(msg) {
					start := i
					if in[0] != ',' && back[i-1] == ',' {
						start--
					}
					back = back[:start] + back[i+len(in):]
				}
			}
			if !strings.Contains(string(msg), `"v":1`) && back != string(msg) {
				t.Fatalf("%q became\n%q, and back\n%q", msg, withCapability, back)
			}
		}
		n, err := slowTree(msg)
		if err != nil || !plainNames(n) || bytes.Contains(msg, []byte(`\u`)) {
			return
		}
		if want := string(slowSplice(msg)); got != want {
			t.Fatalf("%q:\n got %q\nwant %q", msg, got, want)
		}
	})
}
