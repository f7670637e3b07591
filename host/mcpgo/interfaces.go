package mcpgo

import (
	"context"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/flowgate-mcp/flowgate/host"
)

// What mcp-go's client looks for in a transport beyond transport.Interface. Whether it is
// there changes what the client does, so a wrapped transport has of it exactly what the
// inner one has. TestFactOptionalInterfaces watches for others.
type (
	requester interface {
		SetRequestHandler(transport.RequestHandler)
	}
	versioned interface{ SetProtocolVersion(string) }
	losable   interface{ SetConnectionLostHandler(func(error)) }
	dated     interface{ RequiresLegacyProtocol() bool }
)

// requests counts the requests of a server before the application has them (H2).
type requests struct {
	inner requester
	conn  *host.Connection
}

// SetRequestHandler sets the handler for requests of the server.
func (r requests) SetRequestHandler(handler transport.RequestHandler) {
	if handler == nil {
		r.inner.SetRequestHandler(nil)
		return
	}
	r.inner.SetRequestHandler(func(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		r.conn.Heard(nil)
		if p := host.PartitionFrom(ctx); p != nil {
			r.conn.Heard(p) // the stream of a request that may have ended by now
		}
		return handler(ctx, request)
	})
}

// like returns t with the optional interfaces of inner. Go has no other way to have a method
// or not than a type for each case.
func like(inner transport.Interface, t *wrapped) transport.Interface {
	asked, isRequester := inner.(requester)
	v, isVersioned := inner.(versioned)
	l, isLosable := inner.(losable)
	d, isDated := inner.(dated)
	q := requests{asked, t.conn}
	switch {
	case isRequester && isVersioned:
		return likeBoth(t, q, v, l, d)
	case isRequester:
		return likeRequester(t, q, l, d)
	case isVersioned:
		return likeVersioned(t, v, l, d)
	case isLosable && isDated:
		return struct {
			*wrapped
			losable
			dated
		}{t, l, d}
	case isLosable:
		return struct {
			*wrapped
			losable
		}{t, l}
	case isDated:
		return struct {
			*wrapped
			dated
		}{t, d}
	}
	return t
}

// likeRequester is like for a transport that brings requests of the server. l and d may be nil.
func likeRequester(t *wrapped, q requests, l losable, d dated) transport.Interface {
	switch {
	case l != nil && d != nil:
		return struct {
			*wrapped
			requests
			losable
			dated
		}{t, q, l, d}
	case l != nil:
		return struct {
			*wrapped
			requests
			losable
		}{t, q, l}
	case d != nil:
		return struct {
			*wrapped
			requests
			dated
		}{t, q, d}
	}
	return struct {
		*wrapped
		requests
	}{t, q}
}

// likeVersioned is like for a transport over HTTP. l and d may be nil.
func likeVersioned(t *wrapped, v versioned, l losable, d dated) transport.Interface {
	switch {
	case l != nil && d != nil:
		return struct {
			*wrapped
			versioned
			losable
			dated
		}{t, v, l, d}
	case l != nil:
		return struct {
			*wrapped
			versioned
			losable
		}{t, v, l}
	case d != nil:
		return struct {
			*wrapped
			versioned
			dated
		}{t, v, d}
	}
	return struct {
		*wrapped
		versioned
	}{t, v}
}

// likeBoth is like for one that is both. l and d may be nil.
func likeBoth(t *wrapped, q requests, v versioned, l losable, d dated) transport.Interface {
	switch {
	case l != nil && d != nil:
		return struct {
			*wrapped
			requests
			versioned
			losable
			dated
		}{t, q, v, l, d}
	case l != nil:
		return struct {
			*wrapped
			requests
			versioned
			losable
		}{t, q, v, l}
	case d != nil:
		return struct {
			*wrapped
			requests
			versioned
			dated
		}{t, q, v, d}
	}
	return struct {
		*wrapped
		requests
		versioned
	}{t, q, v}
}
