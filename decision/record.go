package decision

import (
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/flowgate-mcp/flowgate/policydecl"
)

// Verdict is what a gate made of a request. The zero value is Refused.
type Verdict uint8

// The verdicts.
const (
	// Refused: the policy does not accept a contributor of the label.
	Refused Verdict = iota
	// Invalid: the request cannot be judged, because it can be read in two ways or names
	// something that cannot be read (L8, R4).
	Invalid
	// Fault: the gate itself is not in order (G6).
	Fault
	// Unjudged: no policy was asked, because the server turned the request away itself
	// before that (G1), or because the mode is off.
	Unjudged
	// Accepted: flow policy has no objection.
	Accepted
)

var verdictNames = [...]string{"refused", "invalid", "fault", "unjudged", "accepted"}

// String returns the verdict as records spell it, and "refused" for a value that is none.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return verdictNames[Refused]
}

// Objects reports whether a gate that enforces stops a request with that verdict.
func (v Verdict) Objects() bool { return v != Unjudged && v != Accepted }

// Reason says why a gate objects to a request. It is a closed set of short words, fit for
// counting; docs/operations.md says for each what to do.
type Reason string

// The reasons.
const (
	// ReasonNone: the gate does not object.
	ReasonNone Reason = ""

	// ReasonContributor: a label arrived whole, and the policy refuses somebody on it.
	ReasonContributor Reason = "contributor"
	// ReasonIncomplete: the host says that it cannot list everybody (L6).
	ReasonIncomplete Reason = "label-incomplete"
	// ReasonMalformed: there is something that cannot be read as a label (L1, L2, L7).
	ReasonMalformed Reason = "label-malformed"
	// ReasonAbsent: there is no label (L1).
	ReasonAbsent Reason = "label-absent"
	// ReasonMatcher: a vendor matcher of the server failed, so its token matched nothing (P3).
	ReasonMatcher Reason = "matcher-failed"

	// ReasonAmbiguous: the message can be read in two ways (L8).
	ReasonAmbiguous Reason = "ambiguous"
	// ReasonID: the id of the request is neither a string nor a number (L8).
	ReasonID Reason = "bad-id"
	// ReasonMeta: params._meta is no object.
	ReasonMeta Reason = "bad-meta"
	// ReasonURI: the URI is too long or cannot be read (R4).
	ReasonURI Reason = "bad-uri"
	// ReasonTooMany: the request names more resources than one request may.
	ReasonTooMany Reason = "too-many-uris"
	// ReasonCancelled: the request was cancelled before it was judged.
	ReasonCancelled Reason = "cancelled"

	// ReasonSeams: what the gate installed in the server was replaced or extended behind
	// it, or does not work (G6).
	ReasonSeams Reason = "seams"
	// ReasonPolicy: a declaration that is in force holds a policy with mistakes.
	ReasonPolicy Reason = "bad-policy"
	// ReasonPanic: code that judges the request panicked.
	ReasonPanic Reason = "panic"

	// ReasonSampled: the gate had more kinds of records in a second than it counts apart, and
	// this one stands for requests of which nothing is known but verdict and mode, whether
	// the gate objects to them or not.
	ReasonSampled Reason = "sampled"
)

// Record is one decision. The zero value is a refusal about which nothing is known. A
// Record is not changed once it was handed to a sink; copies share its slices.
type Record struct {
	Time   time.Time // when the gate made up its mind
	Server string    // the server's own URI, canonical (P2)

	// Method is what was asked for: "tools/call", …; "" if the message could not be read
	// that far.
	Method string
	// Target is the name of the tool or prompt. For a resource it is the declared URI,
	// template or prefix whose policy counted, or else a registered URI, or else the scheme
	// of the URI with its colon. It is "" if the request names nothing that can be read.
	Target string
	// Registered says that Target is the server's own word; otherwise it is the peer's, of
	// which there can be any number.
	Registered bool

	// Verdict is what the gate made of the request.
	Verdict Verdict
	// Mode is what the request was judged under. Where the verdict objects, enforce means
	// that the request was stopped. Unset counts as enforce.
	Mode policydecl.Mode
	// Reason is why the gate objects, ReasonNone where it does not.
	Reason Reason
	// Detail is more about the reason, for people, or ""; the wording may change.
	Detail string

	Judged     bool             // a label was looked for; Class means nothing otherwise
	Class      policydecl.Class // how it was read (L9)
	FlowOrigin string           // "declared", "undeclared" or "unknown": whether the peer says that it labels
	// Rejected lists the contributors that the policy does not accept, each once and in
	// label order, the first [MaxRejected] of them. It is empty unless the verdict is Refused.
	Rejected []Contributor
	// More is how many there are besides those in Rejected.
	More int

	// The policy that refused or, of an accepted request, the first one that was asked.
	AcceptFrom []string // shared with the policy: not to be changed
	Policy     string   // its digest, as in policydecl.Policy.Digest
	Settings   string   // digest of all that can be changed while the gate serves

	// Who asked.
	RequestID string // JSON text of the id, as sent
	Session   string // hash of the session's id, "" where there is none
	Protocol  string // protocol version of the request or of its session
	Client    string // name that the host goes by; it can say anything

	// Took is the gate's own time for the request until the decision, 0 if it was not
	// measured.
	Took time.Duration

	// Suppressed is how many alike requests, besides its own, the record stands for because
	// sampling left theirs out.
	Suppressed uint64
	// Lost is how many requests of any kind it stands for because this sink was too slow to
	// be given their records.
	Lost uint64
}

// Contributor is one contributor that a policy does not accept.
type Contributor struct {
	Assurance string // the state it was judged by: "unverified", …
	Principal string // as the label gave it; "" if it was withheld or unusable
	Unusable  string // what the label gave instead of a usable principal, quoted (L5)
}

