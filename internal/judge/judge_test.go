package judge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

func TestAim(t *testing.T) {
	set, err := policydecl.Compile(policydecl.Config{URI: "https://own.example/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tokens   []string
		self     string
		refused  string
		accepted string // its assurance and principal
		near     int
	}{
		{[]string{"user"}, "", "[unverified tofu verified host]", "user urn:mcp:user", 0},
		{[]string{}, "", "[unverified tofu verified host user]", "", 0},
		{[]string{"user", "host", "verified", "tofu", "unverified"}, "", "[]", "user urn:mcp:user", 0},
		{[]string{"self"}, "", "[unverified tofu verified host user]", "", 0},
		{[]string{"self"}, "https://own.example/mcp", "[unverified tofu verified host user]", "verified https://own.example/mcp", 1},
		{[]string{"urn:x-y:z", "publisher:https://p.example/"}, "", "[unverified tofu verified host user]", "verified urn:x-y:z", 2},
	} {
		a := Aim{Policy: policydecl.AcceptFrom(tt.tokens...), Set: set, Self: tt.self, Marker: "https://marker.invalid/mcp"}
		refused := a.Refused()
		c, ok := a.Acceptable()
		accepted := ""
		if ok {
			accepted = c.Assurance().String() + " " + c.Principal()
		}
		if fmt.Sprint(refused) != tt.refused || accepted != tt.accepted {
			t.Errorf("%q: refuses %v, accepts %q", tt.tokens, refused, accepted)
		}
		if len(refused) == 0 {
			continue
		}
		near := a.Near(refused)
		for _, n := range near {
			if a.Accepts(n.Label) || n.Of == "" {
				t.Errorf("%q: %s is accepted", tt.tokens, n.Of)
			}
		}
		if len(near) != tt.near {
			t.Errorf("%q: %+v", tt.tokens, near)
		}
	}
}

func TestRead(t *testing.T) {
	refusal := `{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":{"rejected":[{"assurance":"tofu"}],"acceptFrom":[]}}}`
	failed := func(raw string, noID bool) *peer.Answer {
		return &peer.Answer{Err: &peer.RPCError{Code: 403, Message: "Request rejected by flow policy", Raw: []byte(raw), NoID: noID}}
	}
	late, streamed := failed(refusal, false), failed(refusal, false)
	late.Late = []byte(`{"content":[]}`)
	streamed.Streamed, streamed.Beside = true, []string{"notifications/message", "notifications/progress"}
	for _, tt := range []struct {
		got     *peer.Answer
		outcome Outcome
		through bool
		text    string
		flaws   int
	}{
		{failed(refusal, false), Refused, false, "refused: tofu", 0},
		{failed(refusal, true), RPCError, false, "without the id of the request", 0},
		{failed(strings.Replace(refusal, "403", "1.5", 1), false), Refused, false, "refused: tofu", 1},
		{failed(`{"code":403,"message":"Request rejected by flow policy"}`, false), RPCError, false, `error 403, "Request rejected by flow policy"`, 0},
		{late, Result, true, "refused, and then a result: it ran", 0},
		{streamed, Refused, true, `refused, but not before "notifications/progress"`, 1},
		{&peer.Answer{Result: []byte(`{"content":[]}`)}, Result, true, "a result: it ran", 0},
		{&peer.Answer{Result: []byte(`{"isError":true,"x":"\u001b"}`)}, ToolError, true, `a result that says it is an error: {`, 0},
	} {
		a, err := Read(tt.got, nil)
		if err != nil || a.Outcome != tt.outcome || a.GotThrough() != tt.through || !strings.Contains(a.Text(), tt.text) || len(a.Flaws) < tt.flaws || tt.flaws == 0 && len(a.Flaws) > 0 {
			t.Errorf("%v: %+v, %s", tt, a, a.Text())
		}
	}
	if a, err := Read(nil, &peer.HTTPError{Status: 502}); err != nil || a.Outcome != HTTPError || a.Text() != "HTTP status 502" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := Read(nil, errors.New("lost")); err == nil {
		t.Error("a server that is lost has not answered")
	}
}

func TestNonce(t *testing.T) {
	if a, b := Nonce(), Nonce(); a == b || len(a) != 12 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Error(a, b)
	}
}
