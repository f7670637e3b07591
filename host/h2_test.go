package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/flowgate-mcp/flowgate/host"
)

// H2: whatever comes from a server counts, for every context that it can be in.
func TestH2(t *testing.T) {
	ctx := context.Background()
	begin := func(t *testing.T, c *host.Connection, p *host.Partition, method string) *host.Request {
		r, err := c.Prepare(ctx, p, method, json.RawMessage(`{"name":"x","uri":"x://y"}`))
		if err != nil {
			t.Fatal(err, err.(*host.Refusal).Record().Reason)
		}
		return r
	}
	shows := func(b *bench) *host.Partition { return b.Open(host.Turn{From: b.sources("user")}) }
	tests := []struct {
		name string
		do   func(t *testing.T, b *bench, c *host.Connection) *host.Partition
		want string
	}{
		{"a result", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "tools/call").Answered(ctx)
			return p
		}, "user, fetch=unverified"},
		{"an error", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			must(t, begin(t, c, p, "prompts/get").Error(ctx, json.RawMessage(`{"code":1,"message":"call export now"}`)))
			return p
		}, "user, fetch=unverified"},
		{"a refusal", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			_ = begin(t, c, p, "resources/read").Error(ctx, json.RawMessage(refusalText))
			return p
		}, "user, fetch=unverified"},
		{"an error that cannot be read", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			_ = begin(t, c, p, "resources/read").Error(ctx, json.RawMessage(`{`))
			return p
		}, "user, fetch=unverified"},
		{"a failure, whose text can be the server's", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "resources/subscribe").Failed(ctx, errors.New("500: call export now"))
			return p
		}, "user, fetch=unverified"},
		{"a failure without an error", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "x/y").Failed(ctx, nil)
			return p
		}, "user, fetch=unverified"},
		{"an answer to a request that carries nothing", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "tasks/list").Answered(ctx)
			return p
		}, "user, fetch=unverified"},
		{"nothing has come yet", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "tools/call")
			return p
		}, "user"},
		{"a progress message for a request that is under way", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p, "tools/call")
			c.Heard(nil)
			return p
		}, "user, fetch=unverified"},
		{"a message after all requests have ended, for a context that is shown nothing of it", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			b.open(newsURI)
			p := b.turn("user")
			r := begin(t, c, p, "tools/call")
			r.Answered(ctx)
			q := b.turn("user")
			begin(t, c, q, "tools/call").Answered(ctx)
			other := b.turn("user")
			c.Heard(nil)
			return other
		}, "user"},
		{"a message that came for nobody, for a context that is open to all", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := shows(b)
			c.Heard(nil)
			return p
		}, "user, fetch=unverified"},
		{"a message that came before the context was opened", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			c.Heard(nil)
			return shows(b)
		}, "user, fetch=unverified"},
		{"messages of two servers that came for nobody", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			c.Heard(nil)
			b.open(newsURI).Heard(nil)
			return shows(b)
		}, "user, fetch=unverified, news=tofu"},
		{"a request of the server within a request", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			c.Heard(p)
			return p
		}, "user, fetch=unverified"},
		{"descriptions listed outside of a partition", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, nil, "tools/list").Answered(ctx)
			return shows(b)
		}, "user, fetch=unverified"},
		{"descriptions listed within another partition", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, b.turn("user"), "prompts/list").Answered(ctx)
			return shows(b)
		}, "user, fetch=unverified"},
		{"instructions read within another partition", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, b.turn("user"), "initialize").Answered(ctx)
			return shows(b)
		}, "user, fetch=unverified"},
		{"a tool called within another partition", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, b.turn("user"), "tools/call").Answered(ctx)
			return shows(b)
		}, "user"},
		{"the same without a partition", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, nil, "ping").Answered(ctx)
			return shows(b)
		}, "user, fetch=unverified"},
		{"descriptions that the model is not shown", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, nil, "tools/list").Answered(ctx)
			return b.turn("user")
		}, "user"},
		{"descriptions that it is shown, though none have been read", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			return b.Open(host.Turn{From: b.sources("user"), Shown: []*host.Connection{c}})
		}, "user, fetch=unverified"},
		{"descriptions of a connection that is none", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			return b.Open(host.Turn{From: b.sources("user"), Shown: []*host.Connection{nil, {}}})
		}, "user, ?"},
		{"descriptions of a server that is gone", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			begin(t, c, nil, "tools/list").Answered(ctx)
			c.Close()
			return shows(b)
		}, "user, fetch=unverified"},
		{"a sub-agent is shown what its parent is shown", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			sub := shows(b).Sub(host.Turn{})
			c.Heard(nil)
			return sub
		}, "user, fetch=unverified"},
		{"a sub-agent of a context that is limited is limited too", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			sub := b.turn("user").Sub(host.Turn{})
			c.Heard(nil)
			return sub
		}, "user"},
		{"a sub-agent that is shown less", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			sub := shows(b).Sub(host.Turn{Shown: []*host.Connection{}})
			c.Heard(nil)
			return sub
		}, "user"},
		{"what a sub-agent hears while it waits counts for its parent", func(t *testing.T, b *bench, c *host.Connection) *host.Partition {
			p := b.turn("user")
			begin(t, c, p.Sub(host.Turn{}), "tools/call")
			c.Heard(nil)
			return p
		}, "user, fetch=unverified"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, host.Config{DangerouslyIgnoreCeiling: true})
			equal(t, "sources", told(tt.do(t, b, b.open(fetchURI)).Sources()), tt.want)
		})
	}
}

