package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestReadObject(t *testing.T) {
	obj, err := inspect.ReadObject([]byte(` { "a" : 1 , "b":[1, 2],"a":"x\u0001" } `))
	if err != nil || len(obj) != 3 || string(obj[0].Value) != "1" || string(obj.Get("b")) != "[1, 2]" {
		t.Fatalf("%v %s", err, obj)
	}
	if s, ok := obj.Text("a"); !ok || s != "x\x01" {
		t.Errorf("%q", s)
	}
	if obj.Has("c") || !obj.Has("a") || len(obj.Duplicates()) != 1 {
		t.Errorf("%v", obj.Duplicates())
	}
	for _, text := range []string{"", " ", "7", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`, "null", `{a:1}`} {
		if _, err := inspect.ReadObject([]byte(text)); err == nil {
			t.Errorf("%q is no object", text)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"a":2}`: "", ` [] `: "", `7`: "", "\"\xff\"": "",
		``: "not valid JSON: it ends too early", `[`: "not valid JSON, at byte 1", `rubbish`: "not valid JSON, at byte 0",
		`{} {}`: "something follows the JSON value, at byte 4", `{}x`: "something follows the JSON value, at byte 2",
	} {
		got := ""
		if err := inspect.Check([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if list, err := inspect.ReadArray([]byte(`[1,[2],3]`), 2); err != nil || len(list) != 2 || string(list[1]) != "[2]" {
		t.Errorf("%v %s", err, list)
	}
}

// The faults of a part stay the caller's.
func TestUnder(t *testing.T) {
	part := []policydecl.Fault{{Pointer: "/a"}, {Pointer: ""}}
	whole := inspect.Under("/b~1c", part)
	if part[0].Pointer != "/a" || part[1].Pointer != "" || whole[0].Pointer != "/b~1c/a" || whole[1].Pointer != "/b~1c" {
		t.Errorf("%v %v", part, whole)
	}
}

// Where encoding/json sees an object, so does ReadObject, with the same values.
func FuzzReadObject(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[true,null]}}`, `{"a":1,"a":2}`, "{\"\xff\":1}", `{"a":"\ud800"}`, ` {} `, `{"a":1}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		obj, err := inspect.ReadObject(raw)
		var want map[string]json.RawMessage
		valid := json.Unmarshal(raw, &want) == nil && want != nil
		if err == nil != valid {
			t.Fatalf("%q: %v, but encoding/json says %t", raw, err, valid)
		}
		for name, value := range want {
			if got := obj.Get(name); string(got) != string(value) && len(obj.Duplicates()) == 0 {
				t.Errorf("%q: %q, want %q", name, got, value)
			}
		}
	})
}
