// Package flowerrors holds the two kinds of error that flowgate reports, and
// nothing that decides anything.
//
// A [ConfigError] is one mistake in a configuration or a declaration. Its
// reader is a developer or an operator, so it says where the mistake is, what
// was written, why it cannot stand and what to write instead. Constructors
// report every mistake at once, joined with [errors.Join]; walk them with
// [All]. The [Reason] is API, the wording is not: do not match on text.
//
// A [Violation] is one refused request. Its reader is the peer, which may be
// hostile, and it turns into the error member of a JSON-RPC response with
// [Violation.AppendError] (rules X1 to X5). [ReadViolation] recognises such an
// error when it arrives from somebody else.
//
// # Duties of the neighbours
//
//   - Code that answers a request MUST send a violation as a JSON-RPC error and
//     MUST NOT put any part of it into a tool result (X1, X5).
//   - Code that hands a refusal to a model MUST hand over [ModelText] and
//     nothing else: not the message, not the code, not the names (H7). This
//     holds for refusals of any origin.
//   - Code that recognises refusals MUST do so with [ReadViolation], which looks
//     for [ViolationKey]; the code of an error proves nothing (X2).
//   - Code that logs a [ConfigError] may print Error() as it is: it is one line
//     of printable ASCII whatever the offending value holds. The fields are as
//     written and MUST be escaped before they reach a terminal (M3).
//   - The strings of a [Violation] that was read from the wire are the peer's.
//     They are bounded, but they are not escaped.
//
// The package imports the standard library only and does no I/O.
package flowerrors
