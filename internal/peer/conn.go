package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Bounds on what one server can make a client do.
const (
	// MaxMessage is how large one message may be.
	MaxMessage = 16 << 20
	// maxBefore is how many messages may come before the answer that is waited for,
	// and maxBytesBefore how large they may be together.
	maxBefore      = 1000
	maxBytesBefore = 2 * MaxMessage
)

// DefaultTimeout is how long an answer may take unless [Config] says otherwise.
const DefaultTimeout = 10 * time.Second

// Era is a protocol era.
type Era string

// The eras. The first is that of initialize, with all versions up to the one that
// names it; the second is stateless and has server/discover.
const (
	Auto      Era = ""
	Handshake Era = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	Stateless Era = mcp.ProtocolVersion20260728
)

// Config says whom to talk to. Either URL or Command is set.
type Config struct {
	URL     string      // of a Streamable HTTP endpoint
	Header  http.Header // sent with every request; the protocol's own headers win
	Command []string    // a program and its arguments
	Era     Era         // Auto tries initialize, then server/discover
	Name    string      // of the client, as told to the server
	Version string

	Apart   bool          // a connection of its own for every request over HTTP
	Timeout time.Duration // for one answer; 0 means DefaultTimeout
	Grace   time.Duration // for a child to end before it is killed; 0 means 2 seconds
}

// link is one way to reach a server. It serves one request at a time.
type link interface {
	// exchange sends a request and returns the message that answers it.
	exchange(ctx context.Context, r *request) (*reply, error)
	// notify sends a message that has no answer.
	notify(ctx context.Context, r *request) error
	// close ends everything, within a bound.
	close(ctx context.Context)
}

// request is one message to a server.
type request struct {
	id     string // as JSON
	method string
	body   []byte
	header http.Header // for a link that has headers

	strict bool          // only an answer with the request's id counts (X1)
	drain  bool          // what follows the answer is read too
	settle time.Duration // for as long as this
}

// reply returns where to put what comes back.
func (r *request) reply() *reply { return &reply{id: r.id, strict: r.strict} }

// Conn is a connection to a server. It is not safe for concurrent use.
type Conn struct {
	cfg     Config
	settle  time.Duration // how long is waited for what may still come after an answer
	link    link
	id      int64
	era     Era
	version string
	hello   json.RawMessage
	strange string // the version that the server named, as sent, if it is not known
}

// Dial reaches a server and reads what it says about itself. ctx bounds this only. The
// caller must close the connection.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	c := &Conn{cfg: cfg, settle: min(cfg.Timeout/10, maxSettle)}
	var err error
	if len(cfg.Command) > 0 {
		c.link, err = startChild(cfg.Command, cfg.Grace)
	} else {
		c.link, err = newWeb(cfg.URL, cfg.Header, cfg.Apart)
	}
	if err != nil {
		return nil, err
	}
	if err := c.open(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection and everything that Dial started for it.
func (c *Conn) Close() {
	// On purpose not the caller's context, which may be over already.
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Grace)
	defer cancel()
	c.link.close(ctx)
}

// Hello returns the result of initialize or server/discover, as sent.
func (c *Conn) Hello() json.RawMessage { return c.hello }

// Era returns the era that was found, and Version the protocol version in use.
func (c *Conn) Era() Era { return c.era }

// Version returns the protocol version in use, as the server named it.
func (c *Conn) Version() string { return c.version }

// Strange returns what the server named as its protocol version, as sent, if that is no
// version that is known here, or "".
func (c *Conn) Strange() string { return c.strange }

// Twice reports whether a child was seen to answer a request more than once.
func (c *Conn) Twice() bool {
	child, ok := c.link.(*child)
	return ok && child.twice
}

// Noise returns the beginning of what a child wrote to standard output that is no
// message, as written, or "".
func (c *Conn) Noise() string {
	if child, ok := c.link.(*child); ok {
		return child.noise
	}
	return ""
}

