package main

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
	st "github.com/flowgate-mcp/flowgate/examples/internal/servetest"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

const (
	host st.Label = `{"contributors":[{"principal":"urn:mcp:host","assurance":"host"}],"complete":true}`
	self st.Label = `{"contributors":[{"principal":"https://mcp.records.example/mcp","assurance":"unverified"}],"complete":true}`
)

var (
	byDefault  = policydecl.Default().Tokens()
	selfOrUser = []string{"self", "user"}
	userOnly   = []string{"user"}
	hostOnly   = []string{"host"}
)

// target is one thing that a client can ask for.
type target struct {
	method  string
	params  st.Params
	handler string   // that runs if it is accepted
	policy  []string // what it accepts
}

func targets() []target {
	tool := func(name string, args st.Params, policy []string) target {
		return target{"tools/call", st.Params{"name": name, "arguments": args}, name, policy}
	}
	task := func(name string, policy []string) target {
		params := st.Params{"name": name, "arguments": st.Params{"table": "orders"}, "task": st.Params{}}
		return target{"tools/call", params, name, policy}
	}
	read := func(uri, handler string, policy []string) target {
		return target{"resources/read", st.Params{"uri": uri}, handler, policy}
	}
	return []target{
		tool("search_records", st.Params{"query": "ada"}, byDefault),
		tool("slow_scan", st.Params{"steps": 1}, byDefault),
		tool("export_records", st.Params{"table": "orders"}, selfOrUser),
		tool("report_records", st.Params{"table": "orders"}, selfOrUser),
		tool("delete_record", st.Params{"id": "i-5001"}, userOnly),
		tool("debug_dump", nil, hostOnly),
		task("report_records", selfOrUser),
		task("archive_records", selfOrUser),
		read("records://customers", customersURI, selfOrUser),
		read("records://customers?x=1", customersURI, selfOrUser),
		read("records://customers/c-001", customerPattern, selfOrUser),
		read("records://customers/c-001#top", customerPattern, selfOrUser),
		read("records://orders", anyPattern, byDefault),
		read("records://orders/o-1001", anyPattern, byDefault),
		{"prompts/get", st.Params{"name": "summarize_customer", "arguments": st.Params{"id": "c-001"}}, summarizePrompt, userOnly},
		{"completion/complete", complete("ref/prompt", "name", summarizePrompt), serve.CompletePrompt, userOnly},
		{"completion/complete", complete("ref/resource", "uri", customerPattern), serve.CompleteResource, selfOrUser},
	}
}

// labels are the labels that are sent, with the tokens of which one has to be
// in a policy that accepts them; none is enough for the last two.
var labels = map[st.Label][]string{
	st.User:     {"user"},
	host:        {"host"},
	self:        {"self"},
	st.Stranger: nil,
	st.None:     nil,
}

func accepted(policy []string, label st.Label) bool {
	if label == st.Partner { // the user, and somebody verified
		return slices.Contains(policy, "user") && slices.Contains(policy, "verified")
	}
	return slices.ContainsFunc(labels[label], func(token string) bool { return slices.Contains(policy, token) })
}

// Every target, with every label, on both transports and in both eras: the
// verdict, the error, and that only what was accepted has run.
func TestEveryTargetIsGated(t *testing.T) {
	all := append(slices.Collect(maps.Keys(labels)), st.Partner)
	check := func(t *testing.T, c st.Client, era st.Era) map[string]int {
		want := make(map[string]int)
		for _, target := range targets() {
			for _, label := range all {
				reply := c.Call(t, era, target.method, target.params, label)
				if !accepted(target.policy, label) {
					reply.MustBeRefused(t, target.policy...)
					continue
				}
				var result struct{ Task struct{ TaskID string } }
				reply.MustResult(t, &result)
				want[target.handler]++
				if result.Task.TaskID != "" { // wait until it has run
					c.Call(t, st.Legacy, "tasks/result", st.Params{"taskId": result.Task.TaskID}, st.None)
				}
			}
		}
		return want
	}
	for _, era := range st.Eras {
		t.Run("http/"+string(era), func(t *testing.T) {
			s := st.Start(t, run, nil, "-debug", "-step-delay", "0")
			want := check(t, s, era)
			compareCounts(t, s.Invocations(t), want)
		})
		t.Run("stdio/"+string(era), func(t *testing.T) {
			s := st.StartStdio(t, run, nil, "-debug", "-step-delay", "0")
			want := check(t, s, era)
			if err := s.Close(t); err != nil {
				t.Error(err)
			}
			_, text, _ := strings.Cut(s.Stderr(), "\ninvocations ")
			var got map[string]int
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			compareCounts(t, got, want)
		})
	}
}