// Stopped reports whether the gate kept the request from running.
func (r *Record) Stopped() bool {
	return r.Verdict.Objects() && r.Mode.Or(policydecl.Enforce) == policydecl.Enforce
}

// WouldStop reports whether the request has run only because the mode is report.
func (r *Record) WouldStop() bool { return r.Verdict.Objects() && !r.Stopped() }

// Requests is how many requests the record stands for. What is more than a uint64 holds
// counts as the largest one.
func (r *Record) Requests() uint64 {
	n := uint64(1)
	for _, more := range [...]uint64{r.Suppressed, r.Lost} {
		n += min(more, math.MaxUint64-n)
	}
	return n
}

// Message is what a log line about the record says: one of a few constants.
func (r *Record) Message() string {
	switch {
	case r.Verdict == Accepted:
		return "request accepted by flow policy"
	case r.Verdict == Unjudged:
		return "request not judged by flow policy"
	case r.WouldStop():
		return "request would be refused by flow policy"
	case r.Verdict == Invalid:
		return "request refused: it cannot be judged"
	case r.Verdict == Fault:
		return "request refused: the flow gate is not in order"
	}
	return "request refused by flow policy"
}

// Level is the level of a log line about the record: Error where the server is at fault
// and has to be mended, Info for other objections, in whatever mode, and Debug for what
// the gate has nothing against.
func (r *Record) Level() slog.Level {
	switch {
	case r.Verdict == Fault || r.Reason == ReasonMatcher:
		return slog.LevelError
	case r.Verdict.Objects():
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// The attributes of a record, which are also the members of a JSON line. They are API:
// there may be more of them one day, but these stay. What is empty is left out, but for
// the first six.
const (
	KeyMethod     = "method"
	KeyTarget     = "target"
	KeyVerdict    = "verdict"
	KeyMode       = "mode"
	KeyReason     = "reason"
	KeyLabel      = "label"
	KeyRegistered = "registered"
	KeyFlowOrigin = "flow.origin"
	KeyRejected   = "rejected"
	KeyMore       = "rejectedMore"
	KeyAcceptFrom = "acceptFrom"
	KeyPolicy     = "policy"
	KeySettings   = "settings"
	KeyServer     = "server"
	KeyID         = "id"
	KeySession    = "session"
	KeyProtocol   = "protocol"
	KeyClient     = "client"
	KeyDetail     = "detail"
	KeyTook       = "took"
	KeySuppressed = "suppressed"
	KeyLost       = "lost"
)

// Attrs appends the record's attributes to dst, without time, level and message, in a
// fixed order. Every value is a string, a boolean, a number or a slice of strings. Texts
// go through [Shown]; of the contributors no more than [MaxRejected] are listed and of the
// tokens no more than [MaxTokens], so that a record has a bounded size in any form.
func (r *Record) Attrs(dst []slog.Attr) []slog.Attr {
	label := ""
	if r.Judged {
		label = r.Class.String()
	}
	dst = append(dst,
		slog.String(KeyMethod, Shown(r.Method)), slog.String(KeyTarget, Shown(r.Target)),
		slog.String(KeyVerdict, r.Verdict.String()), slog.String(KeyMode, r.Mode.Or(policydecl.Enforce).String()),
		slog.String(KeyReason, Shown(string(r.Reason))), slog.String(KeyLabel, label))
	if r.Registered {
		dst = append(dst, slog.Bool(KeyRegistered, true))
	}
	text := func(key, value string) {
		if value != "" {
			dst = append(dst, slog.String(key, Shown(value)))
		}
	}
	text(KeyFlowOrigin, r.FlowOrigin)
	if r.Verdict.String() == verdictNames[Refused] {
		rejected, more := r.rejected()
		dst = append(dst, slog.Any(KeyRejected, rejected))
		if more > 0 {
			dst = append(dst, slog.Int(KeyMore, more))
		}
	}
	if r.Policy != "" {
		dst = append(dst, slog.Any(KeyAcceptFrom, shownTokens(r.AcceptFrom)))
	}
	text(KeyPolicy, r.Policy)
	text(KeySettings, r.Settings)
	text(KeyServer, r.Server)
	text(KeyID, r.RequestID)
	text(KeySession, r.Session)
	text(KeyProtocol, r.Protocol)
	text(KeyClient, r.Client)
	text(KeyDetail, r.Detail)
	if r.Took > 0 {
		dst = append(dst, slog.Duration(KeyTook, r.Took))
	}
	if r.Suppressed > 0 {
		dst = append(dst, slog.Uint64(KeySuppressed, r.Suppressed))
	}
	if r.Lost > 0 {
		dst = append(dst, slog.Uint64(KeyLost, r.Lost))
	}
	return dst
}

// rejected is the list of contributors as it is shown, and how many there are besides.
func (r *Record) rejected() (list []string, more int) {
	shown := r.Rejected[:min(len(r.Rejected), MaxRejected)]
	list = make([]string, 0, len(shown))
	for _, c := range shown {
		list = append(list, c.String())
	}
	more, cut := max(r.More, 0), len(r.Rejected)-len(shown)
	return list, more + min(cut, math.MaxInt-more)
}

// LogValue makes a record a group of its attributes wherever slog prints one.
func (r Record) LogValue() slog.Value { return slog.GroupValue(r.Attrs(nil)...) }

// String is the record on one line of printable ASCII. It is not meant to be parsed.
func (r Record) String() string {
	var b strings.Builder
	b.WriteString(r.Message())
	for _, a := range r.Attrs(nil) {
		b.WriteByte(' ')
		b.WriteString(a.Key)
		b.WriteByte('=')
		b.WriteString(strings.ReplaceAll(a.Value.String(), "µ", "u")) // of a duration
	}
	return b.String()
}
