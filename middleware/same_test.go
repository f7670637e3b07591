package middleware_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// TestSameErrorEverywhere compares the error objects of one request on all
// transports and in both eras with each other, not with a table (G4, case 20).
func TestSameErrorEverywhere(t *testing.T) {
	lines := gatedLines(t)
	for _, rt := range routes {
		for _, lb := range []string{labelX, labelV, labelNone} {
			first := ""
			for _, l := range lines {
				for _, e := range eras {
					got := string(l.line.exchange(t, e, rt.request.with(lb)).lastError(t))
					if got == "" {
						continue // V, where the policy accepts it
					}
					if first == "" {
						first = got
					}
					if got != l.line.object(t, first) {
						t.Errorf("%s, label %s, on %s in %s:\n got %s\nwant %s", rt.name, lb, l.name, e, got, first)
					}
				}
			}
			if first == "" && (lb != labelV || rt.policy != byDefault) {
				t.Errorf("%s, label %s: refused nowhere", rt.name, lb)
			}
		}
	}
}

// lastError returns the error object of an answer that is a refusal, nil for any
// other.
func (a answer) lastError(t testing.TB) json.RawMessage {
	t.Helper()
	for _, m := range a.messages {
		var e envelope
		if err := json.Unmarshal(m, &e); err != nil {
			t.Fatal(err)
		}
		if e.Error != nil && isRefusal(e.Error) {
			return e.Error
		}
	}
	return nil
}

// isRefusal recognises a refusal as a peer does: by the key (X2).
func isRefusal(object json.RawMessage) bool {
	var e struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	return json.Unmarshal(object, &e) == nil && e.Data[keyFlowViolation] != nil
}

// ungatedRequests pass whatever their label says (section 5), and so do those
// that mcp-go refuses itself (G1).
var ungatedRequests = map[string]request{
	"tools/list":               {method: "tools/list"},
	"tools/list, last page":    {method: "tools/list", params: `"cursor":"` + cursorAfterSearch + `"`},
	"tools/list, bad cursor":   {method: "tools/list", params: `"cursor":"?"`},
	"resources/list":           {method: "resources/list"},
	"resources/templates/list": {method: "resources/templates/list"},
	"prompts/list":             {method: "prompts/list"},
	"initialize":               {method: "initialize", params: `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`},
	"server/discover":          {method: "server/discover"},
	"ping":                     {method: "ping"},
	"logging/setLevel":         {method: "logging/setLevel", params: `"level":"error"`},
	"setLevel, bad level":      {method: "logging/setLevel", params: `"level":"loud"`},
	"resources/unsubscribe":    {method: "resources/unsubscribe", params: `"uri":"records://customers"`},
	"tasks/list":               {method: "tasks/list"},
	"tasks/get, unknown":       {method: "tasks/get", params: `"taskId":"t1"`},
	"tasks/result, unknown":    {method: "tasks/result", params: `"taskId":"t1"`},
	"tasks/cancel, unknown":    {method: "tasks/cancel", params: `"taskId":"t1"`},
	"tasks/update":             {method: "tasks/update", params: `"taskId":"t1","inputResponses":{"q":"secret"}`},
	"unknown method":           {method: "vendor/run"},
	"unknown tool":             call("nothing", ""),
	"unknown resource":         read("gone://away", ""),
	"unknown prompt":           {method: "prompts/get", params: `"name":"nothing"`, name: "nothing"},
	"unknown reference":        {method: "completion/complete", params: `"ref":{"type":"ref/tool","name":"x"},"argument":{"name":"id","value":"a"}`},
	"params of no use":         {method: "tools/call", params: `"name":7`},
	"task tool at once":        call("texport", ""),
	"subscribe to nothing":     {method: "resources/subscribe", params: `"uri":""`},
}

// cursorAfterSearch is mcp-go's cursor for the tools after "search".
const cursorAfterSearch = "c2VhcmNo"

