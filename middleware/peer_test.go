package middleware_test

import (
	"strings"
	"testing"
)

const (
	flowForm      = `"flow":{"origin":true}`
	extensionForm = `"extensions":{"io.modelcontextprotocol/flow":{"origin":true}}`

	saysOrigin  = `,"capabilities":{` + flowForm + `}`
	saysNothing = `,"capabilities":{}`
)

// peerForms are a client's capabilities and what they say of flow.origin (section 1).
// Those that mcp-go itself does not take are in TestPeerOriginUnknown.
var peerForms = []struct {
	name, caps, want string
	ambiguous        bool // refused inside _meta (L8)
}{
	{name: "none", caps: `{}`, want: "undeclared"},
	{name: "others", caps: `{"roots":{"listChanged":true},"sampling":{},"extensions":{"com.example/x":{}}}`, want: "undeclared"},
	{name: "plain", caps: `{` + flowForm + `}`, want: "declared"},
	{name: "extension", caps: `{` + extensionForm + `}`, want: "declared"},
	{name: "both", caps: `{` + flowForm + `,` + extensionForm + `}`, want: "declared"},
	{name: "among others", caps: `{"roots":{},"flow":{"x":[1],"origin":true,"policy":false},"sampling":{}}`, want: "declared"},
	{name: "with escapes", caps: `{"fl\u006fw":{"\u006frigin":true}}`, want: "declared"},
	{name: "extension with escapes", caps: `{"extension\u0073":{"io.modelcontextprotocol\/flow":{"origin":true}}}`, want: "declared"},
	{name: "plain says no, extension yes", caps: `{"flow":{"origin":false},` + extensionForm + `}`, want: "declared"},
	{name: "plain yes, extension malformed", caps: `{` + flowForm + `,"extensions":{"io.modelcontextprotocol/flow":7}}`, want: "declared"},

	{name: "null", caps: `{"flow":null}`, want: "undeclared"},
	{name: "a bare true", caps: `{"flow":true}`, want: "undeclared"},
	{name: "a list", caps: `{"flow":[{"origin":true}]}`, want: "undeclared"},
	{name: "empty", caps: `{"flow":{},"extensions":{"io.modelcontextprotocol/flow":{}}}`, want: "undeclared"},
	{name: "false", caps: `{"flow":{"origin":false},"extensions":{"io.modelcontextprotocol/flow":{"origin":false}}}`, want: "undeclared"},
	{name: "a string", caps: `{"flow":{"origin":"true"},"extensions":{"io.modelcontextprotocol/flow":{"origin":"true"}}}`, want: "undeclared"},
	{name: "a number", caps: `{"flow":{"origin":1}}`, want: "undeclared"},
	{name: "an object", caps: `{"flow":{"origin":{"origin":true}}}`, want: "undeclared"},
	{name: "null inside", caps: `{"flow":{"origin":null}}`, want: "undeclared"},
	{name: "the server's form", caps: `{"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}`, want: "undeclared"},
	{name: "flow in capitals", caps: `{"Flow":{"origin":true}}`, want: "undeclared"},
	{name: "origin in capitals", caps: `{"flow":{"Origin":true}}`, want: "undeclared"},
	{name: "extension in capitals", caps: `{"extensions":{"io.modelcontextprotocol/Flow":{"origin":true}}}`, want: "undeclared"},
	{name: "extensions in capitals", caps: `{"Extensions":{"io.modelcontextprotocol/flow":{"origin":true}}}`, want: "undeclared"},
	{name: "experimental", caps: `{"experimental":{"flow":{"origin":true}}}`, want: "undeclared"},
	{name: "elsewhere", caps: `{"origin":true,"io.modelcontextprotocol/flow":{"origin":true},"roots":{"flow":{"origin":true}}}`, want: "undeclared"},

	{name: "twice", caps: `{` + flowForm + `,` + flowForm + `}`, want: "undeclared", ambiguous: true},
	{name: "twice by case", caps: `{` + flowForm + `,"FLOW":{"origin":true}}`, want: "undeclared", ambiguous: true},
	{name: "origin twice", caps: `{"flow":{"origin":false,"origin":true}}`, want: "undeclared", ambiguous: true},
	{name: "origin twice by case", caps: `{"flow":{"origin":true,"ORIGIN":true}}`, want: "undeclared", ambiguous: true},
	{name: "extension twice", caps: `{"extensions":{"io.modelcontextprotocol/flow":{"origin":true},"io.modelcontextprotocol/flow":{"origin":true}}}`, want: "undeclared", ambiguous: true},
	{name: "something else twice", caps: `{` + flowForm + `,"x":{"a":1,"A":1}}`, want: "undeclared", ambiguous: true},
	{name: "a number out of range", caps: `{` + flowForm + `,"x":1e999}`, want: "undeclared", ambiguous: true},
}

