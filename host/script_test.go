package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// A script is what one server says and what is sent to it, a line each:
//
//	hello {capabilities}             hello! {result}, which cannot be read
//	tools [...]                      a whole list; tools! [...] one that cannot be read
//	first|next|end tools [...]       its pages
//	stale tools                      fresh tools
//	call|prompt|read|... NAME SOURCES OUTCOME
//	pending NAMES                    what nobody has agreed to
//	asked N                          how many questions the hook has had
//	approve NAME OUTCOME             agree                close
//
// A # begins a comment. ok stands for what was sent; the other outcomes are shortened.
type script struct {
	t *testing.T
	b *bench
	c *host.Connection
}

var (
	kinds    = map[string]policydecl.TargetKind{"tools": policydecl.Tool, "prompts": policydecl.Prompt, "resources": policydecl.Resource, "resourceTemplates": policydecl.Template}
	outcomes = map[string]host.Outcome{
		"ok": host.Answered, "policy": host.BlockedByPolicy, "name": host.BlockedByName, "ceiling": host.BlockedByCeiling, "unsent": host.NotSent,
	}
	requests = map[string]struct{ method, params string }{
		"call":       {"tools/call", `{"name":%q}`},
		"prompt":     {"prompts/get", `{"name":%q}`},
		"read":       {"resources/read", `{"uri":%q}`},
		"subscribe":  {"resources/subscribe", `{"uri":%q}`},
		"completeP":  {"completion/complete", `{"ref":{"type":"ref/prompt","name":%q}}`},
		"completeR":  {"completion/complete", `{"ref":{"type":"ref/resource","uri":%q}}`},
		"complete?":  {"completion/complete", `{"ref":{"type":%q}}`},
		"listen":     {"subscriptions/listen", `{"notifications":{"resourceSubscriptions":[%s]}}`},
		"tomorrow's": {"a/method", `{"name":%q}`},
	}
)

func run(t *testing.T, lines string) {
	b := newBench(t, host.Config{})
	s := &script{t, b, b.silent(recordsURI)}
	for i, line := range strings.Split(lines, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" && !t.Failed() {
			s.do(fmt.Sprintf("line %d, %s", i+1, line), strings.Fields(line))
		}
	}
}

func (s *script) do(where string, f []string) {
	s.t.Helper()
	rest := func(i int) string { return strings.Join(f[i:], " ") }
	verb := f[0]
	if r, ok := requests[verb]; ok {
		s.send(where, verb, fmt.Sprintf(r.params, names(verb, f[1])), f[2], f[3])
		return
	}
	kind, bad := kinds[strings.TrimSuffix(verb, "!")], strings.HasSuffix(verb, "!")
	if bad || kind != 0 {
		var err error
		if verb == "hello!" {
			err = s.c.Hello(context.Background(), []byte(rest(1)))
		} else if err = s.c.Page(context.Background(), kind, fmt.Appendf(nil, `{%q:%s}`, lists[kind], rest(1)), true); err == nil {
			s.c.Fresh(kind)
		}
		equal(s.t, where+": an error", err != nil, bad)
		return
	}
	switch verb {
	case "hello":
		must(s.t, s.c.Hello(context.Background(), []byte(`{"capabilities":`+rest(1)+`}`)))
	case "first", "next", "end":
		cursor := `,"nextCursor":"more"`
		if verb == "end" {
			cursor = ""
		}
		must(s.t, s.c.Page(context.Background(), kinds[f[1]], fmt.Appendf(nil, `{%q:%s%s}`, f[1], rest(2), cursor), verb == "first"))
	case "stale":
		s.c.Stale(kinds[f[1]])
	case "fresh":
		s.c.Fresh(kinds[f[1]])
	case "close":
		s.c.Close()
	case "agree":
		s.b.agree = func(host.Approval) bool { return true }
	case "asked":
		equal(s.t, where, fmt.Sprint(len(s.b.asked)), f[1])
	case "pending":
		equal(s.t, where, targetsOf(s.c.Pending()), rest(1))
	case "approve":
		s.approve(where, f[1], f[2])
	default:
		s.t.Fatalf("%s: what is that?", where)
	}
}

func names(verb, name string) string {
	if verb != "listen" {
		return name
	}
	if name == "-" {
		return ""
	}
	return `"` + strings.ReplaceAll(name, ",", `","`) + `"`
}

func (s *script) send(where, verb, params, sources, want string) {
	s.t.Helper()
	got, _ := send(s.t, s.c, s.b.turn(sources), requests[verb].method, params)
	if got != outcomes[want] {
		s.t.Errorf("%s: %s (%s)", where, got, s.b.last().Reason)
	}
	if r := s.b.last(); (got == host.BlockedByPolicy) != (len(r.Rejected) > 0) {
		s.t.Errorf("%s: recorded as %+v", where, r)
	}
}

func (s *script) approve(where, name, want string) {
	s.t.Helper()
	pending := s.c.Pending()
	i := slices.IndexFunc(pending, func(a host.Approval) bool { return a.Target == strings.TrimPrefix(name, "default") })
	if i < 0 {
		s.t.Fatalf("%s: nothing to approve", where)
	}
	equal(s.t, where, fmt.Sprint(s.c.Approve(pending[i])), want)
	equal(s.t, where+", again", s.c.Approve(pending[i]), false)
}
