// Package serve holds what the example servers have in common and what is not
// about flow policies: flags, the coloured log, the chi router with its
// timeouts, graceful shutdown, stdio, and the count of handlers that ran.
//
// The line that gates a server is deliberately not in here. Each example keeps
// it in its own main.go, where a reader looks for it.
package serve
