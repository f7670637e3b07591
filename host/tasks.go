package host

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Bounds on the tasks of a server that a connection remembers. Of more, the newest count.
const (
	maxTasks  = 1000
	maxTaskID = 256 // bytes; a longer one is not remembered
)

// following are the methods that name a task and carry nothing else.
var following = map[string]bool{"tasks/get": true, "tasks/result": true, "tasks/cancel": true}

// Tasks takes in an answer to a request of the given method, as it came, and remembers the
// tasks that the server names in it: the one that a call has created, or those of a list.
// Asking for one of them by tasks/get, tasks/result or tasks/cancel tells the server nothing
// that it has not said itself, so that is not labelled, and a policy for other requests does
// not hinder it. A task that this connection was not told of is labelled and judged like a
// method that nobody knows: its id can be any text of the context. An adapter calls Tasks
// before anybody has the answer.
func (c *Connection) Tasks(method string, result []byte) {
	if !c.made() || method != "tools/call" && method != "tasks/list" {
		return
	}
	if !bytes.Contains(result, []byte(`"taskId"`)) {
		return // most results are large, and name none
	}
	obj, err := decode(result)
	if err != nil {
		return
	}
	said, _ := obj["tasks"].([]any)
	if method != "tasks/list" {
		said = []any{obj["task"]}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range said {
		task, _ := one.(map[string]any)
		id, _ := task["taskId"].(string)
		if id == "" || len(id) > maxTaskID {
			continue
		}
		c.tasks = slices.DeleteFunc(c.tasks, func(known string) bool { return known == id })
		if c.tasks = append(c.tasks, id); len(c.tasks) > maxTasks {
			c.tasks = slices.Delete(c.tasks, 0, 1)
		}
	}
}

// polls reports whether a request says nothing but the name of a task that the server has
// given out itself.
func (c *Connection) polls(method string, params json.RawMessage) bool {
	if !following[method] {
		return false
	}
	obj, err := decode(params)
	if err != nil {
		return false
	}
	for name := range obj {
		if name != "taskId" && name != "_meta" {
			return false
		}
	}
	id, _ := obj["taskId"].(string)
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && slices.Contains(c.tasks, id)
}
