package soak_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// answer is what came back for one request.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	status int             // HTTP only
}

func (a *answer) isReply() bool { return a.Method == "" && (a.Result != nil || a.Error != nil) }

func (a *answer) String() string {
	return cut(fmt.Sprintf("id %s, result %s, error %s, status %d", a.ID, a.Result, a.Error, a.status))
}

func cut(s string) string { return cutTo(s, 700) }

func cutTo(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// outcome is what became of a request, as its client sees it.
type outcome string

const (
	ran       outcome = "ran"
	refused   outcome = "refused"
	notThere  outcome = "not there" // the server has no such tool or resource
	turned    outcome = "turned away"
	unnoticed outcome = "no answer is due"
)

// errList is what is wrong with the contents of a list.
var errList = errors.New("a wrong list")

// check compares an answer with what every state of s would make of it.
func check(q *query, s span, a *answer) (outcome, error) {
	if q.odd != nil {
		return q.odd.check(q, s, a)
	}
	if string(a.ID) != q.id {
		return "", fmt.Errorf("the id is not its own")
	}
	if a.Result != nil {
		if q.route.echoes && !strings.Contains(string(a.Result), " ran "+strconv.FormatUint(q.n, 10)+".") {
			return "", fmt.Errorf("the result is somebody else's")
		}
		if !q.mayRun(s) {
			return "", fmt.Errorf("wrong verdict: it has run in states %v", s)
		}
		if err := checkList(q.route.method, s, a.Result); err != nil {
			return "", fmt.Errorf("%w: %w", errList, err)
		}
		return ran, status(a, 200)
	}
	if strings.Contains(string(a.Error), keyViolation) {
		if texts := q.refusals(s); !slices.Contains(texts, string(a.Error)) {
			return "", fmt.Errorf("wrong verdict or refusal in states %v, want one of %q", s, texts)
		}
		return refused, status(a, 200)
	}
	if q.route.comes != "" && slices.Contains(s.coming, 0) {
		switch code := errorCode(a.Error); {
		case q.route.comes == "tool" && code == -32602, q.route.comes == "resource" && (code == -32002 || code == -32602):
			return notThere, status(a, statusFor(q.era, code))
		}
	}
	if q.route.method == "subscriptions/listen" && q.mayRun(s) && strings.Contains(string(a.Error), "notification channel queue is full") {
		return ran, nil // mcp-go's own, after its hooks, where a client reads too slowly
	}
	return "", fmt.Errorf("an error that nobody asked for")
}

func status(a *answer, want int) error {
	if a.status != 0 && a.status != want {
		return fmt.Errorf("status %d, want %d", a.status, want)
	}
	return nil
}

// statusFor is the HTTP status that mcp-go gives an error.
func statusFor(era string, code int) int {
	switch {
	case era == legacy:
		return 200
	case code == -32601:
		return 404
	case code == -32602 || code == -32600 || code == -32700:
		return 400
	}
	return 200
}

func errorCode(text json.RawMessage) int {
	var e struct{ Code int }
	_ = json.Unmarshal(text, &e)
	return e.Code
}

// mayRun reports whether some state of s lets the request run.
func (q *query) mayRun(s span) bool {
	if q.route.comes != "" {
		return slices.ContainsFunc(s.coming, func(c int) bool { return c > 0 }) && slices.ContainsFunc(s.overrides, func(o int) bool {
			return slices.ContainsFunc(s.coming, func(c int) bool { return c > 0 && q.runsIn(o, c) })
		})
	}
	return slices.ContainsFunc(s.overrides, func(o int) bool { return q.runsIn(o, 0) })
}

// declarations is what the code says of the route while a coming thing is in state c.
func (q *query) declarations(c int) []declared {
	if q.route.comes == "resource" || q.route.comes != "" && c > 0 {
		return []declared{{q.route.comes + "s come", coming[c]}}
	}
	return q.route.code
}

// runsIn reports whether the request runs in one state of the overrides and of what comes.
func (q *query) runsIn(o, c int) bool {
	if q.route.code == nil && q.route.comes == "" {
		return true // not gated
	}
	no, _ := variants[o].judge(q.declarations(c), q.route.also, q.label)
	return len(no) == 0
}

// refusals are all that the request may get in some state of s. The policy of a resource
// stays in force when the resource is gone, and before it first comes there is the default.
func (q *query) refusals(s span) []string {
	var all []string
	for _, o := range s.overrides {
		if q.route.comes == "" {
			no, _ := variants[o].judge(q.route.code, q.route.also, q.label)
			all = append(all, no...)
			continue
		}
		for _, c := range append([]int{s.stays}, s.coming...) {
			if c > 0 || q.route.comes == "resource" {
				no, _ := variants[o].judge([]declared{{q.route.comes + "s come", coming[c]}}, nil, q.label)
				all = append(all, no...)
			}
		}
	}
	return all
}

// check is the check of a message that is not as it should be. Where the gate stops nothing
// it may have run.
func (o *odd) check(q *query, s span, a *answer) (outcome, error) {
	if own := string(a.ID) == q.id; !own && !o.nobody {
		return "", fmt.Errorf("the id is not its own")
	}
	want, loose := o.code, slices.ContainsFunc(s.overrides, func(v int) bool { return variants[v].mode != modeEnforce })
	if q.early() {
		want, loose = o.early, false
	}
	if a.Result != nil && loose && o.passes {
		return ran, nil
	}
	if code := errorCode(a.Error); a.Result != nil || code != want && !(loose && o.recorded) {
		return "", fmt.Errorf("an odd message: want the error %d", want)
	}
	if strings.Contains(string(a.Error), keyViolation) {
		return "", fmt.Errorf("an odd message got a refusal by policy (X5)")
	}
	return turned, nil
}
