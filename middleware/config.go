package middleware

import (
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/tracing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Mode says what the gate does with a request that the policy refuses (M1): [Enforce]
// or [DangerouslyOff].
type Mode uint8

const (
	// Enforce refuses it. It is the zero value.
	Enforce Mode = iota
	// DangerouslyOff switches the gate off: nothing is judged, nothing is
	// refused, every message passes as if flowgate were not there. Policies
	// are still validated at start-up and still published in _meta.
	DangerouslyOff
)

// String returns the mode's name as operators write it.
func (m Mode) String() string {
	switch m {
	case Enforce:
		return "enforce"
	case DangerouslyOff:
		return "off"
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}

// Config says how a server is gated. URI is required; the zero value of every
// other field is a safe choice.
type Config struct {
	// The blank field keeps Configs from being compared or written without
	// field names.
	_ [0]func()

	// URI is the server's own canonical URI (RFC 8707), which the token
	// "self" stands for (P2): an http or https URI, or a urn, such as
	// "https://records.example/mcp".
	URI string

	// Default governs whatever has no policy of its own (P4). Absent, it is
	// the draft's default: self, user, host and verified.
	Default policydecl.Policy

	// Mode is Enforce unless somebody says otherwise.
	Mode Mode

	// Detail says how much of a refusal the peer sees (X4). The default is all
	// of it; it goes to the host, which must keep it from its model (H7).
	Detail flowerrors.Detail

	// Code is the JSON-RPC code of a refusal (X3): 403 when it is 0. Peers
	// recognise a refusal by its data, not by this number. Some read meanings of
	// HTTP into it all the same: the MCP Inspector calls 403 a failed
	// authorization, and tries to log in after 401.
	Code int

	// Matchers decide vendor tokens, by their reverse-DNS prefix (P3).
	Matchers map[string]policydecl.Matcher

	// MatcherBudget is how long the matchers may take for one request, all
	// together; zero means policydecl.DefaultMatcherBudget.
	MatcherBudget time.Duration

	// Limits are the budgets for reading a label (L7). They can be raised,
	// not lowered.
	Limits policydecl.Limits

	// MetaPropagator is the server's own propagator of _meta. mcp-go has one
	// slot for it, which the gate needs, so one that was set with
	// server.WithMetaPropagator belongs here instead.
	MetaPropagator tracing.MetaPropagator

	// Logger receives refusals at level Info, and at level Error faults of the
	// gate itself and refusals because a matcher failed. It is slog.Default() when nil.
	// A refusal says how its label was read and whether the peer has declared that it
	// labels its requests; see "What is reported" in the package documentation. Names
	// that a peer sent are escaped (M3); arguments and results are never logged.
	Logger *slog.Logger
}

// check reports every mistake that does not need the declarations.
func (c *Config) check() error {
	var errs []error
	if c.Mode > DangerouslyOff {
		errs = append(errs, &flowerrors.ConfigError{
			Path: "mode", Value: c.Mode.String(), Reason: flowerrors.ReasonType,
			Detail: "no such mode", Hint: "use Enforce",
		})
	}
	if c.Detail > flowerrors.DetailKeyOnly {
		errs = append(errs, &flowerrors.ConfigError{
			Path: "detail", Value: strconv.Itoa(int(c.Detail)), Reason: flowerrors.ReasonType,
			Detail: "no such level of detail", Hint: "use flowerrors.DetailFull, DetailNoPrincipals or DetailKeyOnly",
		})
	}
	errs = append(errs, flowerrors.Under("code", flowerrors.CheckCode(c.Code)), flowerrors.Under("limits", c.Limits.Validate()))
	return errors.Join(errs...)
}
