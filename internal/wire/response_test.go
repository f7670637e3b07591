package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

func TestReadResponse(t *testing.T) {
	for _, c := range []struct {
		msg  string
		kind wire.Kind
		id   string
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, wire.Result, "1"},
		{`{"jsonrpc":"2.0","id":"a\"b","result":null}`, wire.Result, `"a\"b"`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}` + "\n", wire.Error, "1"},
		{`{"error":{},"id":null}`, wire.Error, "null"},
		{`{"id":1,"error":{},"result":{}}`, wire.Result, "1"},
		{`{"id":1,"result":{},"error":{}}`, wire.Result, "1"},
		{`{"id":1,"method":"ping"}`, wire.Other, "1"},
		{`{"id":1,"result":{},"method":"ping"}`, wire.Other, "1"},
		{`{"method":"notifications/progress","params":{"result":1}}`, wire.Other, ""},
		{`{"params":{"error":1,"id":2}}`, wire.Other, ""},
		{`{}`, wire.Other, ""}, {``, wire.Other, ""}, {`[]`, wire.Other, ""}, {`[{"id":1,"result":{}}]`, wire.Other, ""}, {`null`, wire.Other, ""},
		{`{"id":1,"result":`, wire.Other, "1"}, {`{"id":1,"result":{}`, wire.Other, "1"}, {`{"id":`, wire.Other, ""}, {`{"id":"`, wire.Other, ""},
		{"404 page not found\n", wire.Other, ""},
	} {
		got := wire.ReadResponse([]byte(c.msg))
		if got.Kind != c.kind || string(got.ID) != c.id {
			t.Errorf("%s: kind %d with id %q, want %d with %q", c.msg, got.Kind, got.ID, c.kind, c.id)
		}
	}
}

// X1: an error carries the id as it was sent.
func TestAppendError(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"", `x{"jsonrpc":"2.0","id":null,"error":{"code":1}}`},
		{"9007199254740993", `x{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":1}}`},
		{`"\u0061"`, `x{"jsonrpc":"2.0","id":"\u0061","error":{"code":1}}`},
	} {
		got := wire.AppendError([]byte("x"), []byte(c.id), []byte(`{"code":1}`))
		if string(got) != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if !json.Valid(got[1:]) {
			t.Errorf("%s is not JSON", got)
		}
		if r := wire.ReadResponse(got[1:]); r.Kind != wire.Error {
			t.Errorf("%s is read as kind %d", got, r.Kind)
		}
	}
}
