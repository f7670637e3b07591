package mcpgo

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/host"
)

// errNoTransport says that there is nothing to connect over.
var errNoTransport = errors.New("mcpgo: the transport is nil; pass one of mcp-go's, such as transport.NewStdio returns")

// Connect connects a host with a server: it makes the connection in the host and a client
// over inner, which must not be started yet, starts it, and initialises it as info.
//
// ctx bounds the handshake only. The connection lasts until the client is closed, which
// closes the connection in the host too. What the server says of itself in the handshake
// counts for the partition of ctx, if it has one; without one it counts as said outside of
// any partition; see [host.Turn].
//
// After an error nothing is left open, and inner is closed unless the error is about s.
func Connect(ctx context.Context, h *host.Host, s host.Server, inner transport.Interface, info mcp.Implementation, opts ...client.ClientOption) (*client.Client, *host.Connection, error) {
	if inner == nil {
		return nil, nil, errNoTransport
	}
	conn, err := h.Connect(s)
	if err != nil {
		return nil, nil, err
	}
	c := NewClient(inner, conn, opts...)
	// A transport may keep the context that it is started with for as long as it lives,
	// as stdio does for its child process.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	if err = c.Start(life); err == nil {
		_, err = c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: info}})
	}
	if !stop() && err == nil {
		err = ctx.Err() // it has ended life
	}
	if err != nil {
		_ = c.Close() // err is what went wrong
		end()
		return nil, nil, err
	}
	return c, conn, nil
}
