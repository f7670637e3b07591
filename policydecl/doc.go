// Package policydecl is the pure half of flowgate: it reads origin labels,
// compiles flow policies and decides whether a policy accepts a label, as draft
// SEP-3193 (Cross-Server Data-Origin Labels and Flow Policy) describes. It knows
// no MCP SDK, opens nothing and remembers nothing between calls, so an adapter for
// any SDK can stand on it and a unit test can call it directly.
//
// # The flow of a request
//
// Once, at start:
//
//	set, err := policydecl.Compile(cfg)
//	if err != nil {
//		return err // every mistake in cfg
//	}
//
// And for each request, where baseAnswer is what the server's own authorization says:
//
//	value, present := meta[policydecl.LabelKey]
//	label := policydecl.LabelOf(value, present, limits)
//	policies, err := set.Resource(nil, uri) // or set.Tool(name)
//	if err != nil {
//		return false // the URI cannot be judged
//	}
//	decision := set.Decide(ctx, &label, policies...)
//	return policydecl.Restrict(baseAnswer, decision)
//
// # What this package promises
//
// A label is unsigned, so it may only ever make an answer stricter. Three things
// keep that true by construction: [Restrict] is the only function that combines
// a [Decision] with somebody else's answer and it can only keep or lower that
// answer (P9); a [Decision] has no exported field and only [Set.Decide] can make
// one that accepts; and every zero value refuses, be it [Decision], [Set], [Label]
// or [Assurance].
//
// Reading is total: whatever bytes or Go values arrive, [LabelOf] and [ParseLabel]
// return a label, never an error and never a panic, and what they cannot read
// counts as one unverified contributor (L1, L2). Labels are never read in part:
// over a budget of [Limits] a label is malformed as a whole (L7).
//
// A policy that cannot mean what its author wrote is refused when it is compiled,
// with every mistake at once (P6). Until then such a [Policy] accepts nothing.
// An absent policy (the zero [Policy]) and an empty one ([AcceptFrom] without
// tokens) stay distinct everywhere: the first means the server's default, the
// second accepts nothing (P4).
//
// # What the neighbours must do
//
// The caller must take the server's own decision first, without looking at the
// label, and must pass it and the flow decision through [Restrict]. It must not
// read a label to unlock anything: an accepting [Decision] says only that flow
// policy has no objection.
//
// The caller must judge the bytes that run. The label given to [LabelOf] must be
// the value that the dispatcher decoded from the request; ambiguity in
// the envelope around it (rule L8: duplicate names, names that differ only by
// letter case) is the caller's to refuse before dispatch, because decoding into
// a map has already hidden it. [ParseLabel] sees such ambiguity inside the label
// and reads it as malformed.
//
// The caller must ask [Set.Resource] for every URI that reaches a handler and must
// pass all policies it returns to one call of [Set.Decide]: a URI can have several
// readings, and the strictest policy wins (R2). It must refuse when Resource
// returns an error.
//
// A vendor [Matcher] must honour its context. One that returns an error, panics or
// overruns matches nothing (P3), but the goroutine of one that never returns
// cannot be stopped from outside.
//
// What a refusal tells the peer is in [flowerrors.Violation]. None of it may reach
// a model; for that there is one constant sentence in package flowerrors.
//
// # Declarations and their schemas
//
// [ValidateDeclaration], [ValidatePolicy], [ValidateLabel] and [ValidateViolation] report
// every mistake in a JSON text, each as a [Fault] with a JSON Pointer, the rule it breaks and
// the way out. They are for authors, for registration and for tests; they open nothing
// and fetch nothing, whatever a $ref says. A host that reads somebody else's
// policy must not refuse for their sake: it uses [ReadPublished] (P6).
//
// [Schemas] are the same as JSON Schema 2020-12, for other languages and for editors. A
// fuzz target holds them against the Go code.
//
// # Canonical forms
//
// The server's own URI, policy tokens, publishers and the principals of a label
// all pass through one function, [resourcematch.Canonical] (U4). Two URIs are
// equal exactly when their canonical forms are. What peers and operators see is
// always the text as it was written, never the canonical form.
//
// The rule numbers in comments (L1, P6, …) name the rules of the project's
// specification, each of which restates a sentence of the draft or closes a
// question that the draft leaves open.
package policydecl
