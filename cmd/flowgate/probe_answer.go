package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/internal/rawjson"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// shot is one request and what came of it.
type shot struct {
	name     string
	about    string // for people
	label    string // JSON; empty for none
	parsed   policydecl.Label
	accepted bool // what the policy says of it
	want     []flowerrors.Rejected

	answer         // the most telling one
	times  int     // how often it was sent
	other  *answer // one that says something else
}

// answer is what came back for a request.
type answer struct {
	outcome   outcome
	violation *flowerrors.Violation // of a refusal that could be read
	detail    string                // what came back, as sent
	code      int64                 // of an error
	status    int                   // of HTTP
	stripped  *peer.StrippedError   // if the answer denies that params._meta arrived

	nameless bool     // an error without the id of the request (X1)
	began    string   // what a handler sent before the refusal, as sent
	late     bool     // a result followed the refusal
	flaws    []string // what is wrong with a refusal
}

// outcome says what came back for a request.
type outcome string

const (
	notSent   outcome = "not-sent"
	refused   outcome = "refused"    // by a flow policy
	result    outcome = "result"     // the tool ran
	toolError outcome = "tool-error" // a result that says it is an error: it got through
	rpcError  outcome = "error"      // another JSON-RPC error
	httpError outcome = "http"       // no MCP answer at all
)

// ran reports whether no policy stood in the way.
func (a *answer) ran() bool { return a.outcome == result || a.outcome == toolError }

// gotThrough reports whether a handler was reached.
func (a *answer) gotThrough() bool { return a.ran() || a.began != "" }

// record keeps what came back. The error is that of a server that was lost.
func (s *shot) record(got *peer.Answer, err error) error {
	var a answer
	var page *peer.HTTPError
	switch {
	case errors.As(err, &page):
		a = answer{outcome: httpError, status: page.Status, detail: page.Body}
	case err != nil:
		return err
	default:
		a = read(got)
	}
	if s.times++; s.times == 1 {
		s.answer = a
		return nil
	}
	if s.answer.same(&a) {
		return nil
	}
	before := s.answer
	if a.gotThrough() || s.outcome == refused && a.outcome != refused {
		s.answer, a = a, before
	}
	s.other = &a
	return nil
}

// read says what an answer amounts to.
func read(got *peer.Answer) answer {
	a := answer{outcome: rpcError}
	if got.Err == nil {
		a = resultOf(got.Result)
		a.twice(got)
		return a
	}
	var e *peer.RPCError
	if !errors.As(got.Err, &e) {
		a.detail = got.Err.Error()
		return a
	}
	errors.As(got.Err, &a.stripped)
	a.code, a.status, a.detail, a.nameless = e.Code, e.Status, e.Message, e.NoID
	// Whoever answers without the id answers another request, or none (X1).
	if v, flow, _ := flowerrors.ReadViolation(e.Raw); flow && !e.NoID {
		a.outcome, a.violation = refused, v // nil if its detail is unusable
		a.flaws = flawsOf(e, v == nil)
		a.beside(got)
	}
	if got.Late != nil {
		late := resultOf(got.Late)
		a.outcome, a.detail, a.late = late.outcome, late.detail, true
	}
	return a
}

// resultOf reads a result.
func resultOf(raw json.RawMessage) answer {
	a := answer{outcome: result, detail: string(raw)}
	if obj, err := rawjson.ReadObject(raw); err == nil && string(obj.Get("isError")) == "true" {
		a.outcome = toolError
	}
	return a
}

// begins are the messages that only a handler at work sends.
var begins = []string{"elicitation/create", "sampling/createMessage", "notifications/progress"}

// beside looks at what came with a refusal. Before a verdict nothing happens (G2).
func (a *answer) beside(got *peer.Answer) {
	for _, method := range got.Beside {
		switch {
		case slices.Contains(begins, method):
			a.began = method
		case got.Streamed:
			a.flaw("%s came on the same stream (G2)", quoted(method, 60))
		}
	}
	a.twice(got)
	if got.Open {
		a.flaw("the stream goes on after it, so that more may follow (X1)")
	}
	if got.Unversioned {
		a.flaw("it lacks jsonrpc \"2.0\" (X1)")
	}
}

// twice looks for a second answer to the same request, which hosts may take for the first.
func (a *answer) twice(got *peer.Answer) {
	if got.Again > 0 {
		a.flaw("another answer to the same request follows it (X1)")
	}
}

