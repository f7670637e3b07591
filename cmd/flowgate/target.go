package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/internal/inspect"
	"github.com/flowgate-mcp/flowgate/internal/peer"
)

// runFactor is how many times the time for one answer a whole run may take.
const runFactor = 10

// conformanceFactor is the same for the many requests of conformance.
const conformanceFactor = 60

// maxTimeout keeps the time for a whole run a time.Duration.
const maxTimeout time.Duration = math.MaxInt64 / runFactor

// target is the flags that say which server to talk to.
type target struct {
	url     string
	stdio   bool
	header  http.Header
	era     peer.Era
	timeout time.Duration

	command []string // what follows the flags
	mistake string   // in a header

	many bool          // there are many requests
	most time.Duration // for the whole run
}

// register declares the flags.
func (t *target) register(fs *flag.FlagSet) {
	t.header = http.Header{}
	fs.StringVar(&t.url, "url", "", "`URL` of a Streamable HTTP endpoint")
	fs.BoolVar(&t.stdio, "stdio", false, "start the command that follows the flags and talk to it over stdio")
	fs.Func("header", "`'K: V'` to send with every HTTP request; may be repeated", t.addHeader)
	fs.Func("era", "protocol `era`: 2025-11-25 (initialize) or 2026-07-28 (server/discover); by default both are tried", t.setEra)
	fs.DurationVar(&t.timeout, "timeout", peer.DefaultTimeout, fmt.Sprintf("how long one answer may take; the whole run may take %d times as long", t.factor()))
}

// addHeader keeps a mistake for check: the flag package would show the value, which may
// be a secret.
func (t *target) addHeader(s string) error {
	name, value, ok := strings.Cut(s, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
		t.mistake = "-header must be 'Name: value'"
		return nil
	}
	t.header.Add(name, strings.TrimSpace(value))
	return nil
}

func (t *target) setEra(s string) error {
	switch era := peer.Era(s); era {
	case peer.Handshake, peer.Stateless:
		t.era = era
		return nil
	}
	return fmt.Errorf("must be %s or %s", peer.Handshake, peer.Stateless)
}

// given reports whether a server was named.
func (t *target) given() bool { return t.url != "" || t.stdio }

// given shows an argument that is not understood. A URL among them may hold a secret.
func given(arg string) string {
	if strings.Contains(arg, "://") {
		return peer.Address(arg)
	}
	return quoted(arg, 80)
}

// check reports what is wrong with the flags as a whole, as text, or "".
func (t *target) check(rest []string) string {
	t.command = rest
	switch {
	case t.mistake != "":
		return t.mistake
	case t.url != "" && t.stdio:
		return "-url and -stdio exclude each other"
	case t.timeout <= 0:
		return "-timeout must be more than 0"
	case t.timeout > maxTimeout:
		return fmt.Sprintf("-timeout must be at most %dh", int64(maxTimeout.Hours()))
	case t.stdio && len(rest) == 0:
		return "-stdio needs a command, as in -stdio -- COMMAND ARGS..."
	case t.stdio && len(t.header) > 0:
		return "-header is for -url: on stdio there are no headers"
	case t.url != "" && len(rest) > 0:
		return fmt.Sprintf("unexpected argument %s after the flags", given(rest[0]))
	case !t.given() && len(t.header) > 0:
		return "-header needs -url"
	}
	return ""
}

// stray reports an argument after which no flags are read, as text, or "". about says where
// it may belong.
func (t *target) stray(rest []string, about string) string {
	if t.stdio || len(rest) == 0 {
		return ""
	}
	return fmt.Sprintf("unexpected argument %s; flags come before it; %s", given(rest[0]), about)
}

// needed reports what is wrong with the flags of a command that needs a server, as text, or
// "". about is that of stray.
func (t *target) needed(rest []string, about string) string {
	mistake := t.stray(rest, about)
	if mistake == "" {
		mistake = t.check(rest)
	}
	if mistake == "" && !t.given() {
		mistake = "no server; name one with -url or -stdio"
	}
	return mistake
}

// String names the server for people, cut. What may be a secret in a URL is left out.
func (t *target) String() string {
	if t.stdio {
		return clean(strings.Join(t.command, " "), 120)
	}
	return peer.Address(t.url)
}

// targetJSON says which server it was.
type targetJSON struct {
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
}

