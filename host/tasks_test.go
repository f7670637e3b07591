package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
)

// A task that the server has named is followed under any policy, since that tells the server
// nothing new. The id of any other can be content of the context, so the ceiling (H6) and the
// server's default policy (H5) hold for it.
func TestTasks(t *testing.T) {
	const mine = `{"taskId":"mine"}`
	for name, tt := range map[string]struct{ method, answer, params string }{
		"created":                  {"tools/call", `{"task":{"taskId":"mine"}}`, mine},
		"listed":                   {"tasks/list", `{"tasks":[{"taskId":"x"},{"taskId":"mine"}]}`, mine},
		"with a token of progress": {"tools/call", `{"task":{"taskId":"mine"}}`, `{"taskId":"mine","_meta":{"progressToken":1}}`},

		"of which nothing was said":    {"tools/call", `{}`, "!" + mine},
		"with something beside it":     {"tools/call", `{"task":{"taskId":"mine"}}`, `!{"taskId":"mine","x":"secret"}`},
		"in another letter case":       {"tools/call", `{"task":{"taskId":"mine"}}`, `!{"TaskId":"mine"}`},
		"named by another method":      {"prompts/get", `{"task":{"taskId":"mine"}}`, "!" + mine},
		"listed by a call":             {"tools/call", `{"tasks":[{"taskId":"mine"}]}`, "!" + mine},
		"in an answer that says two":   {"tools/call", `{"task":{"taskId":"mine"},"task":{"taskId":"x"}}`, "!" + mine},
		"without an id":                {"tools/call", `{"task":{"taskId":""}}`, `!{"taskId":""}`},
		"whose id is no text":          {"tools/call", `{"task":{"taskId":7}}`, `!{"taskId":7}`},
		"whose id is very long":        {"tools/call", `{"task":{"taskId":"` + strings.Repeat("x", 300) + `"}}`, `!{"taskId":"` + strings.Repeat("x", 300) + `"}`},
		"without any parameters":       {"tools/call", `{"task":{"taskId":"mine"}}`, "!"},
		"in an answer that is no JSON": {"tools/call", `{`, "!" + mine},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			c := b.open(fetchURI)
			c.Tasks(tt.method, []byte(tt.answer))
			params, judged := strings.CutPrefix(tt.params, "!")
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
				r, err := c.Prepare(context.Background(), b.turn("user+records"), method, json.RawMessage(params))
				equal(t, method+" is judged", err != nil, judged)
				if err == nil {
					equal(t, method, string(r.Params), params)
					r.Answered(context.Background())
				} else if got := b.last(); got.Method != method {
					t.Errorf("%s: recorded %+v", method, got)
				}
			}
		})
	}
}

// The default policy holds for a task that nobody has heard of, as for any unknown method.
func TestTasksPolicy(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.silent(recordsURI)
	must(t, c.Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}`)))
	c.Tasks("tools/call", []byte(`{"task":{"taskId":"mine"}}`))
	for id, want := range map[string]host.Outcome{"mine": host.Answered, "secret": host.BlockedByPolicy} {
		outcome, _ := send(t, c, b.turn("user+fetch"), "tasks/get", fmt.Sprintf(`{"taskId":%q}`, id))
		equal(t, id, outcome, want)
	}
	c.Close()
	outcome, _ := send(t, c, b.turn("user"), "tasks/get", `{"taskId":"mine"}`)
	equal(t, "closed", outcome, host.NotSent)
}

// A server that names many tasks makes a host forget the oldest, which is judged then.
func TestTasksBounded(t *testing.T) {
	b := newBench(t, host.Config{})
	c := b.open(fetchURI)
	for i := range 1001 {
		c.Tasks("tools/call", fmt.Appendf(nil, `{"task":{"taskId":"%d"}}`, i))
		c.Tasks("tools/call", fmt.Appendf(nil, `{"task":{"taskId":"%d"}}`, i)) // and says so twice
	}
	for id, want := range map[string]host.Outcome{"0": host.BlockedByCeiling, "1": host.Answered, "1000": host.Answered} {
		outcome, _ := send(t, c, b.turn("user+records"), "tasks/get", fmt.Sprintf(`{"taskId":%q}`, id))
		equal(t, id, outcome, want)
	}
}
