// Flowgate checks flow policies: what a file or a running MCP server in any language
// declares, why a policy accepts or refuses a label, whether labels arrive at a server
// and are enforced there, whether a server keeps the rules for whoever receives labels, and
// what enforcing would stop that runs today.
//
//	flowgate validate FILE|-
//	flowgate validate -url URL
//	flowgate validate -stdio -- COMMAND ARGS...
//	flowgate explain -policy POLICY -label LABEL [-self URI]
//	flowgate probe -url URL -tool NAME [-run]
//	flowgate probe -tool NAME [-run] -stdio -- COMMAND ARGS...
//	flowgate conformance [-run TOOL=ARGS] -url URL
//	flowgate conformance [-run TOOL=ARGS] -stdio -- COMMAND ARGS...
//	flowgate report [-since TIME] [-until TIME] [-html FILE] FILE...|-
//	flowgate help [COMMAND]
//	flowgate version
//
// The first five take -h, and -json for machines. The exit status is 0 if all is well,
// 1 if there is something to mend, and 2 if the question could not be answered: wrong flags,
// a file that cannot be read, a server that cannot be reached or does not answer, output
// that cannot be written. A file
// cannot be read either if it is empty, is not JSON or does not show what it is, such as
// {"hello":1}; what is recognised is judged, so that what is wrong with it is a 1.
//
// A file whose name ends in .yaml or .yml is recognised by that: it holds overrides of a
// server, and not to be YAML is a finding. Other files and standard input hold overrides if
// the text has the member flowgate. The server may still refuse a file without findings,
// because it alone knows what its code says; the notes name the modes and switches that
// could loosen that, and warn of members that begin with dangerously.
//
// go run turns every failure into status 1. For scripts:
//
//	go install github.com/flowgate-mcp/flowgate/cmd/flowgate@latest
//
// flowgate help COMMAND is flowgate COMMAND -h, and flowgate version says which version
// this is.
//
// What a server or a file says reaches the terminal escaped (M3), and so it does in
// JSON. A server is not trusted otherwise either: answers have a size, a number and a
// time that they must not exceed, and a command that was started is ended with its
// children.
//
// # JSON
//
// With -json, standard output is one JSON object in printable ASCII; with exit status 2
// because of the flags it is empty. Members may be added, those that are here stay.
// Texts for people (text, why, notes, error) may change their wording.
//
// All commands, if the question could not be answered:
//
//	{"command", "error"}
//
// A finding F is
//
//	{"where"?, "pointer", "rule", "reason", "value"?, "limit"?, "text"}
//
// where pointer is a JSON Pointer (RFC 6901) from the root of the declaration, or else of
// the file or of the answer to the request that where names; rule is one of docs/rules.md,
// or JSON, YAML, MCP or JSON Schema 2020-12; and reason is one of flowerrors.Reason. value is
// cut after 256 bytes.
//
// validate, where a finding in a file of overrides has a member line besides, counted from 1:
//
//	{"command", "file"?, "kind"?, "target"?, "server"?, "entries", "findings", "more"?, "summary", "notes"?, "error"?}
//	target:  {"url"} or {"command": [...]}
//	server:  {"name", "version", "protocolVersion", "flow": null or {"policy", "default": null or {"acceptFrom"}}}
//	entry:   {"kind", "index", "name", "policy": {"acceptFrom", "source"}, "findings": [F...], "more"?}
//	summary: {"entries", "own", "findings"}
//
// kind of an entry is tool, resource, template or prompt, and name is its URI or template
// where it goes by one. kind of a file is one of these or, for a list, the member that
// holds it (tools, resources, resourceTemplates, prompts), or policy, label, violation,
// initialize, capability or overrides. source is own, server (its default) or draft (the draft's default).
// findings beside entries are about no entry, and more counts those that were left out. own
// counts policies of source own. error is there with exit status 2, when a server was lost
// half-way.
//
// explain:
//
//	{"command", "policy": {"acceptFrom", "source"?}, "label": {"class", "complete"}, "self"?, "contributors",
//	 "verdict", "error"?, "policyFindings": [F...], "labelFindings": [F...], "notes"}
//	contributor: {"assurance", "principal"?, "publisher"?, "synthetic"?, "matched"?, "tokens": [{"token", "matches", "why"}...]}
//
// source is draft where the draft's default stands in for no policy or for what is none.
// verdict is accepted or refused, or invalid if the gate takes the request for none and asks
// no policy; then so is class. error is the JSON-RPC error that the peer gets.
//
// probe:
//
//	{"command", "target", "server", "tool", "policy": {"acceptFrom", "source"}, "requests", "verdict", "text", "notes"}
//	request: {"name", "label", "expect", "outcome", "saw"?, "code"?, "status"?, "text"?, "times"?, "mixed"?,
//	 "flaws"?, "rejected"?, "acceptFrom"?}
//
// server and policy are null if they could not be asked for, because params._meta is
// stripped. verdict is enforced, flawed, stripped, altered, principals-missing, not-enforced, policy-differs,
// other-refusal, no-policy, report-only, accepts-all or unclear; the status is 0 for enforced
// alone. name is stranger, marked (one for each state), other, unlabelled, empty, incomplete,
// accepted or named; expect is refused or accepted; outcome is not-sent, refused, result,
// tool-error, error or http; saw, of a stranger that was refused, is whole, states, nothing,
// other, unclear or hidden. times is how often a request was sent if more than once, and mixed
// is true if it was not always answered alike.
//
// conformance:
//
//	{"command", "target", "server", "eras", "checks", "unchecked", "summary", "notes"}
//	era:       {"name", "protocolVersion"?, "reason"?}
//	check:     {"id", "era"?, "title", "status", "reason"?, "requests", "failures": [{"about", "sent", "got"}...], "more"?}
//	unchecked: {"rules", "because"}
//	summary:   {"passed", "failed", "notRun", "notApplicable"}
//
// server is its name and version. An era has a protocolVersion if it was run, and else a
// reason. id is one of docs/rules.md, or 5/ and one of tools, tasks, resources, templates,
// prompts, completion, subscribe and listen for the requests of section 5; a check without era
// compares both. status is passed, failed, not-run or not-applicable. reason says why
// something was not tried, or which part of a check; title, about and reason may change their
// wording, and so may because, which says why nobody can check rules from outside. sent and got
// are cut, and more counts the failures that were left out.
//
// report:
//
//	{"command", "answer", "text", "because", "period", "lines", "requests", "rows", "contributors", "hosts", "faults",
//	 "settings", "policies", "notes"}
//	period:      {"since"?, "until"?, "first"?, "last"?}
//	lines:       {"records", "outside", "undated", "others", "malformed", "unfinished"}
//	requests:    {"all", "wouldStop", "stopped", "accepted", "unjudged", "off", "suppressed", "lost"}
//	row:         {"outcome", "server", "method", "target", "registered", "host", "reason", "assurance"?, "principal", TALLY}
//	contributor: {"assurance", "principal", "wouldStop", "stopped", "alone", TALLY}
//	host:        {"name", "wouldStop", "stopped", "labelled", "incomplete", "malformed", "absent", "notRead",
//	 "declared", "undeclared", "unknown", TALLY}
//	fault:       {"server", "reason", "detail"?, TALLY}
//	digest:      {"server", "digest", "acceptFrom"?, "overlaps"?, TALLY}, in settings and policies
//	TALLY:       "requests", "records", "suppressed", "first"?, "last"?
//
// A source is a file of a decision.Writer or the log of a gate at level Debug; at Info a log
// holds objections alone, and the answer is uncertain at best. There should be one source for
// each gate, because what is in two of them is counted twice.
//
// answer is breaks, nothing, or uncertain where no request is known that would be stopped and
// not all is known; the status is 0 for nothing alone. A server, method, target, host, reason,
// principal or digest is null for all those that are not told apart, because there are too
// many. requests counts those that sampling left out, suppressed of them, which are alike to
// their record; those that were lost are of any kind and are counted nowhere else. outcome is
// would-stop, stopped, accepted, unjudged or off. Rows add up to all; contributors do not,
// since a request can have several: a row names the least assured. registered is false where
// the target is the peer's word. overlaps marks settings that were in force while others of
// that server were. since and until are what was asked for, first and last what there is.
package main