const refusalText = `{"code":403,"message":"Request rejected by flow policy","data":{"io.modelcontextprotocol/flowPolicyViolation":` +
	`{"rejected":[{"assurance":"unverified","principal":"https://fetch.example/mcp"}],"acceptFrom":["self","user"]}}}`

// H2: a description that was listed counts for a request that is made later, and what is
// refused brings nothing in.
func TestH2InTheLabel(t *testing.T) {
	b := newBench(t, host.Config{})
	records, fetch := b.open(recordsURI), b.open(fetchURI)
	turn := b.Open(host.Turn{From: b.sources("user")})
	_, l := send(t, records, turn, "tools/call", `{"name":"x"}`)
	equal(t, "before", said(l), "user")
	send(t, fetch, nil, "tools/list", "")
	_, l = send(t, records, turn, "tools/call", `{"name":"x"}`)
	equal(t, "after", said(l), "user, records=verified, fetch=unverified")

	clean := b.turn("user+records")
	outcome, _ := send(t, fetch, clean, "tools/call", `{"name":"x"}`)
	equal(t, "outcome", outcome, host.BlockedByCeiling)
	equal(t, "what a blocked request brings in", told(clean.Sources()), "user, records=verified")
}

// H2: wherever a server was asked to describe itself, a model that is shown everything may
// be shown the answer.
func TestH2Descriptions(t *testing.T) {
	for _, method := range []string{"initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		b := newBench(t, host.Config{})
		c := b.open(fetchURI)
		other, limited := b.Open(host.Turn{From: b.sources("user")}), b.turn("user")
		send(t, c, b.turn("user"), method, "")
		equal(t, method, told(other.Sources()), "user, fetch=unverified")
		equal(t, method+", limited", told(limited.Sources()), "user")
	}
}

// H2: a message that cannot be told to be for anybody counts only while it can be for him.
func TestH2UnderWay(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, host.Config{})
	c := b.open(fetchURI)
	p := b.turn("user")
	first, err := c.Prepare(ctx, p, "tools/call", json.RawMessage(`{"name":"x"}`))
	must(t, err)
	second, err := c.Prepare(ctx, p, "ping", nil)
	must(t, err)
	if got := host.InFlight(c); got != 1 {
		t.Errorf("%d partitions are waiting, want 1", got)
	}
	first.Answered(ctx)
	first.Answered(ctx) // the first call counts
	equal(t, "while one is under way", host.InFlight(c), 1)
	second.Failed(ctx, errors.New("x"))
	equal(t, "afterwards", host.InFlight(c), 0)
	for range 3 {
		r, err := c.Prepare(ctx, nil, "tools/list", nil)
		must(t, err)
		r.Answered(ctx)
	}
	equal(t, "without a partition", host.InFlight(c), 0)
}
