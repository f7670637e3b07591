package middleware_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/middleware"
)

// TestOneIDTwiceInFlight: on stdio a request is found again by its id alone. Two
// requests in flight under one id, or under ids that mcp-go cannot tell apart, must
// not let a result that middleware made up for the refused one pass (G3), in
// whatever order they reach the door and are answered.
func TestOneIDTwiceInFlight(t *testing.T) {
	for name, ids := range map[string][2]string{
		"the same number": {`7`, `7`}, "the same string": {`"a"`, `"a"`}, "another spelling": {`"a"`, `"\u0061"`},
		"numbers that decode alike": {`9007199254740992`, `9007199254740993`}, "a number with a fraction": {`1`, `1.0`},
	} {
		for _, pingFirst := range []bool{true, false} {
			t.Run(name, func(t *testing.T) { twiceInFlight(t, ids[0], ids[1], pingFirst) })
		}
	}
}

func twiceInFlight(t *testing.T, callID, pingID string, pingFirst bool) {
	swallow := wrapper(func(next func() error) (bool, error) { _ = next(); return true, nil })
	r := newRecipient(swallow.author()...)
	calling, pinging := make(chan struct{}), make(chan struct{}) // the call waits at the door, the ping behind it
	mayCall, mayPing := make(chan struct{}), make(chan struct{})
	r.hooks.AddOnRequestInitialization(func(_ context.Context, _, message any) error {
		if strings.Contains(string(message.(json.RawMessage)), `"tools/call"`) {
			close(calling)
			<-mayCall
		}
		return nil
	})
	r.hooks.AddBeforePing(func(context.Context, any, *mcp.PingRequest) {
		close(pinging)
		<-mayPing
	})
	g, err := middleware.New(r.server, config())
	if err != nil {
		t.Fatal(err)
	}
	l := listenPipe(t, r, g)
	refused := call("export", labelX)
	refused.id = callID
	l.send(t, refused.body(legacy))
	<-calling
	l.send(t, `{"jsonrpc":"2.0","id":`+pingID+`,"method":"ping"}`)
	<-pinging
	var answers []json.RawMessage
	if pingFirst {
		close(mayPing)
		answers = append(answers, l.next(t))
		close(mayCall)
		answers = append(answers, l.next(t))
	} else {
		close(mayCall)
		answers = append(answers, l.next(t))
		close(mayPing)
		answers = append(answers, l.next(t))
	}
	for _, a := range answers {
		if strings.Contains(string(a), "made up") {
			t.Errorf("a result of the refused call left: %s", answers)
		}
	}
	sameCounts(t, r.ran.take())
}
