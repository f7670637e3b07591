package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
)

func TestReadObject(t *testing.T) {
	obj, err := rawjson.ReadObject([]byte(` { "a" : 1 , "b":[1, 2],"a":"x\u0001" } `))
	if err != nil || len(obj) != 3 || string(obj[0].Value) != "1" || string(obj.Get("b")) != "[1, 2]" {
		t.Fatalf("%v %s", err, obj)
	}
	if s, ok := obj.Text("a"); !ok || s != "x\x01" {
		t.Errorf("%q", s)
	}
	if obj.Has("c") || !obj.Has("a") || len(inspect.Duplicates(obj)) != 1 {
		t.Errorf("%v", inspect.Duplicates(obj))
	}
	for _, text := range []string{"", " ", "7", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`, "null", `{a:1}`} {
		if _, err := rawjson.ReadObject([]byte(text)); err == nil || rawjson.IsObject([]byte(text)) {
			t.Errorf("%q is no object", text)
		}
	}
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":["x",null]}`, " {\"b\" : [\"\\u0078\",null],\"a\":1.0e0}", true},
		{`1`, `1.0`, true},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":null}`, `{}`, false},
		{`"1"`, `1`, false},
		{`null`, `null`, true},
		{``, ``, false},
		{`{`, `{`, false},
		{`1`, `1 1`, false},
	} {
		if got := rawjson.Same([]byte(tt.a), []byte(tt.b)); got != tt.same || got != rawjson.Same([]byte(tt.b), []byte(tt.a)) {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
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
		if err := rawjson.Check([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if list, more, err := rawjson.ReadArray([]byte(`[1,[2],3]`), 2); err != nil || !more || len(list) != 2 || string(list[1]) != "[2]" {
		t.Errorf("%v %s", err, list)
	}
}

// Where encoding/json sees an object, so does ReadObject, with the same values.
func FuzzReadObject(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[true,null]}}`, `{"a":1,"a":2}`, "{\"\xff\":1}", `{"a":"\ud800"}`, ` {} `, `{"a":1}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		obj, err := rawjson.ReadObject(raw)
		var want map[string]json.RawMessage
		valid := json.Unmarshal(raw, &want) == nil && want != nil
		if err == nil != valid {
			t.Fatalf("%q: %v, but encoding/json says %t", raw, err, valid)
		}
		if rawjson.IsObject(raw) != valid {
			t.Fatalf("%q is taken for an object: %t", raw, !valid)
		}
		for name, value := range want {
			if got := obj.Get(name); string(got) != string(value) && len(inspect.Duplicates(obj)) == 0 {
				t.Errorf("%q: %q, want %q", name, got, value)
			}
		}
	})
}
