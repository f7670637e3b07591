// Package soak holds no code for anybody to import: its test runs gated servers for a
// long time under everything that a network and an operator do to a server, and checks
// every answer.
//
//	go test ./soak                                        # the short form
//	go test ./soak -v -run 'TestSoak$' -soak 30m -timeout 45m   # the long one
//
// # Who takes part
//
// The servers are processes, so that they can be measured alone and killed. One serves
// Streamable HTTP for as long as the test lasts, another is killed again and again; of the
// stdio servers, which have one client each, most live as long as the test and some are
// killed, or left by their client, in the middle of a stream. The clients know nothing of
// this module: they write and read JSON as text. They send every route of section 5 in
// both protocol eras, accepted and refused, as well as messages that are malformed or
// ambiguous, requests that they cancel, and streams that they leave, cut with a TCP reset
// or read slowly. Meanwhile a tool and a resource come, change their policy and go, and
// the policy overrides change, by a watched file over HTTP, which now and then has
// mistakes, and by Apply over stdio. Some of them have the server report only, or switch it
// off, or one of its tools or prompts.
//
// The last phase goes on, for some minutes at most, until all of this has happened at least
// once, and each request on both transports and in both eras, run and refused.
//
// # What is checked
//
// A timeline knows which states may have been in force between the sending of a request
// and its answer. An answer has to be what one of these states says, by an oracle that is
// written out by hand (G4); it has the request's own id (X1), and a refusal is compared
// byte for byte (X2, X3). There is exactly one answer for each request. A ledger has
// the server's own account: each accepted request ran its handler once and no other ran
// (G2), each gated one has one decision record (M2), which says by which state it was
// judged, and that state says the same as the answer. A list names everything that is
// there, with the policies of one state (D1, D4).
//
// The live heap of every server that is not killed is compared after each of several equal
// phases; [testing.T.Log] shows all of them. When all clients are gone, a server
// has as many goroutines and open files as before the first one came.
//
// TestNoticed is the test of the test: it runs servers with a bug each and wants it noticed.
//
// # What it allows for
//
// mcp-go drops a notification now and then, and a broadcast may turn any pending answer
// into a stream. So handlers repeat a notification that a client waits for, and every
// answer may come either way. mcp-go remembers for five minutes that a task has expired:
// in the long form each phase is at least as long, so this is the same at the end of each.
package soak
