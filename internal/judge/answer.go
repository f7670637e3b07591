package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/plain"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
)

// Answer is what came back for a request.
type Answer struct {
	Outcome   Outcome
	Violation *flowerrors.Violation // of a refusal that could be read
	Detail    string                // what came back, as sent
	Code      int64                 // of an error
	Status    int                   // of HTTP
	Stripped  *peer.StrippedError   // if the answer denies that params._meta arrived

	Nameless bool   // an error without the id of the request (X1)
	Began    string // what a handler sent before the refusal, as sent
	Late     bool   // a result followed the refusal
	Flaws    []Flaw // what is wrong with a refusal
}

// Outcome says what came back for a request.
type Outcome string

// The outcomes.
const (
	NotSent   Outcome = "not-sent"
	Refused   Outcome = "refused"    // by a flow policy
	Result    Outcome = "result"     // the tool ran
	ToolError Outcome = "tool-error" // a result that says it is an error: it got through
	RPCError  Outcome = "error"      // another JSON-RPC error
	HTTPError Outcome = "http"       // no MCP answer at all
)

// Ran reports whether no policy stood in the way.
func (a *Answer) Ran() bool { return a.Outcome == Result || a.Outcome == ToolError }

// GotThrough reports whether a handler was reached.
func (a *Answer) GotThrough() bool { return a.Ran() || a.Began != "" }

// Read says what came back for a request. The error is that of a server that was lost.
func Read(got *peer.Answer, err error) (Answer, error) {
	var page *peer.HTTPError
	switch {
	case errors.As(err, &page):
		return Answer{Outcome: HTTPError, Status: page.Status, Detail: page.Body}, nil
	case err != nil:
		return Answer{}, err
	}
	return read(got), nil
}

func read(got *peer.Answer) Answer {
	a := Answer{Outcome: RPCError}
	if got.Err == nil {
		a = resultOf(got.Result)
		a.twice(got)
		return a
	}
	var e *peer.RPCError
	if !errors.As(got.Err, &e) {
		a.Detail = got.Err.Error()
		return a
	}
	errors.As(got.Err, &a.Stripped)
	a.Code, a.Status, a.Detail, a.Nameless = e.Code, e.Status, e.Message, e.NoID
	// Whoever answers without the id answers another request, or none (X1).
	if v, flow, _ := flowerrors.ReadViolation(e.Raw); flow && !e.NoID {
		a.Outcome, a.Violation = Refused, v // nil if its detail is unusable
		a.Flaws = flawsOf(e, v == nil)
		a.beside(got)
	}
	if got.Late != nil {
		late := resultOf(got.Late)
		a.Outcome, a.Detail, a.Late = late.Outcome, late.Detail, true
	}
	return a
}

// resultOf reads a result.
func resultOf(raw json.RawMessage) Answer {
	a := Answer{Outcome: Result, Detail: string(raw)}
	if obj, err := rawjson.ReadObject(raw); err == nil && string(obj.Get("isError")) == "true" {
		a.Outcome = ToolError
	}
	return a
}

// Same reports whether two answers say the same of a request. A result need not: a tool
// may answer anything.
func (a *Answer) Same(b *Answer) bool {
	if a.Outcome != b.Outcome || a.GotThrough() != b.GotThrough() || a.Nameless != b.Nameless {
		return false
	}
	if a.Outcome != Refused {
		return a.Code == b.Code && a.Status == b.Status
	}
	if a.Violation == nil || b.Violation == nil {
		return a.Violation == b.Violation && a.Code == b.Code
	}
	return a.Code == b.Code && SameSet(a.Violation.Rejected, b.Violation.Rejected) &&
		SameSet(a.Violation.AcceptFrom, b.Violation.AcceptFrom)
}

// SameSet compares the parts of violations as sets (P7).
func SameSet[T comparable](a, b []T) bool {
	in := func(list []T) func(T) bool {
		return func(r T) bool { return !slices.Contains(list, r) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// Anonymous returns rejected contributors without their principals (X4).
func Anonymous(list []flowerrors.Rejected) []flowerrors.Rejected {
	var out []flowerrors.Rejected
	for _, r := range list {
		out = append(out, flowerrors.Rejected{Assurance: r.Assurance})
	}
	return out
}

// Text says for people what came back, in printable ASCII (M3).
func (a *Answer) Text() string {
	switch {
	case a.Late && a.Outcome == Result:
		return "refused, and then a result: it ran"
	case a.Late:
		return "refused, and then a result that says it is an error: " + plain.Escape(a.Detail, 120)
	case a.Began != "":
		return "refused, but not before " + plain.Quote(a.Began, 60)
	}
	switch a.Outcome {
	case Refused:
		return a.refusedText()
	case Result:
		return "a result: it ran"
	case ToolError:
		return "a result that says it is an error: " + plain.Escape(a.Detail, 120)
	case RPCError:
		text := fmt.Sprintf("error %d, %s", a.Code, plain.Quote(a.Detail, 120))
		if a.Nameless {
			text += " without the id of the request"
		}
		return text
	case HTTPError:
		return fmt.Sprintf("HTTP status %d", a.Status)
	}
	return string(a.Outcome)
}

func (a *Answer) refusedText() string {
	if a.Violation == nil || len(a.Violation.Rejected) == 0 {
		return "refused, without saying whom"
	}
	var who []string
	for _, r := range a.Violation.Rejected[:min(len(a.Violation.Rejected), 5)] {
		who = append(who, strings.TrimSpace(plain.Escape(r.Assurance, 20)+" "+plain.Escape(r.Principal, 120)))
	}
	return "refused: " + strings.Join(who, ", ")
}
