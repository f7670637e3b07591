package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK gives a refusal as the *jsonrpc.Error that it is on the wire.
var goSDK = client{class: "*jsonrpc.Error"}

// The official Go SDK speaks both eras on both transports. The version is the one it
// asks for; what it got is checked, because it falls back without a word.
func TestGoSDK(t *testing.T) {
	for _, s := range servers {
		for _, version := range []string{legacy, modern} {
			t.Run(s.name+"/http/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				url := s.http(ctx, t)
				got, _ := driveGoSDK(ctx, t, &mcp.StreamableClientTransport{Endpoint: url}, version, s.plan())
				goSDK.check(t, s, s.plan(), version, got)
				checkCounts(t, httpCounts(ctx, t, url), s.ran())
			})
			t.Run(s.name+"/stdio/"+version, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				line := s.stdioCommand(t)
				var stderr output
				cmd := exec.CommandContext(ctx, line[0], line[1:]...)
				cmd.Stderr = &stderr
				stopGently(cmd)
				got, end := driveGoSDK(ctx, t, &mcp.CommandTransport{Command: cmd, TerminateDuration: stopTime}, version, s.plan())
				goSDK.check(t, s, s.plan(), version, got)
				end()
				checkCounts(t, stdioCounts(t, stderr.String()), s.ran())
			})
		}
	}
}

// driveGoSDK carries out a plan in one session. The function that it returns ends the
// session, and over stdio the server; otherwise the end of the test does.
func driveGoSDK(ctx context.Context, t *testing.T, transport mcp.Transport, version string, steps []step) (session, func()) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, nil)
	cs, err := c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		if err := cs.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	}
	t.Cleanup(func() { _ = cs.Close() }) // closing twice does no harm
	initialized := cs.InitializeResult()
	got := session{version: initialized.ProtocolVersion, capabilities: encode(t, initialized.Capabilities)}
	for _, step := range steps {
		got.answers = append(got.answers, sendGoSDK(ctx, t, cs, step))
	}
	return got, end
}

// sendGoSDK sends one request with the SDK's own method and types for it.
func sendGoSDK(ctx context.Context, t *testing.T, cs *mcp.ClientSession, s step) answer {
	t.Helper()
	switch s.Method {
	case "tools/list":
		return ask(ctx, t, cs.ListTools, s)
	case "tools/call":
		return ask(ctx, t, cs.CallTool, s)
	case "resources/list":
		return ask(ctx, t, cs.ListResources, s)
	case "resources/templates/list":
		return ask(ctx, t, cs.ListResourceTemplates, s)
	case "resources/read":
		return ask(ctx, t, cs.ReadResource, s)
	case "prompts/list":
		return ask(ctx, t, cs.ListPrompts, s)
	case "prompts/get":
		return ask(ctx, t, cs.GetPrompt, s)
	}
	t.Fatalf("no such method: %s", s.Method)
	return answer{}
}

// ask calls one of the SDK's methods. Params and result go through JSON, so that the
// answer holds exactly what the SDK's types have kept of it.
func ask[P, R any](ctx context.Context, t *testing.T, method func(context.Context, *P) (*R, error), s step) answer {
	t.Helper()
	params := new(P)
	if err := json.Unmarshal(encode(t, s.Params), params); err != nil {
		t.Fatal(err)
	}
	result, err := method(ctx, params)
	if err == nil {
		return answer{Result: encode(t, result)}
	}
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		return answer{Error: encode(t, err.Error()), Class: fmt.Sprintf("%T", err)}
	}
	return answer{Error: encode(t, rpc), Class: "*jsonrpc.Error"}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
