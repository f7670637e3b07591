// Package conformance finds out whether an MCP server, in any language, keeps the rules
// that a recipient of origin labels has to keep. It needs to know nothing of the server but
// where it is: it reads what the server lists, chooses what has a policy that refuses
// somebody, sends requests that this policy must refuse, and judges what comes back, in
// both protocol eras.
//
//	func TestConformance(t *testing.T) {
//		s := httptest.NewServer(handler) // or a server that runs elsewhere
//		defer s.Close()
//		conformance.Test(t.Context(), t, conformance.Target{URL: s.URL}, conformance.Options{})
//	}
//
// # What is sent
//
// Requests that must be refused, so a server that keeps the rules runs nothing. One that
// does not runs what it should have refused: the target is then left alone, unless it may
// run, and the checks that would have asked it again are not run. A request that the policy accepts, or of which
// nobody can tell because it has a token that needs a matcher, is sent to
// a tool that [Options.Run] names, or that says that it only reads and needs no arguments. That
// a contributor is accepted shows without that, too: a refusal of several does not name it.
//
// # The checks
//
// A check is named after the rule that it looks at, as docs/rules.md numbers them:
//
//   - L1 to L8: how a label is read, and what makes a message ambiguous.
//   - P1, P2, P3, P4, P5, P7, P8, P9: what a policy means, and what no label can change. What
//     is near the server's own URI is only tried if [Options.Self] says what that is.
//   - U1, U2, U3, U4: spellings of the URIs by which policies name somebody.
//   - 5/tools, 5/tasks, 5/resources, 5/templates, 5/prompts, 5/completion, 5/subscribe and
//     5/listen: which requests are gated (section 5), as far as the server offers them.
//   - R1, R2, R3, R4: spellings of a resource's URI, which policies govern it, and its length.
//   - X1, X2, X3, X4, X5: the form of a refusal, and of other errors.
//   - G1, G2, G3, G5: the server's own errors come first, nothing happens before the verdict,
//     no answer is given twice, and what the policy accepts is not refused.
//   - D1, D2, D4: what is published, and that it is what is enforced.
//   - G4: both eras answer alike. This one has no era.
//
// A check passes if at least one of its requests was judged and none failed. It does not
// apply where the server offers nothing to try it on, and is not run where that could not
// be done; both say why. An answer that is neither a refusal nor a result proves nothing. The
// check that loses the server fails.
//
// # What is not checked
//
// A rule that has a check can be broken where it does not look: in what of a refused request
// was kept, in a policy of a prefix, which is not published, or by a label that was not tried.
// Of the others nothing at all is seen, and [Report.Unchecked] says so:
//
//   - not checked from outside: L9, because what a reader says that it saw goes to those who
//     run the server.
//   - not checked from outside: P6, because the mistakes that are refused when a policy is
//     registered are never published.
//   - not checked from outside: G6, because a gate is tampered with, and says so, inside the
//     server.
//   - not checked from outside: D3, because what would be listed without the gate is not there
//     to compare.
//   - not checked from outside: M1, because a mode is set inside the server, and only that of
//     the server is announced.
//   - not checked from outside: M2, M3, because records and logs go to those who run the
//     server.
//   - not checked from outside: H1, H2, H3, H4, H5, H6, H7, because a host keeps it, and not
//     the recipient.
//
// # Duties of the neighbours
//
// What a [Report] says is printable ASCII and bounded, whatever the server has sent. The
// package writes nothing, and starts nothing but the command of [Target.Command], which it
// ends with its children. Its client is one of its own, which
// takes no more than the names of the protocol from an SDK.
package conformance