// TestUngatedPassUnchanged compares with a server that has no gate (G5, case 4).
func TestUngatedPassUnchanged(t *testing.T) {
	gated, control := gatedLines(t), ungatedLines(t)
	for i, l := range gated {
		for _, e := range eras {
			for _, name := range slices.Sorted(maps.Keys(ungatedRequests)) {
				for _, lb := range []string{labelU, labelX} {
					r := ungatedRequests[name].with(lb)
					r.id = `"<` + name + `>"`
					t.Run(l.name+"/"+string(e)+"/"+name, func(t *testing.T) {
						sameAnswer(t, l.line.exchange(t, e, r), control[i].line.exchange(t, e, r))
						if got, want := l.line.took(t), control[i].line.took(t); !maps.Equal(got, want) {
							t.Errorf("did %v, the control %v", got, want)
						}
					})
				}
			}
		}
	}
}

// TestListenToNoURI: a listen that lists no URI is not gated. mcp-go may drop its
// acknowledgement, so only what happened is compared.
func TestListenToNoURI(t *testing.T) {
	r := request{method: "subscriptions/listen", params: `"notifications":{"toolsListChanged":true}`, label: labelX}
	for _, l := range gatedLines(t) {
		a := l.line.exchange(t, modern, r)
		if n := len(a.messages); a.lastError(t) != nil || n == 0 || !slices.ContainsFunc(a.messages, isAcknowledgement) {
			t.Errorf("%s: %s", l.name, a.messages)
		}
		sameCounts(t, l.line.took(t), "hook:listen")
	}
}

// TestAcceptedPassUnchanged does the same for gated requests that pass (G5).
func TestAcceptedPassUnchanged(t *testing.T) {
	gated, control := gatedLines(t), ungatedLines(t)
	for i, l := range gated {
		for _, e := range eras {
			for _, rt := range routes {
				if slices.Contains(rt.effects, "task:created") {
					continue // its answer holds a random id and the time
				}
				t.Run(l.name+"/"+string(e)+"/"+rt.name, func(t *testing.T) {
					r := rt.request.with(labelU)
					sameAnswer(t, l.line.exchange(t, e, r), control[i].line.exchange(t, e, r))
					if got, want := l.line.took(t), control[i].line.took(t); !maps.Equal(got, want) {
						t.Errorf("did %v, the control %v", got, want)
					}
				})
			}
		}
	}
}

// TestArgumentsPassUnchanged sends arguments that a decoder would change (G5, case
// 27) or that a strict one would refuse: what is inside arguments is not judged
// (L8).
func TestArgumentsPassUnchanged(t *testing.T) {
	gated, control := gatedLines(t), ungatedLines(t)
	for _, arguments := range []string{
		`{"id":9007199254740993,"n":1.0}`, `{"a":1,"a":2,"A":3}`, `{"s":"\ud800","t":"<&>"}`, `{ "spaced" : [ 1 , 2 ] }`,
		`{"_meta":{"` + keyFlowOrigin + `":null}}`, `{"n":1e400}`, `null`, `[1]`, `"text"`, `{"u":"\u00e9é"}`,
	} {
		r := request{method: "tools/call", params: `"name":"export","arguments":` + arguments, name: "export", label: labelU}
		for i, l := range gated {
			sameAnswer(t, l.line.exchange(t, legacy, r), control[i].line.exchange(t, legacy, r))
			if got, want := l.line.took(t), control[i].line.took(t); !maps.Equal(got, want) {
				t.Errorf("%s %s: did %v, the control %v", l.name, arguments, got, want)
			}
		}
	}
}

// sameAnswer compares two answers byte for byte, with their status and headers, but for
// what the gate publishes.
func sameAnswer(t testing.TB, got, want answer) {
	t.Helper()
	got, want = unpublished(t, got, want)
	sameWire(t, got, want)
}

// sameWire compares two answers byte for byte, with their status and headers.
func sameWire(t testing.TB, got, want answer) {
	t.Helper()
	if got.status != want.status || got.raw != want.raw {
		t.Errorf("status %d, body %q\n  want %d, %q", got.status, got.raw, want.status, want.raw)
	}
	if !slices.EqualFunc(got.messages, want.messages, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("messages %s\n    want %s", got.messages, want.messages)
	}
	strip := func(h http.Header) http.Header {
		h = h.Clone()
		h.Del("Date")
		h.Del("Mcp-Session-Id") // random
		return h
	}
	if a, b := strip(got.header), strip(want.header); !maps.EqualFunc(a, b, slices.Equal[[]string]) {
		t.Errorf("headers %v, want %v", a, b)
	}
}
