package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/wire"
)

var idTexts = []string{
	`0`, `1`, `-0`, `-1`, `00`, `01`, `123456789012345`, `1234567890123456`, `9007199254740992`, `9007199254740993`, `1e2`, `1E+2`, `1.0`, `1e308`, `1e-7`,
	`""`, `"a"`, `"A-z_9:."`, `"a b"`, `"é"`, `"\u00e9"`, `"<>&"`, `"\u2028"`, `"\ud800"`, `"a\"b"`, `"\/"`, `true`, `false`, `null`,
	`{}`, `{"b":1,"a":2}`, `[1,"x"]`, `"` + strings.Repeat("x", 1<<20) + `"`, `1e999`, `-`, ``, `"`, `{`, "\"\xff\"",
}

// RawIDKey is IDKey of what encoding/json makes of the text, and an error when it
// makes nothing of it.
func TestIDKeys(t *testing.T) {
	for _, text := range idTexts {
		var id any
		decodes := json.Unmarshal([]byte(text), &id) == nil
		got, err := wire.RawIDKey([]byte(text))
		if (err == nil) != decodes {
			t.Errorf("%.40q: error %v, but encoding/json decodes it: %v", text, err, decodes)
			continue
		}
		if !decodes {
			continue
		}
		want, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		key, err := wire.IDKey(id)
		if err != nil || key != string(want) || got != key {
			t.Errorf("%.40q: RawIDKey %.40q, IDKey %.40q, want %.40q (%v)", text, got, key, want, err)
		}
	}
}

func TestIDKeyOfNothing(t *testing.T) {
	if _, err := wire.IDKey(func() {}); err == nil {
		t.Error("a function has a key")
	}
}

func TestIDKeysThatMeet(t *testing.T) {
	for _, pair := range [][2]string{{"9007199254740992", "9007199254740993"}, {"1", "1.0"}, {`"a"`, `"\u0061"`}, {`"\ud800"`, `"\ufffd"`}, {"100", "1e2"}} {
		a, errA := wire.RawIDKey([]byte(pair[0]))
		b, errB := wire.RawIDKey([]byte(pair[1]))
		if errA != nil || errB != nil || a != b {
			t.Errorf("%s has the key %s and %s has %s; mcp-go cannot tell them apart", pair[0], a, pair[1], b)
		}
	}
}
