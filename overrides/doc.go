// Package overrides is what an operator says about a server that somebody else wrote:
// policies, modes and the server's own URI, in a file or in Go. It knows no MCP SDK.
//
// Overrides tighten. A policy that accepts what the code refuses, or a mode looser than
// the code's, is a mistake unless the overrides say [Overrides.DangerouslyLoosen].
package overrides
