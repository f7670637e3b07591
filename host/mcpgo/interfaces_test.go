package mcpgo_test

//lint:file-ignore SA1019 the earlier protocol is tested too

import (
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/flowgate-mcp/flowgate/host"
	"github.com/flowgate-mcp/flowgate/host/mcpgo"
)

// The optional interfaces as mcp-go's client asks for them.
type (
	losable interface{ SetConnectionLostHandler(func(error)) }
	dated   interface{ RequiresLegacyProtocol() bool }
)

// bits is a fake with one optional interface or another.
type (
	withRequests struct{ set *transport.RequestHandler }
	withVersion  struct{ version *string }
	withLoss     struct{ set *func(error) }
	withDate     struct{}
)

// SetRequestHandler keeps the handler.
func (w withRequests) SetRequestHandler(h transport.RequestHandler) { *w.set = h }

// SetProtocolVersion keeps the version.
func (w withVersion) SetProtocolVersion(v string) { *w.version = v }

// SetConnectionLostHandler keeps the handler.
func (w withLoss) SetConnectionLostHandler(h func(error)) { *w.set = h }

// RequiresLegacyProtocol says yes.
func (withDate) RequiresLegacyProtocol() bool { return true }

// has lists which optional interfaces a transport has.
func has(i transport.Interface) string {
	_, b := i.(transport.BidirectionalInterface)
	_, h := i.(transport.HTTPConnection)
	_, l := i.(losable)
	_, d := i.(dated)
	return fmt.Sprint(b, h, l, d)
}

// everyCombination returns a transport for each set of optional interfaces; the bits of its
// index say which it has.
func everyCombination(q withRequests, v withVersion, l withLoss, d withDate) []transport.Interface {
	type F = *fake
	f := func() *fake { return newFake("[]") }
	return []transport.Interface{
		f(),
		struct {
			F
			withDate
		}{f(), d},
		struct {
			F
			withLoss
		}{f(), l},
		struct {
			F
			withLoss
			withDate
		}{f(), l, d},
		struct {
			F
			withVersion
		}{f(), v},
		struct {
			F
			withVersion
			withDate
		}{f(), v, d},
		struct {
			F
			withVersion
			withLoss
		}{f(), v, l},
		struct {
			F
			withVersion
			withLoss
			withDate
		}{f(), v, l, d},
		struct {
			F
			withRequests
		}{f(), q},
		struct {
			F
			withRequests
			withDate
		}{f(), q, d},
		struct {
			F
			withRequests
			withLoss
		}{f(), q, l},
		struct {
			F
			withRequests
			withLoss
			withDate
		}{f(), q, l, d},
		struct {
			F
			withRequests
			withVersion
		}{f(), q, v},
		struct {
			F
			withRequests
			withVersion
			withDate
		}{f(), q, v, d},
		struct {
			F
			withRequests
			withVersion
			withLoss
		}{f(), q, v, l},
		struct {
			F
			withRequests
			withVersion
			withLoss
			withDate
		}{f(), q, v, l, d},
	}
}

// TestOptionalInterfaces: a wrapped transport has those of the inner one and no others, and
// they reach it.
func TestOptionalInterfaces(t *testing.T) {
	var handler transport.RequestHandler
	var version string
	var lost func(error)
	q, v, l, d := withRequests{&handler}, withVersion{&version}, withLoss{&lost}, withDate{}
	for i, inner := range everyCombination(q, v, l, d) {
		want := fmt.Sprint(i&8 != 0, i&4 != 0, i&2 != 0, i&1 != 0)
		if got := has(inner); got != want {
			t.Fatalf("case %d has %s", i, got)
		}
		handler, version, lost = nil, "", nil
		a := newAgent(t, hostConfig)
		c, _, err := mcpgo.Connect(t.Context(), a.Host, host.Server{URI: recordsURI}, inner, info)
		if err != nil {
			t.Fatal(err)
		}
		c.OnConnectionLost(func(error) {})
		if got := has(c.GetTransport()); got != want {
			t.Errorf("case %d has %s, want %s", i, got, want)
		}
		if (handler != nil) != (i&8 != 0) || (version == string(legacy)) != (i&4 != 0) || (lost != nil) != (i&2 != 0) {
			t.Errorf("case %d: not passed on: %v %q %v", i, handler != nil, version, lost != nil)
		}
		if i&8 != 0 {
			c.GetTransport().(transport.BidirectionalInterface).SetRequestHandler(nil)
			if handler != nil {
				t.Error("no handler has become one")
			}
		}
	}
}

// TestRealTransports: the same for mcp-go's own.
func TestRealTransports(t *testing.T) {
	streamable, err := transport.NewStreamableHTTP("http://127.0.0.1:0/", transport.WithContinuousListening())
	must(err)
	sse, err := transport.NewSSE("http://127.0.0.1:0/")
	must(err)
	a := newAgent(t, hostConfig)
	for _, inner := range []transport.Interface{
		streamable, sse, transport.NewIO(nil, nil, nil), newRecords().gated().InProcess(),
	} {
		conn, err := a.Connect(host.Server{URI: recordsURI})
		must(err)
		outer := mcpgo.Wrap(inner, conn)
		if has(outer) != has(inner) {
			t.Errorf("%T has %s, wrapped %s", inner, has(inner), has(outer))
		}
		if d, ok := outer.(dated); ok && d.RequiresLegacyProtocol() != inner.(dated).RequiresLegacyProtocol() {
			t.Errorf("%T requires another protocol when it is wrapped", inner)
		}
	}
}

// TestCloseClosesBoth: closing the client ends the connection in the host.
func TestCloseClosesBoth(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	c, conn := f.connect(t, a)
	ctx, _ := a.turn(t)
	permitted(t, step(ctx, c, "a"))
	if err := c.Close(); err != nil || f.closed != 1 {
		t.Errorf("%v, closed %d times", err, f.closed)
	}
	f.methods()
	a.refusedBy(t, host.NotSent, step(ctx, c, "a"))
	if got := f.methods(); got != "" {
		t.Errorf("sent %s", got)
	}
	if _, err := conn.Prepare(ctx, nil, "tools/call", nil); err == nil {
		t.Error("the connection in the host is open")
	}
}

// TestNewClient: an application may start and initialise its client itself, and nothing
// that carries content is sent until it has.
func TestNewClient(t *testing.T) {
	f := newFake("[" + toolText("a") + "]")
	a := newAgent(t, hostConfig)
	conn, err := a.Connect(host.Server{URI: recordsURI})
	must(err)
	c := mcpgo.NewClient(f, conn, client.WithSession())
	must(c.Start(t.Context()))
	ctx, _ := a.turn(t)
	a.refusedBy(t, host.NotSent, step(ctx, c, "a"))
	if got := f.methods(); got != "" {
		t.Errorf("sent %s", got)
	}
	f.set("ping", reply(`{}`))
	must(c.Ping(ctx))
}