// Call sends a request and returns its result. The error is an [RPCError] if the server
// answered with one, and an [HTTPError] if what answered does not speak MCP.
func (c *Conn) Call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	a, err := c.ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	return a.Result, a.Err
}

func (c *Conn) ask(ctx context.Context, method string, params map[string]any) (*Answer, error) {
	r, err := c.prepare(method, params, nil)
	if err != nil {
		return nil, err
	}
	r.settle = c.settle
	return c.send(ctx, r)
}

// prepare returns a request with the next id.
func (c *Conn) prepare(method string, params map[string]any, header http.Header) (*request, error) {
	r, err := c.request(method, params)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.header, header)
	c.id++
	r.id = strconv.FormatInt(c.id, 10)
	r.strict = c.hello != nil
	r.body, err = envelope(r.id, method, c.Params(params))
	return r, err
}

// send sends a request and returns what comes back for it.
func (c *Conn) send(ctx context.Context, r *request) (*Answer, error) {
	timed, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	got, err := c.link.exchange(timed, r)
	if err != nil {
		return nil, c.explain(ctx, r.method, err)
	}
	a := &Answer{
		Beside: got.beside, Streamed: got.stream, Again: got.again, Late: json.RawMessage(got.late), Open: got.open,
		Unnamed:     json.RawMessage(got.none),
		Unversioned: string(got.jsonrpc) != `"2.0"`,
	}
	a.Result, a.Err = got.outcome(r.method)
	if answer := (*RPCError)(nil); errors.As(a.Err, &answer) {
		answer.Status, answer.NoID = got.status, r.strict && !got.answers(r.id)
		a.Err = c.doubt(answer)
	} else if a.Err != nil {
		return nil, a.Err
	}
	return a, nil
}

// explain tells a deadline from a caller that gave up.
func (c *Conn) explain(ctx context.Context, method string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	e := &TimeoutError{Method: method, After: c.cfg.Timeout.String()}
	if child, ok := c.link.(*child); ok {
		e.Hint, e.Said = child.heard(), child.words.said()
	}
	return e
}

// notify sends a notification.
func (c *Conn) notify(ctx context.Context, method string) error {
	r, err := c.request(method, nil)
	if err != nil {
		return err
	}
	r.body = []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)
	timed, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	return c.explain(ctx, method, c.link.notify(timed, r))
}

// request returns a request without its body, with the headers of the era.
func (c *Conn) request(method string, params map[string]any) (*request, error) {
	r := &request{method: method, header: http.Header{}}
	if c.version == "" {
		return r, nil
	}
	r.header.Set(mcp.HeaderProtocolVersion, c.version)
	if c.era == Stateless {
		raw, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		for name, value := range mcp.StandardHeaders(c.version, mcp.MCPMethod(method), raw) {
			r.header.Set(name, value)
		}
	}
	return r, nil
}

// Params returns a request's parameters with what the era wants on every request.
func (c *Conn) Params(params map[string]any) map[string]any {
	if c.era != Stateless {
		return params
	}
	all := maps.Clone(params)
	if all == nil {
		all = map[string]any{}
	}
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion:    c.version,
		mcp.MetaKeyClientInfo:         c.info(),
		mcp.MetaKeyClientCapabilities: capabilities(),
	}
	if own, ok := all["_meta"].(map[string]any); ok {
		maps.Copy(meta, own)
	}
	all["_meta"] = meta
	return all
}

func envelope(id, method string, params map[string]any) ([]byte, error) {
	m := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil {
		m["params"] = params
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return body, nil
}

func (c *Conn) info() map[string]any {
	return map[string]any{"name": c.cfg.Name, "version": c.cfg.Version}
}

// capabilities is what a client that labels says of itself (D2).
func capabilities() map[string]any {
	flow := map[string]any{"origin": true}
	return map[string]any{
		policydecl.CapabilityMember: flow,
		"extensions":                map[string]any{policydecl.ExtensionKey: flow},
	}
}
