package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Flaw is something that is wrong with an answer, although it is a refusal.
type Flaw struct {
	Rule string // that it breaks; empty if Text says so itself
	Text string // for people, in printable ASCII (M3)
}

// String returns the text with the rule.
func (f Flaw) String() string {
	if f.Rule == "" {
		return f.Text
	}
	return f.Text + " (" + f.Rule + ")"
}

func (a *Answer) flaw(rule, format string, args ...any) {
	a.Flaws = append(a.Flaws, Flaw{rule, fmt.Sprintf(format, args...)})
}

// begins are the messages that only a handler at work sends.
var begins = []string{"elicitation/create", "sampling/createMessage", "notifications/progress"}

// beside looks at what came with a refusal. Before a verdict nothing happens (G2).
func (a *Answer) beside(got *peer.Answer) {
	for _, method := range got.Beside {
		switch {
		case slices.Contains(begins, method):
			a.Began = method
		case got.Streamed:
			a.flaw("G2", "%s came on the same stream", plain.Quote(method, 60))
		}
	}
	a.twice(got)
	if got.Open {
		a.flaw("X1", "the stream goes on after it, so that more may follow")
	}
	if got.Unversioned {
		a.flaw("X1", "it lacks jsonrpc \"2.0\"")
	}
}

// twice looks for a second answer to the same request, which hosts may take for the first.
func (a *Answer) twice(got *peer.Answer) {
	if got.Again > 0 {
		a.flaw("X1", "another answer to the same request follows it")
	}
}

// flawsOf reports what of a refusal is not as it must be (X2, X3).
func flawsOf(e *peer.RPCError, unreadable bool) []Flaw {
	var a Answer
	obj, err := rawjson.ReadObject(e.Raw)
	if err != nil || len(inspect.Duplicates(obj)) > 0 {
		a.flaw("L8", "its error object can be read in two ways")
	}
	reserved := (*flowerrors.ConfigError)(nil)
	switch code := string(obj.Get("code")); {
	case !isInteger(code):
		a.flaw("X3", "its code is no integer")
	case errors.As(flowerrors.CheckCode(int(e.Code)), &reserved):
		a.flaw("X3", "its code is %d: %s", e.Code, reserved.Detail)
	}
	if e.Message != flowerrors.Message {
		a.flaw("X2", "its message is %s, not the constant %s", plain.Quote(e.Message, 60), plain.Quote(flowerrors.Message, 60))
	}
	if e.Status != 0 {
		a.flaw("X3", "its HTTP status is %d, not 200", e.Status)
	}
	data, _ := rawjson.ReadObject(obj.Get("data"))
	for _, f := range policydecl.ValidateViolation(data.Get(flowerrors.ViolationKey)) {
		if !unreadable { // which is said by itself
			a.flaw("", "its detail has a mistake: %s", f)
		}
	}
	return a.Flaws
}

// isInteger reports whether a JSON text is a whole number that fits 64 bits.
func isInteger(text string) bool {
	var n int64
	return text != "null" && json.Unmarshal([]byte(text), &n) == nil
}
