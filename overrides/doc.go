// Package overrides is what an operator says about a server that somebody else wrote:
// policies, modes and the server's own URI, in a file or in Go. It knows no MCP SDK.
//
// Overrides tighten. A policy that accepts what the code refuses, or a mode looser than
// the code's, is a mistake unless the overrides say [Overrides.DangerouslyLoosen].
//
// # The file
//
// [Load] reads a file in YAML or JSON, [Watch] follows one while the server runs, and
// flowgate validate checks one before it gets there. The two notations say the same:
//
//	flowgate: 1 # the version of the format, required
//	uri: https://records.example/mcp
//	default: {acceptFrom: [self, user]}
//	mode: enforce
//	tools:
//	  export_records: {acceptFrom: [user]}
//	  import_records: {acceptFrom: [user, host], optional: true}
//	prompts:
//	  summarise: {mode: enforce}
//	resources:
//	  records://customers: {acceptFrom: [self, user]}
//	templates:
//	  records://customers/{id}: {acceptFrom: [self, user]}
//	prefixes:
//	  records://internal/: {acceptFrom: []}
//	dangerouslyReportUndeclared: false
//	dangerouslyLoosen: false
//
// Only flowgate is required. A policy lists tokens as everywhere (P1), and an empty list
// accepts nothing, which is not the same as no list (P4). A target says what it accepts,
// its mode, or both. A mode is enforce, report or off (M1). A tool or prompt that is
// optional need not be there; any other that the server does not have is a mistake, because
// a misspelt name would protect nothing.
//
// # What is refused
//
// A file means what it seems to mean to every reader, or it is refused (P6), with every
// mistake in it: members that are not known, names that occur twice, null, values of the
// wrong type, policies and URIs at fault, more than one document, a byte order mark, what
// is not UTF-8. The names of members are exact, also in letter case; those of targets are
// the server's, so that Export and export are two tools.
//
// Of YAML, what has no counterpart in JSON is not read: anchors, aliases, merge keys, tags,
// directives. A name that some version of YAML takes for a number, a boolean or a date
// needs quotes; a mode does not, off is off. Characters that end a line for some readers
// alone, and marks of writing direction, are refused in YAML unless they are escaped.
//
// A file is bounded by [MaxBytes], and a report of mistakes by [MaxFaults].
//
// # Duties of the neighbours
//
//   - What depends on the server is judged where overrides are applied: what loosens,
//     which targets there are, which vendor tokens are known.
//   - A file in YAML cut short can be a file without mistakes that says less. Whoever writes
//     one SHOULD write another file and rename it; [Watch] says what it does about others.
//   - Whoever may write the file may say what the server accepts: it SHOULD be writable for
//     nobody whom the server guards against.
//
// [Schema] is the JSON Schema of the format, for editors; its $comment says what it cannot
// express. [Overrides.AppendJSON] writes what Parse reads, and [Overrides.Digest] tells
// whether two servers have the same in force.
package overrides
