// Package middleware makes a server built on github.com/mark3labs/mcp-go refuse a
// request because of where its data came from, as draft SEP-3193 describes.
//
// A host attaches an origin label to each request: whose content was in the
// context that built it. A server declares a flow policy beside each tool,
// resource and prompt: whose content it accepts. The gate compares the two, and
// no request that the policy does not accept reaches the server's handlers.
//
// # Use
//
// Declare a policy where a tool is registered:
//
//	middleware.AddTool(s, tool, policydecl.AcceptFrom("self", "user"), handler)
//
// and change the one line that serves s, which is one of
//
//	http.Handle("/mcp", middleware.MustHandler(s, middleware.Config{URI: ownURI})) // was server.NewStreamableHTTPServer(s)
//
// over HTTP,
//
//	err := middleware.ServeStdio(s, middleware.Config{URI: ownURI}) // was server.ServeStdio(s)
//
// over stdio, or in process
//
//	c, err := middleware.NewInProcessClient(s, middleware.Config{URI: ownURI}) // was client.NewInProcessClient(s)
//
// A server on several transports makes one [Gate] with [New] and takes them from
// it. Everything that is registered without a helper is governed by the server's
// default policy; nothing is ungoverned.
//
// # Declaring policies
//
// The registration helpers stand in for the methods of the same name on
// server.MCPServer and take the policy besides. They put it into the declaration's
// _meta, where clients can read it and where the gate reads it, so a declaration is
// never reachable before its policy. The caller's own _meta is copied, not changed.
//
// A declaration with mistakes is not registered. What counts is the text that lists would
// show: policydecl.ValidateDeclaration judges it, so a tool whose inputSchema is no JSON
// Schema 2020-12, or refers to something outside of it, is a mistake too. The
// error is returned, and [New] joins it to all others, so an author may ignore the return
// values at start-up; the helpers for sessions, which come later, only return theirs.
// What mcp-go's own methods register is not judged but for its policy: it need not be
// the author's, as in a proxy. Package middlewaretest judges everything that is listed.
// An absent policy (the zero policydecl.Policy) leaves a declaration to the server's default.
//
// The policy of a request is the first that there is of these: the one in the
// declaration's _meta; for a tool of a session, that of the global tool of the same
// name; one set by [Govern]; the server's default. A URI can match several resources,
// templates and prefixes, and mcp-go may route it to any of them, so all of theirs must
// accept.
//
// Use the helpers also while the server runs. A policy that is written into _meta by
// hand counts for a tool or prompt whenever it runs; for a resource if it is there when
// New runs, or else once it has been listed. New refuses one in a template; in one that is
// added later and listed, it counts beside the default.
//
// A resource's handler that a helper has registered is judged also where the handler of
// another resource calls it, as a Go function, with the context of its own request. Such
// code had better share a function than a handler.
//
// # What is gated
//
// tools/call (also as a task, where the refusal is the first answer and no task
// is created), resources/read, resources/subscribe, subscriptions/listen (by every
// URI that it lists), prompts/get and completion/complete; on Streamable HTTP,
// legacy HTTP+SSE, stdio and in process; in the protocol of 2025-11-25 and earlier and in that of
// 2026-07-28 (section 5 of docs/rules.md). Lists, ping, initialize,
// server/discover, logging/setLevel, resources/unsubscribe, notifications and
// answers to requests of the server pass.
//
// A refusal is a JSON-RPC error that peers recognise by the key
// "io.modelcontextprotocol/flowPolicyViolation" in its data (X2). A message that
// can be read in two ways is an invalid request, whatever its label (L8).
//
// A completion for a prompt that a filter hides is refused by that prompt's policy, with
// nothing of the policy in the refusal; but a peer can tell from it that such a prompt
// exists, because mcp-go asks the completion provider for hidden prompts too.
//
// # What is published
//
// Each declaration with a policy of its own carries it in lists twice: in _meta, where
// it is read and enforced from, and as the member flowPolicy beside the others (D1, D4).
// The answers to initialize and server/discover say capabilities.flow, and the same
// under capabilities.extensions, with the default policy of the server (D2). This is put into the
// text of the answer, and every other byte is as mcp-go wrote it (D3). A policy by
// [Govern] for the very name of a declaration is published with it; one for a prefix, or for
// something that is not listed, has no place to be. A server that is served past its gate
// publishes only what is in _meta, and what Govern and overrides say of listed names.
//
// # Modes
//
// A mode says what becomes of a request that the policy refuses (M1): [Enforce] refuses it,
// [DangerouslyReport] lets it run untouched and records the refusal that there would have
// been, [DangerouslyOff] judges nothing. [Config].Mode is that of the server, and
// [Config].Modes gives single tools, prompts, resources, templates and prefixes one of
// their own. In mode report nothing at all is stopped: not a message with two readings, and
// not a request that a gate which is out of order cannot judge. A server that stops nothing
// says "policy":false (D2).
//
// What keeps a request from being judged at all, such as a message with two readings, a URI
// that cannot be read or a gate that is out of order, counts in the strictest mode of all
// that the request could be about: one enforced resource is enough for every read of a URI that
// is too long. So nobody gets past one target by being unclear.
//
// The mode of a prefix is about its whole space, and where it is stricter than that of a
// wider target it counts for that one's policy as well. The mode of a resource or template
// is about itself: where its URIs are also those of another without a mode, the mode of the
// server counts besides.
//
// # Overrides
//
// An operator may know better than the code what a server should accept. [Config].Overrides
// and [Gate.Apply] take what package overrides reads from a file. They tighten: a policy of
// the overrides has to accept besides the one that the code gives the target, a default
// of the overrides stands where the code's would, and what would let through more
// than the code does is a mistake, unless the overrides say DangerouslyLoosen. Then a
// policy takes the place of the code's.
//
// Of two words about one thing the narrower counts, and of two equally narrow ones the
// operator's:
//
//  1. the mode of the target in the overrides,
//  2. the mode of the target in [Config].Modes, or that of the server in the overrides
//     if it is stricter,
//  3. the mode of the server in the overrides,
//  4. [Config].Mode.
//
// What is in force is one value that is swapped whole, and a request is judged by one
// from its first seam to its last; only what is declared while a read is on its way
// counts for that read as well. Lists show the policies of the overrides in place of the
// code's.
//
// # What is recorded
//
// Every gated request has exactly one decision record (M2), as has every message that the
// door turns away: package decision says what is in it. It goes to [Config].Logger and to
// each of [Config].Sinks before a handler runs, when a refusal takes effect, or, for a
// request that the server itself turns away, when that is answered. The verdict is
// accepted, refused, invalid, fault, or unjudged for what the server turned away first and
// for mode off.
//
// A request waits for its log line, so a handler of log/slog that blocks holds up the
// request, and on stdio, where the last of its answers may be behind it, the connection. Each sink has a
// queue and a goroutine of its own: a request waits for a sink no longer than 50 ms, and
// not at all for one that has made others wait and has not caught up. When 4096 records
// wait for a sink, further ones are lost to it; the next one that it gets, or [Gate.Flush], says
// how many, in Lost, and the log says that it happens. An error or a panic of a sink is logged, at most once a
// second. None of that changes a verdict, another sink or the log. [Gate.Flush] waits for
// sinks at the end.
//
// With [Config].SampleAbove records that are too many of one kind are counted in place of
// being delivered. The requests for which the records of one sink stand, what it has lost
// included, add up to those that there were.
//
// On a transport that is not served through the gate two things are less exact: a
// request that mcp-go turns away before it has a context has no record, and in mode
// report the record does not say what only the door can see.
//
// Two things about the label say where to look if it is refused. label is how it was read:
// ok, incomplete, malformed or absent. flow.origin is whether the peer has declared the
// client capability flow.origin, with which a host says that it labels its requests:
//
//   - undeclared: it has not, so this host never labels.
//   - declared: it has; if label is absent, something on the way has dropped it.
//   - unknown: nothing that the gate has seen says either.
//
// In the protocol of 2026-07-28 each request states this itself. In that of 2025-11-25
// and earlier the last initialize of the session that succeeded does, and it is known
// for as long as mcp-go keeps the session. It is unknown where there are no sessions,
// where another replica has had the initialize, and on a transport that is not served
// through the gate. No verdict depends on it, unless [Config].DangerouslyReportUndeclared
// is set: a label and its absence are judged alike whatever the peer has declared.
//
// # How it is built
//
// No single place in mcp-go covers all routes, and a handler's error cannot have
// data there. So the work is divided:
//
//   - The door, an initialisation hook, sees the raw bytes of every request before
//     mcp-go acts on it. It refuses ambiguous messages and decides subscribe and
//     listen, for which there is no later place that comes before a side effect.
//   - The record is the request's context. mcp-go asks the propagator of _meta for
//     one, after the door, with the _meta that it decoded itself; so the label that
//     is judged belongs to the message that runs, a request made by a handler
//     inside another has its own, and there is no table that could leak. It works
//     the same on every transport, wrapped or not.
//   - The seams apply the verdict as late as mcp-go allows, so that the server's own
//     authorization has spoken first (G1): the last tool filter and prompt filter
//     see the very tool or prompt that will run and take the verdict from its
//     declaration; the innermost handler middleware refuses. A refused call that asks
//     for a task is turned into an ordinary call in the last BeforeCallTool hook, so
//     that it meets the middleware; one that could only be a task is hidden by the
//     filter. A refused completion has its reference taken away in the last
//     BeforeComplete hook, so that mcp-go has nobody to ask.
//   - The way out stands where bytes leave and has one rule (G3): refused and any
//     result is the refusal; refused and an error after a seam has spoken is the
//     refusal; any other error is the server's own; a result that nobody judged does
//     not leave. So middleware further out that caches, swallows, replaces or
//     converts our error changes nothing.
//
// An answer that is let through is passed on byte for byte, unparsed (G5).
//
// # What it relies on
//
// mcpgo.go names everything that the gate needs of mcp-go beyond its documented
// API; facts*_test.go pins each of these facts, so that an upgrade which changes one
// fails a test. [New] also tries every route on a server of its own before it
// returns. The gate looks at some unexported fields by reflection, only to see
// whether it still stands last in a list; it writes none.
//
// # What the rest of a server must and must not do
//
// Call [New] (or the one line) last: after options, hooks, filters and middleware,
// and before s serves. What is added behind the gate later could change a request
// after it was judged, so from then on gated requests are refused and the log says
// why (G6). A propagator of _meta goes into [Config].MetaPropagator, because mcp-go
// has one slot.
//
// Serve s only through the gate: [Gate.Handler], [Gate.SSE] for the legacy HTTP+SSE
// transport, [Gate.ServeStdio], [Gate.InProcess]. A transport that is not wrapped, such
// as StreamableHTTPServer.Start, still runs nothing that the policy refuses, but its
// peers get mcp-go's plain error. Only if somebody also replaces the hooks behind the
// gate's back does such a transport answer subscriptions and completions unjudged; a
// wrapped one refuses them.
//
// Resumable streams (server.WithEventStore) are refused at construction: what they
// store does not pass the way out. They are allowed while the gate is off, which [Gate.Apply]
// cannot change then.
//
// A handler that calls another handler directly, as a Go function, makes no
// request; the gate does not see it. One that calls server.MCPServer.HandleMessage
// makes one and must give it a label.
//
// A label is unsigned and can only make an answer stricter. Do not read it to
// unlock anything, and keep what a refusal says away from a model.
package middleware
