// Package inspect lists what an MCP server publishes and reports the mistakes in it:
// in each declaration, between declarations, in the lists around them, and in what the
// server announces about its flow policy (D1, D2, P6).
//
// It talks to the server through a [Caller], so it does not care whether there is a
// process, a network or a handler in the same program behind it. Everything a server
// sends is bounded, a server that never stops listing is told apart from one that is
// large, and nothing is believed to have the shape it should have.
//
// The strings of a [Report] are the server's, unescaped; the texts of its faults are
// printable ASCII (M3). The package knows no MCP SDK and must stay so.
package inspect
