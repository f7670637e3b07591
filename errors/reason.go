package flowerrors

// Reason says why a [ConfigError] was reported. The values are stable and fit
// for machines: a tool may translate them or count by them.
type Reason string

const (
	// ReasonMissing: a required value is absent or empty.
	ReasonMissing Reason = "missing"
	// ReasonType: the value has the wrong type or shape.
	ReasonType Reason = "wrong-type"
	// ReasonUnknownMember: an object holds a member that means nothing there.
	ReasonUnknownMember Reason = "unknown-member"
	// ReasonUnknownToken: a policy token is of no known form (P1).
	ReasonUnknownToken Reason = "unknown-token"
	// ReasonURI: the text is not a usable URI or pattern (U2, R2).
	ReasonURI Reason = "unusable-uri"
	// ReasonNeverMatches: the pattern or token is well formed but can never
	// match anything (P6).
	ReasonNeverMatches Reason = "never-matches"
	// ReasonDuplicate: the same thing is declared twice (P6).
	ReasonDuplicate Reason = "duplicate"
	// ReasonLimit: a named limit is exceeded; [ConfigError.Limit] holds it.
	ReasonLimit Reason = "over-limit"
	// ReasonReserved: the value belongs to somebody else (X3).
	ReasonReserved Reason = "reserved"
	// ReasonUnsupported: the value is well formed but not supported.
	ReasonUnsupported Reason = "unsupported"
	// ReasonConflict: two settings contradict each other.
	ReasonConflict Reason = "conflict"
	// ReasonLoosens: it would let through what is refused without it, and nobody has
	// said that this is meant (M1).
	ReasonLoosens Reason = "loosens"
	// ReasonUnknownTarget: it is about something that the server does not have.
	ReasonUnknownTarget Reason = "unknown-target"
)