func (a *answer) flaw(format string, args ...any) {
	a.flaws = append(a.flaws, fmt.Sprintf(format, args...))
}

// flawsOf reports what of a refusal is not as it must be (X2, X3).
func flawsOf(e *peer.RPCError, unreadable bool) []string {
	var a answer
	obj, err := rawjson.ReadObject(e.Raw)
	if err != nil || len(inspect.Duplicates(obj)) > 0 {
		a.flaw("its error object can be read in two ways (L8)")
	}
	reserved := (*flowerrors.ConfigError)(nil)
	switch code := string(obj.Get("code")); {
	case !isInteger(code):
		a.flaw("its code is no integer (X3)")
	case errors.As(flowerrors.CheckCode(int(e.Code)), &reserved):
		a.flaw("its code is %d: %s (X3)", e.Code, reserved.Detail)
	}
	if e.Message != flowerrors.Message {
		a.flaw("its message is %s, not the constant %s (X2)", quoted(e.Message, 60), quoted(flowerrors.Message, 60))
	}
	if e.Status != 0 {
		a.flaw("its HTTP status is %d, not 200 (X3)", e.Status)
	}
	data, _ := rawjson.ReadObject(obj.Get("data"))
	for _, f := range policydecl.ValidateViolation(data.Get(flowerrors.ViolationKey)) {
		if !unreadable { // which is said by itself
			a.flaw("its detail has a mistake: %s", f)
		}
	}
	return a.flaws
}

// isInteger reports whether a JSON text is a whole number that fits 64 bits.
func isInteger(text string) bool {
	var n int64
	return text != "null" && json.Unmarshal([]byte(text), &n) == nil
}

// same reports whether two answers say the same of a request. A result need not: a tool
// may answer anything.
func (a *answer) same(b *answer) bool {
	if a.outcome != b.outcome || a.gotThrough() != b.gotThrough() || a.nameless != b.nameless {
		return false
	}
	if a.outcome != refused {
		return a.code == b.code && a.status == b.status
	}
	if a.violation == nil || b.violation == nil {
		return a.violation == b.violation && a.code == b.code
	}
	return a.code == b.code && sameSet(a.violation.Rejected, b.violation.Rejected) &&
		sameSet(a.violation.AcceptFrom, b.violation.AcceptFrom)
}

// cameBack says for people what answered a request.
func (s *shot) cameBack() string {
	text := s.answer.text()
	if s.other != nil {
		text += "; another time: " + s.other.text()
	}
	return text
}

func (a *answer) text() string {
	switch {
	case a.late && a.outcome == result:
		return "refused, and then a result: it ran"
	case a.late:
		return "refused, and then a result that says it is an error: " + clean(a.detail, 120)
	case a.began != "":
		return "refused, but not before " + quoted(a.began, 60)
	}
	switch a.outcome {
	case refused:
		if a.violation == nil || len(a.violation.Rejected) == 0 {
			return "refused, without saying whom"
		}
		var who []string
		for _, r := range a.violation.Rejected[:min(len(a.violation.Rejected), 5)] {
			who = append(who, strings.TrimSpace(clean(r.Assurance, 20)+" "+clean(r.Principal, 120)))
		}
		return "refused: " + strings.Join(who, ", ")
	case result:
		return "a result: it ran"
	case toolError:
		return "a result that says it is an error: " + clean(a.detail, 120)
	case rpcError:
		text := fmt.Sprintf("error %d, %s", a.code, quoted(a.detail, 120))
		if a.nameless {
			text += " without the id of the request"
		}
		return text
	case httpError:
		return fmt.Sprintf("HTTP status %d", a.status)
	}
	return string(a.outcome)
}

// reconsider finds out whom a refusal should name if it is one by another policy than
// the published one, as the refusal itself says. Or else a label would seem to have
// been changed on the way.
func (p *plan) reconsider(s *shot) {
	if s.violation == nil || len(s.violation.AcceptFrom) == 0 {
		return
	}
	applied, _ := policydecl.ReadPublished(map[string]any{"acceptFrom": s.violation.AcceptFrom}, p.policy)
	if v := p.set.Decide(context.Background(), &s.parsed, applied).Violation(); v != nil {
		s.want = v.Rejected
	}
}
