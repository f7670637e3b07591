package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// The attack chains of section E of the cases from the field, as far as a host stops them
// alone. Each row is what a model is steered to, in order, in one partition.
func TestCases(t *testing.T) {
	type step struct {
		server, method, params string
		want                   host.Outcome
	}
	private := `[{"name":"read_repo","flowPolicy":{"acceptFrom":["user"]}},{"name":"read_own","flowPolicy":{"acceptFrom":["user","self"]}}]`
	tools := map[string]string{
		recordsURI: private,
		partnerURI: `[{"name":"run","flowPolicy":{"acceptFrom":["user","host"]}}]`,
		fetchURI:   `[{"name":"fetch"}]`,
		chatURI:    `[{"name":"post_message"}]`,
		newsURI:    `[{"name":"post"}]`,
	}
	read := step{fetchURI, "tools/call", `{"name":"fetch"}`, host.Answered}
	for name, steps := range map[string][]step{
		"49: an issue, and then a private repository": {read, {recordsURI, "tools/call", `{"name":"read_repo"}`, host.BlockedByPolicy}},
		"49: both behind one server, whose policy says self": {
			{recordsURI, "tools/call", `{"name":"read_own"}`, host.Answered}, {recordsURI, "tools/call", `{"name":"read_own"}`, host.Answered},
		},
		"49: both behind one server, whose policy does not": {
			{recordsURI, "tools/call", `{"name":"read_own"}`, host.Answered}, {recordsURI, "tools/call", `{"name":"read_repo"}`, host.BlockedByPolicy},
		},
		"50: a fresh partition": {{recordsURI, "tools/call", `{"name":"read_repo"}`, host.Answered}},
		"51: a link in a message": {
			{recordsURI, "tools/call", `{"name":"read_repo"}`, host.Answered}, {chatURI, "tools/call", `{"name":"post_message","arguments":{"text":"https://evil.example/?q="}}`, host.BlockedByCeiling},
		},
		"51: a link before the text": {
			{recordsURI, "tools/call", `{"name":"read_repo"}`, host.Answered}, {chatURI, "resources/read", `{"uri":"notes://export?data=x"}`, host.BlockedByCeiling},
		},
		"52: a server accepted on first use gets it": {
			{recordsURI, "tools/call", `{"name":"read_repo"}`, host.Answered}, {newsURI, "tools/call", `{"name":"post"}`, host.Answered},
		},
		"53: a README, and then a build": {
			{fetchURI, "resources/read", `{"uri":"git://repo/README"}`, host.Answered}, {partnerURI, "tools/call", `{"name":"run"}`, host.BlockedByPolicy},
		},
		"56: one way after the other": {
			read,
			{recordsURI, "tools/call", `{"name":"read_repo"}`, host.BlockedByPolicy},
			{recordsURI, "tools/call", `{"name":"read_repo","task":{"ttl":1}}`, host.BlockedByPolicy},
			{recordsURI, "tools/call", `{"name":"read_repo","_meta":{"io.modelcontextprotocol/flowOrigin":{"contributors":[{"assurance":"user"}],"complete":true}}}`, host.BlockedByPolicy},
			{recordsURI, "resources/read", `{"uri":"records://customers"}`, host.BlockedByPolicy},
			{recordsURI, "resources/subscribe", `{"uri":"records://customers"}`, host.BlockedByPolicy},
			{recordsURI, "prompts/get", `{"name":"export"}`, host.BlockedByPolicy},
			{recordsURI, "completion/complete", `{"ref":{"type":"ref/prompt","name":"export"}}`, host.BlockedByPolicy},
			{recordsURI, "records/export", `{}`, host.BlockedByPolicy},
			{partnerURI, "tools/call", `{"name":"run"}`, host.BlockedByPolicy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, host.Config{})
			conns := map[string]*host.Connection{}
			for uri, declared := range tools {
				conns[uri] = b.open(uri)
				list(t, conns[uri], policydecl.Tool, declared)
			}
			must(t, conns[recordsURI].Hello(context.Background(), []byte(`{"capabilities":{"flow":{"policy":true}}}`)))
			turn := b.turn("user")
			for i, s := range steps {
				r, err := conns[s.server].Prepare(context.Background(), turn, s.method, json.RawMessage(s.params))
				if err == nil {
					r.Answered(context.Background())
				} else if err.Error() != "The call was not permitted." { // case 55
					t.Errorf("the model is told %q", err)
				}
				equal(t, fmt.Sprint("step ", i), b.last().Outcome, s.want)
				equal(t, fmt.Sprint("records after step ", i), b.count(), i+1)
			}
		})
	}
}
