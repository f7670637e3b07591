// Package decision is the record of what a gate decided about one request (M2): what
// operators see, count and keep. It knows no MCP SDK, so that gates for other SDKs can
// write the same records and programs can read them without one.
//
// A gate hands each [Record] to a [Sink]. [NewWriter] makes one that writes JSON lines,
// [Parse] reads such a line back and [NewReader] a log of them, and package decisiontest
// tests a Sink of your own.
//
// # What a record says, and what it must not
//
// A record names the request, the verdict and the reason. It has no field for arguments
// or results, and a URI that nobody has declared is reduced to its scheme, because a URI
// can carry what the model knows. Whoever fills in a Record must keep to that. All texts
// that a peer has sent are printable ASCII of bounded length in a Record ([Text] makes
// them so), so that a sink may print them as they are (M3). What goes through [Record.Attrs]
// or String is, even if somebody forgot.
//
// None of it may reach a model (H7).
package decision