func compareCounts(t *testing.T, got, want map[string]int) {
	t.Helper()
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(got, want) {
		t.Errorf("ran\n%v, want\n%v", got, want)
	}
}

// No spelling of a customer's URI gets round the policy: it is refused, or the
// server finds nothing.
func TestSpellingsOfCustomers(t *testing.T) {
	s := st.Start(t, run, nil)
	for _, era := range st.Eras {
		for _, uri := range []string{
			"records://orders/../customers", "records://./customers", "records://customers/", "records:///customers",
			"records://%63ustomers", "records://%2563ustomers", "RECORDS://customers", "records://Customers",
			"records://customers;a=b", "records://customers%2Fc-001", "records://customers//c-001", "records://customers#x",
		} {
			if reply := s.Call(t, era, "resources/read", st.Params{"uri": uri}, st.Partner); reply.Error == nil {
				t.Errorf("%s: %s", uri, reply.Result)
			}
		}
	}
}

func TestSubscribeIsGated(t *testing.T) {
	s := st.Start(t, run, nil)
	subscribe := func(label st.Label) *st.Reply {
		return s.Call(t, st.Legacy, "resources/subscribe", st.Params{"uri": "records://customers?leak=ada"}, label)
	}
	subscribe(st.Partner).MustBeRefused(t, selfOrUser...)
	var done struct{}
	subscribe(st.User).MustResult(t, &done)
}

// The server's own refusals stay what they are: a label neither opens what is
// closed nor shows a reader the policy of what is hidden.
func TestOwnRefusalsComeFirst(t *testing.T) {
	open := st.Start(t, run, map[string]string{tokensVariable: "r1=reader"}, "-debug")
	s := open.With("Authorization", "Bearer r1")
	for _, era := range st.Eras {
		for label := range labels {
			if e := st.CallTool(t, s, era, "debug_dump", nil, label).MustFail(t); e.Message != "tool 'debug_dump' not found: tool not found" {
				t.Errorf("debug_dump: %+v", e)
			}
			if e := st.CallTool(t, s, era, "delete_record", st.Params{"id": "o-1001"}, label).MustFail(t); e.Message != errAdminOnly.Error() {
				t.Errorf("delete_record: %+v", e)
			}
		}
		st.CallTool(t, s, era, "export_records", st.Params{"table": "orders"}, st.Partner).MustBeRefused(t, selfOrUser...)
	}
	compareCounts(t, s.Invocations(t), nil)
}

func TestFlags(t *testing.T) {
	t.Run("uri", func(t *testing.T) {
		s := st.Start(t, run, nil, "-uri", "https://else.example/mcp")
		st.CallTool(t, s, st.Modern, "export_records", st.Params{"table": "orders"}, self).MustBeRefused(t, selfOrUser...)
	})
	t.Run("mode off", func(t *testing.T) {
		s := st.Start(t, run, nil, "-mode", "off")
		var result st.ToolResult
		st.CallTool(t, s, st.Modern, "export_records", st.Params{"table": "orders"}, st.Stranger).MustResult(t, &result)
	})
	t.Run("bad uri", func(t *testing.T) {
		for _, args := range [][]string{{"-uri", "records"}, {"-uri", ""}, {"-stdio", "-uri", "https://user@h.example/"}} {
			err := run(st.Context(t), st.Env(nil, args...))
			var config *flowerrors.ConfigError
			if !errors.As(err, &config) {
				t.Errorf("%q: %v", args, err)
			}
		}
	})
}

// Each tool with a policy of its own publishes it, and no other does.
func TestPoliciesArePublished(t *testing.T) {
	eachTransport(t, func(t *testing.T, c st.Client, era st.Era) {
		var list struct {
			Tools []struct {
				Name string
				Meta map[string]struct{ AcceptFrom []string } `json:"_meta"`
			}
		}
		c.Call(t, era, "tools/list", nil, st.None).MustResult(t, &list)
		want := make(map[string][]string)
		for _, target := range targets() {
			if target.method == "tools/call" && !slices.Equal(target.policy, byDefault) {
				want[target.handler] = target.policy
			}
		}
		for _, tool := range list.Tools {
			published, ok := tool.Meta[policydecl.PolicyKey]
			if ok != (want[tool.Name] != nil) || !slices.Equal(published.AcceptFrom, want[tool.Name]) {
				t.Errorf("%s publishes %q, want %q", tool.Name, published.AcceptFrom, want[tool.Name])
			}
		}
	})
}
