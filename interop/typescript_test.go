//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
)

// typescriptSDKs are both lines of the official TypeScript SDK. Both keep the data of
// an error; v1 changes its message. v1 knows the first era only.
var typescriptSDKs = []struct {
	client
	name     string // as client.mjs knows it
	versions []string
}{
	{client{messagePrefix: "MCP error 403: ", class: "McpError"}, "v1", []string{legacy}},
	{client{class: "ProtocolError"}, "v2", []string{legacy, modern}},
}

func TestTypeScriptSDK(t *testing.T) {
	for _, sdk := range typescriptSDKs {
		for _, s := range servers {
			steps := withRawLists(s.plan())
			for _, version := range sdk.versions {
				t.Run(sdk.name+"/"+s.name+"/http/"+version, func(t *testing.T) {
					t.Parallel()
					ctx := testContext(t)
					url := s.http(ctx, t)
					got, _ := driveTypeScript(ctx, t, sdk.name, version, map[string]any{"url": url}, steps)
					sdk.check(t, s, steps, version, got)
					checkCounts(t, httpCounts(ctx, t, url), s.ran())
				})
				t.Run(sdk.name+"/"+s.name+"/stdio/"+version, func(t *testing.T) {
					t.Parallel()
					ctx := testContext(t)
					command := map[string]any{"command": s.stdioCommand(t)}
					got, stderr := driveTypeScript(ctx, t, sdk.name, version, command, steps)
					sdk.check(t, s, steps, version, got)
					checkCounts(t, stdioCounts(t, stderr), s.ran())
				})
			}
		}
	}
}

// withRawLists asks for each list once more, without types that drop the unknown.
func withRawLists(steps []step) []step {
	var all []step
	for _, s := range steps {
		all = append(all, s)
		if s.list != nil {
			s.Method, s.raw = "raw "+s.Method, true
			all = append(all, s)
		}
	}
	return all
}

// driveTypeScript carries out a plan in one session of one process, and returns what
// it saw and what was written on standard error.
func driveTypeScript(ctx context.Context, t *testing.T, sdk, version string, server map[string]any, steps []step) (session, string) {
	t.Helper()
	deadline, _ := ctx.Deadline()
	plan := map[string]any{
		"sdk": sdk, "version": version, "steps": steps,
		"deadline": time.Until(deadline).Milliseconds(),
	}
	maps.Copy(plan, server)
	stdout, stderr, code := runNode(ctx, t, encode(t, plan), "client.mjs")
	if code != 0 {
		t.Fatalf("exit status %d\n%s\n%s", code, stdout, stderr)
	}
	in := json.NewDecoder(strings.NewReader(stdout))
	var first struct {
		Version      string          `json:"version"`
		Capabilities json.RawMessage `json:"capabilities"`
		Received     json.RawMessage `json:"received"`
	}
	if err := in.Decode(&first); err != nil {
		t.Fatalf("%s: %v", stdout, err)
	}
	if first.Received == nil {
		t.Error("the transport has not shown what arrived")
	}
	got := session{version: first.Version, capabilities: first.Capabilities, received: first.Received}
	for in.More() {
		var a answer
		if err := in.Decode(&a); err != nil {
			t.Fatalf("%s: %v", stdout, err)
		}
		got.answers = append(got.answers, a)
	}
	return got, stderr
}