// TestPeerOrigin: the log of a refusal tells what the peer has declared, on every
// transport and in both eras (section 1, M2), and the declaration changes nothing that a
// peer can see: every answer is the one without it, byte for byte. On the connections
// each initialize follows another, and the last one counts.
func TestPeerOrigin(t *testing.T) {
	var book logBook
	_, _, all := conversations(t, &book)
	for _, c := range all {
		for _, e := range eras {
			want := map[string]answer{}
			for _, form := range peerForms {
				t.Run(c.name+"/"+string(e)+"/"+form.name, func(t *testing.T) {
					got := map[string]answer{}
					refused, accepted := call("export", labelX), call("export", labelU)
					if e == legacy {
						got["initialize"] = c.initialize(t, `,"capabilities":`+form.caps)
						defer c.end(t)
					} else {
						// What the connection said before must not count.
						c.initialize(t, map[bool]string{true: saysOrigin, false: saysNothing}[form.want == "undeclared"])
						defer c.end(t)
						refused.caps, accepted.caps = form.caps, form.caps
					}
					got["refused"] = c.ask(t, e, refused)
					if e == modern && form.ambiguous {
						// Invalid, for the door or for mcp-go before it.
						if code := errorCode(t, got["refused"].reply(t).Error); code != -32600 && code != -32602 || len(book.take(t)) > 0 {
							t.Errorf("got %s", got["refused"].messages)
						}
						return
					}
					if form.ambiguous {
						form.want = "unknown" // it has stated nothing for certain
					}
					book.wantOrigin(t, form.want)
					got["accepted"] = c.ask(t, e, accepted)
					if len(book.take(t)) > 0 {
						t.Error("an accepted call was logged")
					}
					sameCounts(t, c.line.took(t), "export")
					if form.name == "none" {
						want = got
					}
					for what, a := range got {
						sameBytes(t, a, want[what])
					}
				})
			}
		}
	}
}

// TestPeerOriginOnEveryRoute: also where the door refuses, and where nothing but the
// way out does.
func TestPeerOriginOnEveryRoute(t *testing.T) {
	var book logBook
	_, _, all := conversations(t, &book)
	for _, c := range all {
		for _, members := range []string{saysOrigin, saysNothing} {
			c.initialize(t, members)
			defer c.end(t)
			caps := strings.TrimPrefix(members, `,"capabilities":`)
			for _, e := range eras {
				for _, rt := range routes {
					if rt.only != "" && rt.only != e {
						continue
					}
					for _, label := range []string{labelX, labelNone} {
						r := rt.request.with(label)
						r.caps = caps
						c.ask(t, e, r)
						want := loggedRefusal{Method: rt.request.method, Label: "ok", Origin: "declared"}
						if label == labelNone {
							want.Label = "absent"
						}
						if members == saysNothing {
							want.Origin = "undeclared"
						}
						got := book.take(t)
						if len(got) != 1 || got[0].Method != want.Method || got[0].Label != want.Label || got[0].Origin != want.Origin {
							t.Errorf("%s, %s, %s: logged %+v, want %+v", c.name, e, rt.name, got, want)
						}
					}
				}
			}
		}
	}
}

// TestPeerOriginOfTheSession: an initialize that fails changes nothing, one that
// succeeds counts from then on, and a request that states its own capabilities speaks
// for itself alone, although mcp-go writes them to the session.
func TestPeerOriginOfTheSession(t *testing.T) {
	var book logBook
	_, _, all := conversations(t, &book)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := c.line.(*httpLine); ok {
				t.Skip("an initialize over HTTP begins another session")
			}
			ask := func(want string) {
				t.Helper()
				c.ask(t, legacy, call("export", labelX))
				book.wantOrigin(t, want)
			}
			c.initialize(t, saysNothing)
			ask("undeclared")
			c.initialize(t, saysOrigin)
			ask("declared")
			for _, members := range []string{
				`,"capabilities":7`, `,"capabilities":{"extensions":[]}`, `,"capabilities":{},"Capabilities":{}`, saysNothing + saysNothing,
				saysNothing + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
				saysNothing + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
			} {
				if a := c.initialize(t, members); a.reply(t).Error == nil {
					t.Errorf("initialize with %s succeeded", members)
				}
				ask("declared")
			}
			c.ask(t, modern, call("export", labelX))
			book.wantOrigin(t, "undeclared")
			ask("declared")
			c.initialize(t, "")
			ask("unknown")
			c.initialize(t, `,"capabilities":null`)
			ask("unknown")
			c.initialize(t, saysNothing)
			c.ask(t, modern, request{method: "server/discover", caps: `{` + flowForm + `}`})
			ask("undeclared")
			own := call("export", labelX)
			own.caps = `{` + extensionForm + `}`
			c.ask(t, modern, own)
			book.wantOrigin(t, "declared")
			ask("undeclared")
			// The members count for the era alone that has them.
			early := call("export", labelX)
			early.meta = `"io.modelcontextprotocol/clientCapabilities":{` + flowForm + `}`
			c.ask(t, legacy, early)
			book.wantOrigin(t, "undeclared")
		})
	}
}
