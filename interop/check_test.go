package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// session is what a client saw: what connecting gave, and one answer for every step.
type session struct {
	version      string
	capabilities json.RawMessage // as the client hands them out
	received     json.RawMessage // as they arrived, if the client lets one look
	answers      []answer
}

// answer is what a client made of an answer, put into JSON again.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"` // with code, message and data
	Class  string          `json:"class"` // of the error, as the client names it
}

// client is what the tests know about a client beforehand.
type client struct {
	// messagePrefix is what it puts before the message of an error.
	messagePrefix string
	// class is the type of error that it gives for a refusal.
	class string
	// dropsData means that it shows no data of errors, so that nothing of a refusal
	// is left but that it is one.
	dropsData bool
}

// check compares a whole session with the plan.
func (c client) check(t *testing.T, s server, steps []step, version string, got session) {
	t.Helper()
	if got.version != version {
		t.Errorf("the session speaks %q, want %q", got.version, version)
	}
	checkCapabilities(t, got.capabilities, false)
	if got.received != nil {
		checkCapabilities(t, got.received, true)
	}
	if len(got.answers) != len(steps) {
		t.Fatalf("%d answers to %d requests", len(got.answers), len(steps))
	}
	for i, step := range steps {
		switch a := got.answers[i]; {
		case step.list != nil:
			checkList(t, step, a)
		case step.label.rejected != "":
			c.checkRefusal(t, step, a)
		case a.Error != nil || !strings.Contains(string(a.Result), step.target.want):
			t.Errorf("%v: result %s, error %s", step, a.Result, a.Error)
		}
	}
}

// checkCapabilities looks at what the server says about itself: whole means with
// capabilities.flow. All clients here read the answer to initialize and server/discover
// into types of their own. These know extensions, but drop capabilities that they do
// not know. So a host that is built on one of them has only the extension to go by.
func checkCapabilities(t *testing.T, capabilities json.RawMessage, whole bool) {
	t.Helper()
	var got struct {
		Flow       json.RawMessage            `json:"flow"`
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	if err := json.Unmarshal(capabilities, &got); err != nil {
		t.Fatalf("capabilities %s: %v", capabilities, err)
	}
	want := `{"policy":true,"default":{"acceptFrom":` + byDefault + `}}`
	if whole && !sameJSON(got.Flow, want) || !whole && got.Flow != nil {
		t.Errorf("capabilities.flow is %s in %s", got.Flow, capabilities)
	}
	if extension := got.Extensions[extensionKey]; !sameJSON(extension, want) {
		t.Errorf("extension %s, want %s", extension, want)
	}
}

// checkList compares the policies in a list with those that were declared. In _meta
// every client sees them. The member flowPolicy beside it is there for a client that
// reads the list without types; the types of all clients here drop it.
func checkList(t *testing.T, s step, a answer) {
	t.Helper()
	type policy struct {
		AcceptFrom json.RawMessage `json:"acceptFrom"`
	}
	type item struct {
		Name       string            `json:"name"`
		FlowPolicy *policy           `json:"flowPolicy"`
		Meta       map[string]policy `json:"_meta"`
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(a.Result, &result); err != nil {
		t.Errorf("%v: result %s, error %s", s, a.Result, a.Error)
		return
	}
	key := map[string]string{
		"tools/list": "tools", "resources/list": "resources",
		"resources/templates/list": "resourceTemplates", "prompts/list": "prompts",
	}[strings.TrimPrefix(s.Method, "raw ")]
	var items []item
	if err := json.Unmarshal(result[key], &items); err != nil {
		t.Errorf("%v: %s: %v", s, a.Result, err)
	}
	inMeta, beside, wantBeside := map[string]string{}, map[string]string{}, map[string]string{}
	for _, item := range items {
		inMeta[item.Name] = string(item.Meta[policyKey].AcceptFrom)
		beside[item.Name] = none
		if item.FlowPolicy != nil {
			beside[item.Name] = string(item.FlowPolicy.AcceptFrom)
		}
		wantBeside[item.Name] = none
	}
	if !maps.Equal(inMeta, s.list) {
		t.Errorf("%v: in _meta\n%v, want\n%v", s, inMeta, s.list)
	}
	if s.raw {
		wantBeside = s.list
	}
	if !maps.Equal(beside, wantBeside) {
		t.Errorf("%v: beside _meta\n%v, want\n%v", s, beside, wantBeside)
	}
}

// checkRefusal checks that a refusal arrived as the error that the server sent, with
// all of its data, and that a host can read it; or else that nothing is different but
// what is known of the client.
func (c client) checkRefusal(t *testing.T, s step, a answer) {
	t.Helper()
	if a.Error == nil {
		t.Errorf("%v: not refused: %s", s, a.Result)
		return
	}
	if a.Class != c.class {
		t.Errorf("%v: the error is a %q, want a %q", s, a.Class, c.class)
	}
	data := fmt.Sprintf(`,"data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[%s],"acceptFrom":%s}}`,
		s.label.rejected, s.target.policy)
	if c.dropsData {
		data = ""
	}
	want := fmt.Sprintf(`{"code":403,"message":"%sRequest rejected by flow policy"%s}`, c.messagePrefix, data)
	if !sameJSON(a.Error, want) {
		t.Errorf("%v: error\n%s, want\n%s", s, a.Error, want)
	}
	if c.dropsData {
		return
	}
	if v, refused, err := flowerrors.ReadViolation(a.Error); !refused || err != nil || len(v.Rejected) != 1 {
		t.Errorf("%v: a host reads %+v, %v, %v", s, v, refused, err)
	}
}

// checkCounts checks that only what was accepted has run.
func checkCounts(t *testing.T, got, want map[string]int) {
	t.Helper()
	got = maps.Clone(got)
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(got, want) {
		t.Errorf("ran\n%v, want\n%v", got, want)
	}
}

// sameJSON reports whether two JSON texts mean the same; a client may have changed the
// order of members when it put a value into JSON again.
func sameJSON(got json.RawMessage, want string) bool {
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		return false
	}
	one, _ := json.Marshal(g) // what was decoded always encodes
	other, _ := json.Marshal(w)
	return string(one) == string(other)
}
