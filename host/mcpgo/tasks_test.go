package mcpgo_test

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// TestTaskIDs: the id of a task that the server has not named can be any text, so the ceiling
// holds for it (H6). One that it has named is followed whatever the turn has read since.
func TestTaskIDs(t *testing.T) {
	for _, method := range []string{"tools/call", "tasks/list"} {
		f := newFake("[" + toolText("slow") + "]")
		f.on["tools/call"] = reply(`{"task":{"taskId":"mine","status":"working"}}`)
		f.on["tasks/list"] = reply(`{"tasks":[{"taskId":"mine","status":"working"}]}`)
		f.on["tasks/get"] = reply(`{"taskId":"mine","status":"working"}`)
		a := newAgent(t, hostConfig)
		c, _ := f.connectAs(t, a, host.Server{URI: fetchURI})
		ctx, p := a.turn(t)
		if method == "tools/call" {
			_ = step(ctx, c, "slow") // the client has no use for a task that it did not ask for
		} else {
			_, err := c.ListTasks(ctx, mcp.ListTasksRequest{})
			permitted(t, err)
		}
		p.Add(sources(t, a, recordsURI, policydecl.Verified))
		get := func(id string) error {
			_, err := c.GetTask(ctx, mcp.GetTaskRequest{Params: mcp.GetTaskParams{TaskId: id}})
			return err
		}
		permitted(t, get("mine"))
		f.methods()
		a.refusedBy(t, host.BlockedByCeiling, get("secret"))
		if got := f.methods(); got != "" {
			t.Errorf("sent %s", got)
		}
	}
}
