package middleware

import (
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/tracing"

	"github.com/flowgate-mcp/flowgate/decision"
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/overrides"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

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

	// Mode is the mode of the server (M1): Enforce unless somebody says otherwise.
	Mode Mode

	// Modes gives single targets a mode of their own. The server must have the tools and
	// prompts that are named here when New is called.
	Modes []TargetMode

	// DangerouslyReportUndeclared judges requests in mode DangerouslyReport, where that
	// would be Enforce, if their peer has stated its capabilities and flow.origin is none
	// of them: it never labels, so Enforce would refuse all it sends to a strict policy.
	// What a peer states is its own choice, so while this is set a host that wants past the
	// policy only has to keep quiet about labels. A peer of which nothing is known is
	// judged as ever.
	DangerouslyReportUndeclared bool

	// Overrides is what the operator says about all of this, as overrides.Load reads it
	// from a file. [Gate.Apply] changes it while the gate serves.
	Overrides overrides.Overrides

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

	// Logger receives the decision record of every gated request (M2), with the attributes
	// of package decision: at level Error if the gate is not in order or a matcher failed,
	// at Info if the gate objects, in whatever mode, and at Debug otherwise. Faults of the gate and
	// changes of the overrides go there as well. It is slog.Default() when nil. What a
	// peer sent is escaped (M3); arguments and results are never logged.
	//
	// A request waits for its log line: a handler that blocks holds it up, and one that ends
	// its goroutine (runtime.Goexit) leaves it unanswered and not run. One that panics
	// changes no verdict.
	Logger *slog.Logger

	// Sinks receive the same records, accepted requests included, each in its own
	// goroutine. See "What is recorded" in the package documentation for what a sink that
	// fails or blocks does.
	Sinks []decision.Sink

	// SampleAbove bounds how many alike records a second go to Logger and Sinks: those of
	// one method, verdict, mode, reason, label class and registered target. Of what is
	// above it, one more record goes out at the end of the second, which says in Suppressed
	// for how many others it stands. If there are more than 1024 such kinds in a second, the
	// rest is counted by verdict and mode alone, with the reason "sampled". Zero records
	// every request.
	SampleAbove int
}

// check reports every mistake that does not need the declarations.
func (c *Config) check() error {
	var errs []error
	if !c.Mode.Known() {
		errs = append(errs, &flowerrors.ConfigError{
			Path: "mode", Value: c.Mode.String(), Reason: flowerrors.ReasonType,
			Detail: "no such mode", Hint: "use Enforce",
		})
	}
	if c.SampleAbove < 0 {
		errs = append(errs, &flowerrors.ConfigError{
			Path: "sampleAbove", Value: strconv.Itoa(c.SampleAbove), Reason: flowerrors.ReasonLimit,
			Detail: "it cannot be negative", Hint: "use 0 to record every request",
		})
	}
	for i, sink := range c.Sinks {
		if sink == nil {
			errs = append(errs, &flowerrors.ConfigError{
				Path: "sinks[" + strconv.Itoa(i) + "]", Reason: flowerrors.ReasonMissing, Detail: "it is nil", Hint: "leave it out",
			})
		}
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
