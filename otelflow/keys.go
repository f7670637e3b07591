package otelflow

import "go.opentelemetry.io/otel/attribute"

// Scope is the name of the instrumentation scope of all metrics.
const Scope = "github.com/flowgate-mcp/flowgate/otelflow"

// The metrics. The names are API, and so are their attributes; there may be more of them one day.
const (
	// MetricDecisions counts requests: mcp.method.name, [KeyVerdict], [KeyMode], and where
	// they say something [KeyReason], [KeyLabel] and [KeyFlowOrigin].
	MetricDecisions = "flowgate.decisions"
	// MetricTargets counts the same requests: mcp.method.name, [KeyTarget], [KeyVerdict],
	// [KeyMode] and, where there is one, [KeyReason]. It exists if [Config.Targets] is set.
	MetricTargets = "flowgate.target.decisions"
	// MetricSuppressed counts requests, also counted in the two above, whose own record
	// sampling left out: [KeyVerdict].
	MetricSuppressed = "flowgate.suppressed.decisions"
	// MetricLost counts requests, counted nowhere else, whose record this sink was too slow
	// to be given. It has no attributes and starts at 0, so that the first loss shows in a rate.
	MetricLost = "flowgate.lost.decisions"
	// MetricDuration is a histogram of the gate's own time in seconds, one value for each
	// record in which it was measured: mcp.method.name and [KeyVerdict].
	MetricDuration = "flowgate.gate.duration"
)

// The attributes of our own, in metrics as listed above and on spans. Names are API.
const (
	KeyVerdict    = attribute.Key("flowgate.verdict")     // decision.Verdict, as records spell it
	KeyMode       = attribute.Key("flowgate.mode")        // "enforce", "report" or "off"
	KeyReason     = attribute.Key("flowgate.reason")      // decision.Reason; absent where the gate does not object, but for "sampled"
	KeyLabel      = attribute.Key("flowgate.label")       // "ok", "incomplete", "malformed" or "absent"; absent where no label was looked for
	KeyFlowOrigin = attribute.Key("flowgate.flow.origin") // "declared", "undeclared" or "unknown"; in metrics only beside an absent label
	KeyTarget     = attribute.Key("flowgate.target")      // in metrics a registered name or a bucket; on spans what has no conventional name
)

// The attributes of our own that are on spans alone.
const (
	KeyStopped      = attribute.Key("flowgate.stopped")           // true: the gate kept the request from running
	KeyWouldStop    = attribute.Key("flowgate.would_stop")        // true: it has run only because the mode is report or off
	KeyRegistered   = attribute.Key("flowgate.target.registered") // true: the target is the server's own word
	KeyDetail       = attribute.Key("flowgate.detail")            // more about the reason
	KeyRejected     = attribute.Key("flowgate.rejected")          // contributors that are not accepted, one text each
	KeyRejectedMore = attribute.Key("flowgate.rejected.more")     // how many there are besides
	KeyAcceptFrom   = attribute.Key("flowgate.accept_from")       // tokens of the policy that refused, in an objection
	KeyPolicy       = attribute.Key("flowgate.policy")            // its digest
	KeySettings     = attribute.Key("flowgate.settings")          // digest of the settings
	KeyServer       = attribute.Key("flowgate.server")            // the server's own URI
	KeySession      = attribute.Key("flowgate.session.hash")      // hash of the session's id
	KeyClient       = attribute.Key("flowgate.client")            // name that the host goes by
	KeyTook         = attribute.Key("flowgate.took")              // the gate's own time in seconds
)

// The buckets for what has no series of its own. A tool that is named like one is counted in it.
const (
	// Other stands for a value outside of its closed set, and for registered names over
	// [Config.Targets].
	Other = "_other"
	// Unregistered stands, as a target, for every name that is not the server's own.
	Unregistered = "_unregistered"
)
