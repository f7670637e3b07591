package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
)

// H7: a refusal that is printed says the one constant, whatever the verb.
func TestRefusalPrinted(t *testing.T) {
	b := newBench(t, host.Config{})
	_, err := b.open(fetchURI).Prepare(context.Background(), b.turn("records"), "tools/call", json.RawMessage(`{"name":"x"}`))
	var refusal *host.Refusal
	if !errors.As(err, &refusal) || refusal.Record().Outcome != host.BlockedByCeiling {
		t.Fatalf("refused with %v", err)
	}
	for _, r := range []*host.Refusal{refusal, nil} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%20v", "%T"} {
			got := fmt.Sprintf(verb, r)
			if got != flowerrors.ModelText && (r != nil || got != "<nil>") && verb != "%T" {
				t.Errorf("%s: %q", verb, got)
			}
		}
	}
	equal(t, "wrapped", fmt.Sprintf("%+v", fmt.Errorf("x: %w", refusal)), "x: "+flowerrors.ModelText)
}

// Every refusal is recorded, also that of a request which carries nothing.
func TestEveryRefusalRecorded(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	c.Tasks("tools/call", []byte(`{"task":{"taskId":"mine"}}`))
	for object, want := range map[string]host.Outcome{refusalText: host.RefusedByServer, `{`: host.Failed, ``: host.Failed} {
		for method, params := range map[string]string{"tasks/result": `{"taskId":"mine"}`, "ping": ``} {
			records := b.count()
			r, err := c.Prepare(ctx, b.turn("user"), method, json.RawMessage(params))
			must(t, err)
			if r.Error(ctx, json.RawMessage(object)) == nil {
				t.Fatalf("%s: %q is no refusal", method, object)
			}
			equal(t, method+": records", b.count(), records+1)
			equal(t, method+": outcome", b.last().Outcome, want)
			r.Failed(ctx, nil)
			equal(t, method+": records afterwards", b.count(), records+1)
		}
	}
}

// A record holds a bounded part of what a server says.
func TestReasonBounded(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, host.Config{})
	c := b.open(recordsURI)
	long := strings.Repeat("é", 1000)
	r, err := c.Prepare(ctx, b.turn("user"), "tools/call", json.RawMessage(`{"name":"x"}`))
	must(t, err)
	r.Failed(ctx, errors.New("x"+long))
	equal(t, "failed", b.last().Reason, "x"+strings.Repeat("é", 255)+" (cut)")
	refusal := c.Refuse(ctx, nil, "tools/call", nil, long)
	equal(t, "refused", refusal.Record().Reason, strings.Repeat("é", 256)+" (cut)")
}
