package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// open finds out which era the server speaks and greets it. A server of the stateless
// era does not know initialize, or misses in it what every request of that era has, so
// any answer that is an error leads to the other greeting. Silence does not.
func (c *Conn) open(ctx context.Context) error {
	switch c.cfg.Era {
	case Handshake:
		return c.initialize(ctx)
	case Stateless:
		return c.discover(ctx)
	}
	err := c.initialize(ctx)
	if err == nil || !refusesHandshake(err) {
		return err
	}
	if other := c.discover(ctx); other != nil {
		return fmt.Errorf("%w; and %w", err, other)
	}
	return nil
}

// refusesHandshake reports whether the server may be of the stateless era.
func refusesHandshake(err error) bool {
	var answer *RPCError
	var page *HTTPError
	switch {
	case errors.As(err, &answer):
		return true
	case errors.As(err, &page):
		return page.Status == http.StatusBadRequest
	}
	return false
}

// greet sends the first request. What keeps a server from answering that one in time is
// seldom what keeps it from answering a later one.
func (c *Conn) greet(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	hello, err := c.Call(ctx, method, params)
	if late := (*TimeoutError)(nil); errors.As(err, &late) {
		if c.cfg.Era == Auto && c.era == Handshake {
			late.Hint += "; a server that only speaks " + string(Stateless) + " may need -era " + string(Stateless)
		}
		if len(c.cfg.Command) > 0 {
			late.Hint += "; if the command has to compile or load first, raise -timeout, as in -timeout " + more(c.cfg.Timeout)
		}
	}
	return hello, err
}

// more is a timeout that is longer for certain, as the flag takes it.
func more(than time.Duration) string {
	if than < time.Minute {
		return "2m"
	}
	return (2 * than).String()
}

// initialize greets a server of the earlier era.
func (c *Conn) initialize(ctx context.Context) error {
	c.era, c.version = Handshake, ""
	hello, err := c.greet(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": string(Handshake),
		"capabilities":    capabilities(),
		"clientInfo":      c.info(),
	})
	if err != nil {
		return err
	}
	c.hello = hello
	c.version, c.strange = namedVersion(hello)
	return c.notify(ctx, "notifications/initialized")
}

// namedVersion returns the version that the server chose, and what it named if that is
// none that is known. It goes back in a header, so whatever has another form than a
// version is not taken up.
func namedVersion(hello json.RawMessage) (version, strange string) {
	var named struct {
		ProtocolVersion json.RawMessage `json:"protocolVersion"`
	}
	if json.Unmarshal(hello, &named) != nil || named.ProtocolVersion == nil {
		return string(Handshake), "(none)"
	}
	if json.Unmarshal(named.ProtocolVersion, &version) != nil {
		return string(Handshake), string(named.ProtocolVersion)
	}
	if !slices.Contains(mcp.ValidProtocolVersions, version) {
		strange = cmp.Or(version, `""`)
	}
	if !isDate(version) {
		version = string(Handshake)
	}
	return version, strange
}

// isDate reports whether s has the form of a protocol version.
func isDate(s string) bool {
	if len(s) != len(Handshake) {
		return false
	}
	for i := range len(s) {
		if dash := i == 4 || i == 7; dash != (s[i] == '-') || !dash && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// discover greets a server of the stateless era.
func (c *Conn) discover(ctx context.Context) (err error) {
	c.era, c.version = Stateless, string(Stateless)
	c.hello, err = c.greet(ctx, string(mcp.MethodServerDiscover), nil)
	return err
}
