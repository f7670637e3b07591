package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

// decoded is what mcp-go's structs have in common, decoded the way mcp-go decodes:
// by encoding/json, names folded, the last of several counting.
type decoded struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params struct {
		URI           string `json:"uri"`
		Name          string `json:"name"`
		Notifications struct {
			URIs []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

func FuzzReadRequest(f *testing.F) {
	for _, c := range accepted {
		f.Add([]byte(c.msg))
	}
	for _, c := range refused {
		f.Add([]byte(c.msg))
	}
	for _, g := range garbage {
		f.Add([]byte(g))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		before := bytes.Clone(msg)
		got, err := wire.ReadRequest(msg)
		if !bytes.Equal(msg, before) {
			t.Fatal("the message was changed")
		}
		if !json.Valid(msg) {
			return
		}
		if got, want := wire.Unambiguous(msg), slowUnambiguous(msg); got != want {
			t.Fatalf("unambiguous: %v, the twin says %v", got, want)
		}
		want, ambiguous, slowErr := slowRead(msg)
		if slowErr != nil { // no object
			if err == nil {
				t.Fatalf("accepted what the twin refuses: %v", slowErr)
			}
			return
		}
		if a := (*wire.AmbiguousError)(nil); errors.As(err, &a) != ambiguous || (err != nil) != ambiguous {
			t.Fatalf("got %v, the twin says ambiguous: %v", err, ambiguous)
		}
		if ambiguous {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		var d decoded
		if json.Unmarshal(msg, &d) != nil {
			return // mcp-go refuses it as well
		}
		if string(d.ID) == "null" {
			d.ID = nil
		}
		if d.Method != got.Method || !bytes.Equal(d.ID, got.ID) || d.Params.URI != got.URI || d.Params.Name != got.Name {
			t.Fatalf("encoding/json reads %+v, ReadRequest %+v", d, got)
		}
		if len(d.Params.Notifications.URIs) != len(got.Subscriptions) {
			t.Fatalf("encoding/json subscribes to %q, ReadRequest to %q", d.Params.Notifications.URIs, got.Subscriptions)
		}
		for i, uri := range d.Params.Notifications.URIs {
			if uri != got.Subscriptions[i] {
				t.Fatalf("encoding/json subscribes to %q, ReadRequest to %q", d.Params.Notifications.URIs, got.Subscriptions)
			}
		}
		l, ok := d.Params.Meta[wire.LabelKey]
		if ok != (got.Label != nil) || !bytes.Equal(l, got.Label) {
			t.Fatalf("encoding/json has the label %s, ReadRequest %s", l, got.Label)
		}
	})
}

func FuzzReadResponse(f *testing.F) {
	for _, id := range idTexts {
		if len(id) < 100 {
			f.Add([]byte(id), []byte(`{"a":"\"}"}`), false)
			f.Add([]byte(id), []byte(`{"code":1,"message":"result"}`), true)
		}
	}
	f.Add([]byte(`1,"method":"x"`), []byte(`{`), true)
	f.Fuzz(func(t *testing.T, id, body []byte, failed bool) {
		wire.ReadResponse(body) // must end
		name, kind := "result", wire.Result
		if failed {
			name, kind = "error", wire.Error
		}
		msg := []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"` + name + `":` + string(body) + `}`)
		got := wire.ReadResponse(msg)
		if !json.Valid(id) || !json.Valid(body) {
			return
		}
		if got.Kind != kind || string(got.ID) != string(bytes.TrimRight(bytes.TrimLeft(id, " \t\r\n"), " \t\r\n")) {
			t.Fatalf("%s: kind %d with id %q", msg, got.Kind, got.ID)
		}
		back := wire.ReadResponse(wire.AppendError(nil, got.ID, []byte(`{"code":1}`)))
		if back.Kind != wire.Error || !bytes.Equal(back.ID, got.ID) {
			t.Fatalf("an error for id %q is read as kind %d with id %q", got.ID, back.Kind, back.ID)
		}
	})
}
