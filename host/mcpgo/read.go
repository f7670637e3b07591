package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Bounds on a list that is read for its policies, beside those that [host.Connection.Page]
// keeps. What depends on a longer one is not sent.
const (
	// MaxPages is how many pages of one list are read.
	MaxPages = 1000
	// MaxListBytes is how many bytes of one list are read.
	MaxListBytes = 64 << 20
	// ListTimeout is how long a server may take in all to answer the requests for one
	// list. The request that waits for the list may end sooner, by its context.
	ListTimeout = 30 * time.Second
)

// faultError is what is wrong with a list itself, so that asking again is of no use until
// it changes.
type faultError struct{ detail string }

// Error says what is wrong.
func (e *faultError) Error() string { return e.detail }

// likeness is what a request for a list takes over from the request that needs it.
type likeness struct {
	header http.Header
	params json.RawMessage
}

// ids number the requests of adapters. They are strings, so no client's own are among
// them.
var ids atomic.Uint64

// request returns a request for a page that looks as the application's own would. Headers
// may hold its authorization. Those of MCP itself say what the other request is about, and
// its parameters hold content: none of that goes along.
func (as likeness) request(method mcp.MCPMethod, cursor string) (transport.JSONRPCRequest, error) {
	header := make(http.Header)
	for name, values := range as.header {
		if !strings.HasPrefix(http.CanonicalHeaderKey(name), "Mcp-") {
			header[name] = values
		}
	}
	meta := make(map[string]json.RawMessage)
	given := member(as.params, "_meta")
	for _, key := range []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities, mcp.MetaKeyClientInfo} {
		if value := member(given, key); value != nil {
			meta[key] = value
		}
	}
	fields := make(map[string]any)
	if len(meta) > 0 {
		fields["_meta"] = meta
	}
	if cursor != "" {
		fields["cursor"] = cursor
	}
	params, err := json.Marshal(fields)
	if err != nil {
		return transport.JSONRPCRequest{}, err
	}
	for name, value := range mcp.StandardHeaders(text(given, mcp.MetaKeyProtocolVersion), method, params) {
		header.Set(name, value)
	}
	return transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId("flowgate-" + strconv.FormatUint(ids.Add(1), 10)),
		Method: string(method), Params: json.RawMessage(params), Header: header,
	}, nil
}

// read asks for all pages of a list and gives them to the host. They are not counted for
// any partition: nobody but the host reads them.
func (l *lists) read(ctx context.Context, of listing, as likeness) error {
	var cursor string
	var size int
	left := ListTimeout
	seen := map[string]bool{"": true}
	for range MaxPages {
		request, err := as.request(of.method, cursor)
		if err != nil {
			return err
		}
		// The hook that a page may cause to be called can wait for a person; only the
		// server's own time is counted.
		asked := time.Now()
		result, err := l.ask(ctx, request, left)
		left -= time.Since(asked)
		if errors.Is(err, mcp.ErrMethodNotFound) && cursor == "" {
			return nil // there are none of the kind
		}
		if err != nil {
			return fmt.Errorf("%s: %w", of.method, err)
		}
		if size += len(result); size > MaxListBytes {
			return &faultError{fmt.Sprintf("%s: more than %d bytes", of.method, MaxListBytes)}
		}
		if err := l.conn.Page(ctx, of.kind, result, cursor == ""); err != nil {
			return &faultError{err.Error()}
		}
		cursor, err = nextCursor(result)
		if err != nil || cursor == "" {
			return err
		}
		if seen[cursor] {
			return &faultError{fmt.Sprintf("%s: a cursor comes again", of.method)}
		}
		seen[cursor] = true
	}
	return &faultError{fmt.Sprintf("%s: more than %d pages", of.method, MaxPages)}
}

// nextCursor returns the cursor of the page after this one, empty for the last. A cursor
// that cannot be read does not make a page the last one.
func nextCursor(result json.RawMessage) (string, error) {
	var cursor *string
	value := member(result, "nextCursor")
	if value == nil {
		return "", nil
	}
	if err := json.Unmarshal(value, &cursor); err != nil {
		return "", &faultError{"nextCursor is no string"}
	}
	if cursor == nil {
		return "", nil
	}
	return *cursor, nil
}

// ask sends one request and returns the result.
func (l *lists) ask(ctx context.Context, request transport.JSONRPCRequest, within time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	response, err := l.inner.SendRequest(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case response == nil:
		return nil, errNoAnswer
	case response.Error != nil:
		return nil, response.Error.AsError()
	}
	return response.Result, nil
}
