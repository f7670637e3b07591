package policydecl_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Whoever copies a hint accepts no more than was meant, and claims no more than is known.
func TestHintsWidenNothing(t *testing.T) {
	const such = `; write a list of tokens, such as ["user"]`
	for text, want := range map[string]string{
		`{"acceptFrom":"user"}`:                          `; write ["user"]`,
		`{"acceptFrom":"publisher:https://a.example/p"}`: `; write ["publisher:https://a.example/p"]`,
		`{"acceptFrom":"user,self"}`:                     such,
		`{"acceptFrom":"User"}`:                          such,
		`{"acceptFrom":"\u202e"}`:                        such,
		`{"acceptFrom":null}`:                            such,
		`{"acceptFrom":{"user":true}}`:                   such,
	} {
		if _, err := policydecl.ParsePolicy([]byte(text)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	const who = `list whoever contributed; of a request from the user alone that is {"assurance":"user"}`
	for _, text := range []string{`{}`, `{"contributors":[]}`, `{"contributors":7}`} {
		if f := policydecl.ValidateLabel([]byte(text), policydecl.Limits{}); len(f) != 1 || f[0].Hint != who {
			t.Errorf("%s: %v", text, f)
		}
	}
}
