package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
)

// TestBadLists: a list that cannot be read for what is in it means that nothing that
// depends on it is sent (H5), and it is not asked for again until there is a reason to.
func TestBadLists(t *testing.T) {
	endless := func(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		return reply(`{"tools":[],"nextCursor":"x`+cursorOf(r)+`"}`)(nil, r)
	}
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `%s{"name":"t%d"}`, map[bool]string{true: ",", false: ""}[i > 0], i)
	}
	for name, h := range map[string]handler{
		"no JSON":           reply(`{"tools":[}`),
		"no object":         reply(`[]`),
		"null":              reply(`null`),
		"no list":           reply(`{}`),
		"another list":      reply(`{"prompts":[]}`),
		"a member twice":    reply(`{"tools":[],"tools":[` + toolText("a") + `]}`),
		"a cursor number":   reply(`{"tools":[],"nextCursor":1}`),
		"a cursor again":    reply(`{"tools":[],"nextCursor":"x"}`),
		"endless":           endless,
		"100,000 tools":     reply(`{"tools":[` + many.String() + `]}`),
		"bytes without end": reply(`{"tools":[],"x":"` + strings.Repeat("y", mcpgo.MaxListBytes) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake("")
			f.set("tools/list", h)
			a := newAgent(t, hostConfig)
			c, _ := f.connect(t, a)
			for i := range 2 {
				ctx, _ := a.turn(t)
				a.refusedBy(t, host.NotSent, step(ctx, c, "a"))
				got := f.methods()
				if name == "a cursor again" && i == 0 && got != "tools/list tools/list" {
					t.Errorf("sent %.100s", got)
				}
				if strings.Contains(got, "tools/call") || (got != "") != (i == 0) {
					t.Errorf("attempt %d sent %.100s", i, got)
				}
			}
			f.set("tools/list", reply("{\"tools\":["+toolText("a")+"]}"))
			f.say(changed)
			ctx, _ := a.turn(t)
			err := step(ctx, c, "a")
			if name == "100,000 tools" { // what was listed is remembered, so there is no room for another
				a.refusedBy(t, host.NotSent, err)
				return
			}
			permitted(t, err)
		})
	}
}

// TestListFailures: a list that does not come means the same, but it is asked for again.
func TestListFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, h := range map[string]handler{
			"an error":     fail(mcp.INTERNAL_ERROR, "broken"),
			"not found on": pagesThenNotFound,
			"no transport": func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
				return nil, errors.New("gone")
			},
			"no answer": func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) { return nil, nil },
			"too late":  hang,
			"slowly":    slowly,
		} {
			f := newFake("")
			f.set("tools/list", h)
			a := newAgent(t, hostConfig)
			c, _ := f.connect(t, a)
			ctx, _ := a.calm(t)
			began := time.Now()
			a.refusedBy(t, host.NotSent, step(ctx, c, "a"))
			if took := time.Since(began); took > mcpgo.ListTimeout {
				t.Errorf("%s: took %v", name, took)
			}
			f.set("tools/list", reply("{\"tools\":["+toolText("a")+"]}"))
			permitted(t, step(ctx, c, "a"))
		}
	})
}

func pagesThenNotFound(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if cursorOf(r) == "" {
		return reply(`{"tools":[],"nextCursor":"1"}`)(nil, r)
	}
	return fail(mcp.METHOD_NOT_FOUND, "no such method")(nil, r)
}

// slowly answers with one page after the other, each within the time for a whole list.
func slowly(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	select {
	case <-time.After(mcpgo.ListTimeout * 2 / 3):
		return reply(`{"tools":[],"nextCursor":"x`+cursorOf(r)+`"}`)(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