func (t *target) json() *targetJSON {
	if t.stdio {
		return &targetJSON{Command: t.command}
	}
	return &targetJSON{URL: peer.Public(t.url)}
}

// dial reaches the server; apart is for a connection for every request.
func (a *app) dial(ctx context.Context, t *target, apart bool) (*peer.Conn, error) {
	cfg := peer.Config{
		URL: t.url, Header: t.header, Era: t.era, Timeout: t.timeout, Grace: a.grace, Apart: apart,
		Name: "flowgate", Version: version(),
	}
	if t.stdio {
		cfg.Command = t.command
	}
	return peer.Dial(ctx, cfg)
}

// factor is how many times the time for one answer a whole run may take.
func (t *target) factor() time.Duration {
	if t.many {
		return conformanceFactor
	}
	return runFactor
}

// bound limits a whole run. What ends it is reported by overdue.
func (t *target) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	factor := t.factor()
	t.most = math.MaxInt64
	if t.timeout <= math.MaxInt64/factor {
		t.most = factor * t.timeout
	}
	return context.WithTimeoutCause(ctx, t.most, errOverdue)
}

var errOverdue = errors.New("the run took too long")

// overdue replaces an error that only says that a deadline has passed.
func (t *target) overdue(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errOverdue) {
		return fmt.Errorf("%w: more than %s; a larger -timeout allows more", errOverdue, t.most)
	}
	return err
}

// watched is a connection that keeps the first answer that shows that params._meta is
// deleted on the way. An inspection takes an answer for one of the server's own.
type watched struct {
	*peer.Conn
	stripped *peer.StrippedError
}

// Call is that of the connection.
func (w *watched) Call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	raw, err := w.Conn.Call(ctx, method, params)
	if w.stripped == nil {
		errors.As(err, &w.stripped)
	}
	return raw, err
}

// inspectAll lists and validates everything the server has.
func inspectAll(ctx context.Context, c *peer.Conn) (*inspect.Report, error) {
	w := watched{Conn: c}
	r, err := inspect.Run(ctx, w.Call, c.Hello())
	if err == nil && w.stripped != nil {
		err = w.stripped
	}
	return r, err
}

// versionNotes says what is odd about the protocol version that a server names.
func versionNotes(c *peer.Conn) []string {
	if c.Strange() == "" {
		return nil
	}
	return []string{"the server names the protocol version " + clean(c.Strange(), 40) + ", which is not known here"}
}

// serverJSON is what a server says about itself.
type serverJSON struct {
	Name            string          `json:"name"`
	Version         string          `json:"version"`
	ProtocolVersion string          `json:"protocolVersion"`
	Flow            *capabilityJSON `json:"flow"` // null if it announces none
}

// capabilityJSON is the flow capability as a host reads it.
type capabilityJSON struct {
	Policy  bool        `json:"policy"`
	Default *policyJSON `json:"default"` // null if none was announced
}

func describeServer(c *peer.Conn, s inspect.Server) *serverJSON {
	out := &serverJSON{Name: s.Name, Version: s.Version, ProtocolVersion: c.Version()}
	if s.Announced {
		out.Flow = &capabilityJSON{Policy: s.Enforces}
		if s.HasDefault {
			p := policyOf(s.Default, "")
			out.Flow.Default = &p
		}
	}
	return out
}

// flowLine says for people what the server announces.
func flowLine(s inspect.Server) string {
	switch {
	case !s.Announced:
		return "not announced"
	case !s.HasDefault && s.Enforces:
		return "enforced; no default announced, so the draft's applies: " + tokens(s.Default)
	case !s.Enforces:
		return "announced, but only reported, not enforced"
	}
	return "enforced; default: " + tokens(s.Default)
}

// failJSON is what -json says if the question could not be answered at all.
type failJSON struct {
	Command string `json:"command"`
	Error   string `json:"error"`
}

// fail reports an error for machines too, and hands it on.
func (a *app) fail(asJSON bool, command string, err error) (int, error) {
	if asJSON {
		if e := a.printJSON(failJSON{command, err.Error()}); e != nil {
			return statusMisuse, e
		}
	}
	return statusMisuse, err
}

var (
	_ inspect.AnswerError = (*peer.RPCError)(nil)
	_ inspect.AnswerError = (*peer.StrippedError)(nil)
)
