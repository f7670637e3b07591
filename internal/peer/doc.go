// Package peer is a client for MCP servers that are not trusted, in any language: over
// Streamable HTTP, and as a child process on standard input and output; in the protocol
// of 2025-11-25 and earlier, and in that of 2026-07-28.
//
// It hands out what the server sent as it was sent, because what matters here is what
// typed clients drop: members they do not know, and the data of an error. mcp-go's own
// transports do that too, but read lines and bodies without a bound, decode without
// regard to the case of names, and leave a child's children running.
//
// Everything has a bound: how long an answer may take, how large it may be, how much
// may come before it, and how long a child may take to end. After [Conn.Close] nothing
// runs any more that [Dial] started; on Unix that includes the children of a child, but
// for those that leave its process group, as a daemon does: they survive.
//
// Errors are fit for a terminal: what a server sent is escaped in them and cut (M3).
package peer
